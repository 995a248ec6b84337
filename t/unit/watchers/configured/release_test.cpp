#include "watchers/configured/release.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fixture/golden.h"
#include "watchers/configured/pod_signal.h"

namespace sliced::configured {
namespace {

struct ReleaseTest : testing::Test {
  ReleaseTest() {
    cluster.install(kube::kPods);
    put("ours", "n1", "sliced", true);
    put("others", "n1", "sriov-device-plugin", true);
    put("elsewhere", "n2", "sliced", true);
    put("idle", "n1", "sliced", false);
  }
  void put(const std::string& name, const std::string& node, const std::string& app, bool waits) {
    const std::string annotation = waits ? std::string(kWaitAnnotation) + ": 'true', " : "";
    cluster.put(kube::kPods,
                kube::decode_yaml("metadata: {name: " + name + ", namespace: ns, labels: {app: " + app +
                                  ", x: z}, annotations: {" + annotation +
                                  "other: stays}}\nspec: {nodeName: " + node + "}")
                    .documents.at(0));
  }
  bool waits(const std::string& name) const {
    return decode_pod_wait(kube::encode_json(*cluster.object(kube::kPods, name, "ns")))->waits;
  }
  Released let_go(kube::Labels labels = {{"app", "sliced"}}) {
    std::optional<Released> out;
    Release release(cluster, {"ns", "n1", std::move(labels)}, [&](Released done) { out = std::move(done); });
    EXPECT_FALSE(out);
    scheduler.advance(Millis{1'000});
    EXPECT_TRUE(out);
    return out.value_or(Released{});
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
};

TEST_F(ReleaseTest, ReleasesOnlyTheWaitingPodsOfTheNode) {
  const Released released = let_go();
  EXPECT_EQ(released, (Released{{"ours"}, {}}));
  EXPECT_FALSE(waits("ours"));
  EXPECT_TRUE(waits("others"));
  EXPECT_TRUE(waits("elsewhere"));
  ASSERT_EQ(cluster.writes().size(), 1u);
  EXPECT_EQ(*cluster.object(kube::kPods, "ours", "ns")->find({"metadata", "annotations", "other"}),
            kube::Json("stays"));
}

TEST_F(ReleaseTest, ReleasesNoOtherPodIfTheServerIgnoresSelectors) {
  cluster.ignores_scopes = true;
  EXPECT_EQ(let_go({}).pods, (std::vector<std::string>{"others", "ours"}));
  EXPECT_TRUE(waits("elsewhere"));
}

TEST_F(ReleaseTest, WritesNothingTheSecondTime) {
  let_go();
  cluster.log.clear();
  EXPECT_EQ(let_go(), Released{});
  EXPECT_TRUE(cluster.writes().empty());
}

TEST_F(ReleaseTest, ReleasesEveryPodOfTheNodeWithoutLabels) {
  EXPECT_EQ(let_go({}).pods, (std::vector<std::string>{"others", "ours"}));
}

TEST_F(ReleaseTest, ARefusedPodDelaysNoOther) {
  cluster.on_admit = [](const fake::Request& request, kube::Json&) -> std::optional<kube::Failure> {
    if (request.name != "others") return std::nullopt;
    return kube::Failure{
        .code = Errc::kDenied, .http_status = 403, .what = "patch pods ns/others: forbidden"};
  };
  const Released released = let_go({});
  EXPECT_EQ(released.pods, (std::vector<std::string>{"ours"}));
  ASSERT_EQ(released.problems.size(), 1u);
  fixture::expect_golden(released.problems.front());
}

TEST_F(ReleaseTest, IgnoresAPodThatIsDeletedMeanwhile) {
  cluster.on_request = [this](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "patch") cluster.remove(kube::kPods, "ours", "ns");
    return std::nullopt;
  };
  EXPECT_EQ(let_go(), Released{});
}

TEST_F(ReleaseTest, ReportsAMissingPermission) {
  cluster.deny("pods");
  const Released released = let_go();
  ASSERT_EQ(released.problems.size(), 1u);
  fixture::expect_golden(released.problems.front());
}

}  // namespace
}  // namespace sliced::configured
