#include "controller/aggregate/election.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::aggregate {
namespace election_test {

using namespace std::chrono_literals;

struct Candidate {
  Candidate(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log, const std::string& name)
      : election({cluster, scheduler, log, [] { return 0.5; }},
                 {"ns", "lease", name,
                  [&scheduler] { return std::to_string(scheduler.now().time_since_epoch().count()); }},
                 [this](bool elected) { ++changes, is_elected = elected; }) {
    election.start();
  }
  bool is_elected = false;
  int changes = 0;
  Election election;
};

struct ElectionTest : testing::Test {
  ElectionTest() { cluster.install(kube::kLeases); }
  void run(const std::string& name) {
    all.push_back(std::make_unique<Candidate>(cluster, scheduler, log, name));
  }
  size_t elected() const {
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& one) { return one->is_elected; }));
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::vector<std::unique_ptr<Candidate>> all;
};

TEST_F(ElectionTest, ElectsOneOfThree) {
  for (const char* name : {"a", "b", "c"}) run(name);
  scheduler.advance(3s);
  ASSERT_EQ(elected(), 1u);
  scheduler.advance(10min);
  EXPECT_EQ(elected(), 1u);
  EXPECT_EQ(all[0]->changes + all[1]->changes + all[2]->changes, 1);
}

// Red when a successor does not wait for the Lease's time, or waits for ever.
TEST_F(ElectionTest, ReplacesAVanishedHolderAfter15Seconds) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(1min);
  ASSERT_TRUE(all[0]->is_elected);
  all.erase(all.begin());
  scheduler.advance(8s);
  EXPECT_EQ(elected(), 0u) << "it may only be slow";
  scheduler.advance(12s);
  EXPECT_EQ(elected(), 1u);
}

// Red when an edit of a label keeps a Lease alive whose holder is gone.
TEST_F(ElectionTest, AnEditOfMetadataDoesNotRenewTheLease) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(20s);
  all.erase(all.begin());
  for (int i = 0; i < 25; ++i) {
    kube::Json lease = *cluster.object(kube::kLeases, "lease", "ns");
    auto meta = *kube::decode_object_meta(lease);
    meta.labels["edit"] = std::to_string(i);
    lease.set("metadata", kube::encode_object_meta(meta));
    cluster.put(kube::kLeases, lease);
    scheduler.advance(1s);
  }
  EXPECT_EQ(elected(), 1u);
}

TEST_F(ElectionTest, AcquiresAndRepairsAnInvalidLease) {
  for (const char* spec : {R"({"holderIdentity":"x","leaseTransitions":9223372036854775807})",
                           R"({"holderIdentity":7,"leaseTransitions":"many"})", R"([])", R"("x")"}) {
    all.clear();
    cluster.put_text(kube::kLeases,
                     R"({"metadata":{"name":"lease","namespace":"ns"},"spec":)" + std::string(spec) + "}");
    run("a");
    scheduler.advance(20s);
    EXPECT_EQ(elected(), 1u) << spec;
    const auto lease = cluster.object(kube::kLeases, "lease", "ns");
    const int64_t transitions = *lease->find({"spec", "leaseTransitions"})->integer();
    EXPECT_GE(transitions, 1) << spec;
    EXPECT_LE(transitions, INT32_MAX) << spec;
    EXPECT_EQ(lease->find("spec")->text("holderIdentity"), "a") << spec;
  }
}

TEST_F(ElectionTest, AHolderStopsWhenItsLeaseIsTakenAndReacquiresAfterExpiry) {
  run("a");
  scheduler.advance(3s);
  kube::Json lease = *cluster.object(kube::kLeases, "lease", "ns");
  lease.set("spec", *kube::decode_json(R"({"holderIdentity":"thief","leaseTransitions":7})"));
  cluster.put(kube::kLeases, lease);
  scheduler.advance(8s);
  EXPECT_EQ(elected(), 0u);
  EXPECT_EQ(all[0]->election.holder(), "thief");
  scheduler.advance(18s);
  EXPECT_EQ(elected(), 1u);
  EXPECT_EQ(all[0]->changes, 3);
}

TEST_F(ElectionTest, ElectsTheNextImmediatelyAfterAResignation) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(10s);
  bool is_done = false;
  all[0]->election.resign([&] { is_done = true; });
  EXPECT_FALSE(all[0]->is_elected);
  scheduler.advance(4s);
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(all[1]->is_elected);
}

// There are never two leaders: one that cannot renew the Lease stops before others may take it.
TEST_F(ElectionTest, ADisconnectedHolderStopsBeforeAnotherIsElected) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(20s);
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    const kube::Json* spec = request.body.find("spec");
    if (spec == nullptr || spec->text("holderIdentity") != "a") return std::nullopt;
    return kube::Failure{.code = Errc::kTimeout, .what = "no answer"};
  };
  for (int i = 0; i < 600; ++i) {
    scheduler.advance(100ms);
    ASSERT_LE(elected(), 1u) << i;
  }
  EXPECT_TRUE(all[1]->is_elected);
  EXPECT_FALSE(all[0]->is_elected);
}

TEST_F(ElectionTest, WithoutAServerNoProcessIsElectedAndRequestsAreRare) {
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run("a");
  scheduler.advance(10min);
  EXPECT_EQ(elected(), 0u);
  EXPECT_LE(cluster.count("get", "leases"), 330u);
  EXPECT_EQ(log.count("leader election failed: Lease not written"), 1u) << log.all();
  cluster.set_network(fake::FakeCluster::Network::kUp);
  scheduler.advance(5s);
  EXPECT_EQ(elected(), 1u);
}

TEST_F(ElectionTest, ADeletedLeaseIsCreatedAgain) {
  run("a");
  scheduler.advance(3s);
  cluster.remove(kube::kLeases, "lease", "ns");
  scheduler.advance(20s);
  EXPECT_EQ(elected(), 1u);
  EXPECT_TRUE(cluster.object(kube::kLeases, "lease", "ns"));
}

}  // namespace election_test
}  // namespace sliced::aggregate
