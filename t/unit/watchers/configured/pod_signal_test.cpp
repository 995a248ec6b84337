#include "watchers/configured/pod_signal.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/golden.h"

namespace sliced::configured {
namespace {

using Network = fake::FakeCluster::Network;

struct PodSignTest : testing::Test {
  PodSignTest() {
    cluster.install(kube::kPods);
    put({});
  }
  void put(const kube::Json::Object& annotations) {
    kube::Json meta;
    meta.set("name", "p1");
    meta.set("namespace", "ns");
    meta.set("annotations", kube::Json(annotations));
    kube::Json pod;
    pod.set("metadata", std::move(meta));
    cluster.put(kube::kPods, std::move(pod));
  }
  kube::Json::Object annotations() const {
    const auto pod = cluster.object(kube::kPods, "p1", "ns");
    const kube::Json* all = pod ? pod->find({"metadata", "annotations"}) : nullptr;
    return all != nullptr && all->object() != nullptr ? *all->object() : kube::Json::Object{};
  }
  bool has(std::string_view key) const {
    for (const auto& [name, value] : annotations())
      if (name == key) return true;
    return false;
  }
  void let_go() {
    kube::Json::Object left;
    for (auto& member : annotations())
      if (member.first != kWaitAnnotation) left.push_back(member);
    put(left);
  }
  void wait(int tries_max = 10, const std::string& boot_id = "") {
    changes = 0;
    sign.emplace(kube::ClusterPorts{cluster, scheduler, log, [] { return 0.0; }},
                 PodSignal::Settings{"ns", "p1", tries_max, boot_id}, [this] { ++changes; });
    sign->start();
    EXPECT_EQ(changes, 0);
    scheduler.advance(Millis{500});
  }
  void after(int seconds) { scheduler.advance(std::chrono::seconds{seconds}); }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<PodSignal> sign;
  int changes = 0;
};

TEST_F(PodSignTest, SetsItsAnnotationAndWaitsForItsRemoval) {
  put({{"other", "stays"}});
  wait();
  EXPECT_TRUE(has(kWaitAnnotation));
  EXPECT_TRUE(has("other"));
  EXPECT_FALSE(has(kWaitBootAnnotation));
  EXPECT_FALSE(sign->is_seen());
  fixture::expect_golden(sign->awaited());
  after(3'600);
  EXPECT_FALSE(sign->is_seen());
  let_go();
  scheduler.advance(Millis{100});
  EXPECT_TRUE(sign->is_seen());
  EXPECT_EQ(sign->awaited(), "");
  cluster.log.clear();
  put({{std::string(kWaitAnnotation), "true"}});
  after(3'600);
  EXPECT_TRUE(sign->is_seen());
  EXPECT_TRUE(cluster.log.empty()) << "nobody asks any more";
}

TEST_F(PodSignTest, WatchesOnlyItsPod) {
  wait();
  for (const fake::Request& request : cluster.log) {
    if (request.verb != "watch" && request.verb != "list") continue;
    EXPECT_EQ(request.field_selector, "metadata.name=p1");
    EXPECT_EQ(request.namespace_, "ns");
    EXPECT_TRUE(request.metadata_only);
  }
  EXPECT_EQ(cluster.count("watch", "pods"), 1u);
}

// Red when the watch's word is taken for it: its cache may be of a time before the annotation was set.
TEST_F(PodSignTest, AnOutdatedWatchEndsNoWait) {
  cluster.on_deliver = [](std::string text) {
    const size_t at = text.find(kWaitAnnotation);
    if (at != std::string::npos) text.replace(at, kWaitAnnotation.size(), "x");
    return text;
  };
  wait();
  after(120);
  EXPECT_FALSE(sign->is_seen());
}

// A proxy that answers another question, or a cache of another pod's.
TEST_F(PodSignTest, AnAnswerAboutAnotherPodEndsNoWait) {
  wait();
  cluster.on_reply = [](const fake::Request&, kube::Json& object) {
    object = *kube::decode_json(R"({"metadata":{"name":"p2","namespace":"ns"}})");
  };
  let_go();
  after(120);
  EXPECT_FALSE(sign->is_seen());
  EXPECT_GE(log.count("the answer is about \"ns/p2\""), 1u);
  cluster.on_reply = nullptr;
  after(60);
  EXPECT_TRUE(sign->is_seen());
}

// Red when a process that outlives its pod ends well, since the next pod of that name has no annotation yet.
TEST_F(PodSignTest, AReplacedPodEndsTheWaitWithAnError) {
  wait();
  ASSERT_TRUE(has(kWaitAnnotation));
  cluster.remove(kube::kPods, "p1", "ns");
  put({});
  after(60);
  EXPECT_FALSE(sign->is_seen());
  EXPECT_NE(sign->given_up().find("was replaced"), std::string::npos) << sign->given_up();
  EXPECT_FALSE(has(kWaitAnnotation)) << "the new pod waits by itself";
}

TEST_F(PodSignTest, PollsEveryThirtySecondsWithoutAWatch) {
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "watch" && request.verb != "list") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "watch pods: forbidden"};
  };
  wait();
  let_go();
  after(28);
  EXPECT_FALSE(sign->is_seen());
  after(3);
  EXPECT_TRUE(sign->is_seen());
}

TEST_F(PodSignTest, RetriesTenTimesWithBackoffAndNamesTheCause) {
  cluster.deny("pods");
  wait();
  const int waits[] = {1, 2, 4, 8, 16, 30, 30, 30, 30};
  size_t tries = 1;
  for (const int wait : waits) {
    EXPECT_EQ(cluster.count("patch", "pods"), tries) << "before the wait of " << wait << " s";
    EXPECT_EQ(sign->given_up(), "");
    after(wait);
    ++tries;
  }
  EXPECT_EQ(cluster.count("patch", "pods"), 10u);
  scheduler.advance(Millis{100});
  fixture::expect_golden(sign->given_up());
  after(600);
  EXPECT_EQ(cluster.count("patch", "pods"), 10u);
  EXPECT_FALSE(sign->is_seen());
}

TEST_F(PodSignTest, ReportsAPodOfAnotherName) {
  cluster.remove(kube::kPods, "p1", "ns");
  wait(1);
  fixture::expect_golden(sign->given_up());
}

TEST_F(PodSignTest, UsesALatePermission) {
  cluster.deny("pods");
  wait();
  after(10);
  cluster.allow("pods");
  after(8);
  EXPECT_TRUE(has(kWaitAnnotation));
  let_go();
  after(30);
  EXPECT_TRUE(sign->is_seen());
}

// Red when an answer without the pod ends the wait.
TEST_F(PodSignTest, AnUnreachableServerOrMissingPodEndsNoWait) {
  wait();
  cluster.set_network(Network::kRefused);
  after(300);
  EXPECT_FALSE(sign->is_seen());
  cluster.set_network(Network::kUp);
  after(60);
  EXPECT_FALSE(sign->is_seen());
  cluster.remove(kube::kPods, "p1", "ns");
  after(300);
  EXPECT_FALSE(sign->is_seen());
  EXPECT_EQ(sign->given_up(), "");
}

TEST_F(PodSignTest, BoundsTheWaitWithoutPermission) {
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "patch") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "get pods: forbidden"};
  };
  wait();
  after(600);
  fixture::expect_golden(sign->given_up());
}

TEST_F(PodSignTest, APodIsReleasedOncePerBoot) {
  wait(0, "b1");
  EXPECT_TRUE(has(kWaitAnnotation));
  let_go();
  after(1);
  ASSERT_TRUE(sign->is_seen());
  cluster.log.clear();
  wait(0, "b1");
  EXPECT_TRUE(sign->is_seen());
  EXPECT_EQ(cluster.count("patch", "pods"), 0u);
  // A container of the same pod after a reboot waits again.
  wait(0, "b2");
  EXPECT_FALSE(sign->is_seen());
  EXPECT_TRUE(has(kWaitAnnotation));
}

TEST_F(PodSignTest, WaitsForeverIfAskedTo) {
  cluster.deny("pods");
  wait(0, "b1");
  after(3'600);
  EXPECT_EQ(sign->given_up(), "");
  cluster.allow("pods");
  after(31);
  EXPECT_TRUE(has(kWaitAnnotation));
  EXPECT_FALSE(sign->is_seen());
}

}  // namespace
}  // namespace sliced::configured
