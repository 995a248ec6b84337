#include "daemon/cluster_sources.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace cluster_sources_test {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

struct ClusterSourcesTest : testing::Test, ClusterEvents {
  ClusterSourcesTest() {
    for (const auto* kind :
         {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies})
      cluster.install(*kind);
    cluster.put(kube::kNodes, kube::decode_yaml("metadata: {name: node-a}").documents.at(0));
  }
  void start(bool has_exposures = true) {
    config::Options options;
    if (!has_exposures) options.kinds_off = {kube::kDeviceExposurePolicies.kind};
    sources = std::make_unique<ClusterSources>(
        kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
        ClusterSources::Scope{
            .node = "node-a",
            .drivers = {{{"first.example", "own slices"}, {"second.example", "own exposure slices"}}},
            .policies = policy_resources(options)},
        *this);
    sources->start();
    scheduler.advance(1s);
  }

  void on_node(const SourceEvent<watchers::NodeWatcher::Item>&) override { heard.push_back("node"); }
  void on_policies(const PolicyEvent<policy::SriovPolicy>&) override {
    heard.push_back("SriovResourcePolicy");
  }
  void on_policies(const PolicyEvent<policy::DeviceAttributes>&) override {
    heard.push_back("DeviceAttributes");
  }
  void on_policies(const PolicyEvent<policy::ExposurePolicy>&) override {
    heard.push_back("DeviceExposurePolicy");
  }
  void on_slices(size_t driver, const SourceEvent<watchers::SliceWatcher::Item>&) override {
    heard.push_back("slices " + std::to_string(driver));
  }
  const kube::ResourceSlice* find_slice(size_t, const watchers::ObjectHead&) const override {
    return nullptr;
  }
  bool keeps_missing(const kube::Resource&, const std::vector<watchers::ObjectId>&) override { return false; }
  void on_sync_state() override {}
  void on_connectivity_change(const Connectivity::Change&) override {}

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  Texts heard;
  std::unique_ptr<ClusterSources> sources;
};

TEST_F(ClusterSourcesTest, ReportsEachInitialSyncToItsConsumers) {
  start();
  std::sort(heard.begin(), heard.end());
  EXPECT_EQ(heard, (Texts{"DeviceAttributes", "DeviceExposurePolicy", "SriovResourcePolicy", "node",
                          "slices 0", "slices 1"}));
  EXPECT_EQ(sources->unsynced_sources(), Texts());
  EXPECT_TRUE(sources->has_node_synced() && sources->may_write());
}

TEST_F(ClusterSourcesTest, WatchesSlicesButNoPoliciesOfADisabledDriver) {
  start(false);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), "slices 1"), 1);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), "DeviceExposurePolicy"), 0);
  EXPECT_EQ(
      cluster.count("watch", "deviceexposurepolicies") + cluster.count("list", "deviceexposurepolicies"), 0u);
}

TEST_F(ClusterSourcesTest, NamesMissingSourcesWithReasonsAndSlicesLast) {
  cluster.deny("resourceslices");
  cluster.deny("sriovresourcepolicies");
  start();
  const Texts unsynced_sources = sources->unsynced_sources();
  ASSERT_EQ(unsynced_sources.size(), 3u);
  EXPECT_NE(unsynced_sources[0].find("denied"), std::string::npos) << unsynced_sources[0];
  EXPECT_TRUE(unsynced_sources[1].starts_with("own slices: ")) << unsynced_sources[1];
  EXPECT_TRUE(unsynced_sources[2].starts_with("own exposure slices: ")) << unsynced_sources[2];
  EXPECT_EQ(sources->missing(), unsynced_sources) << "one look is enough to know what is not allowed";
}

TEST_F(ClusterSourcesTest, ReportsAMissingKindAsAbsent) {
  cluster.uninstall(kube::kDeviceExposurePolicies);
  start();
  scheduler.advance(2min);
  EXPECT_TRUE(sources->is_absent(kube::kDeviceExposurePolicies));
  EXPECT_FALSE(sources->is_absent(kube::kSriovResourcePolicies));
  EXPECT_TRUE(sources->may_write());
}

TEST_F(ClusterSourcesTest, ForbidsWritesWhileAllSourcesAreDisconnected) {
  start();
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  scheduler.advance(1min);
  EXPECT_FALSE(sources->may_write());
  cluster.set_network(fake::FakeCluster::Network::kUp);
  scheduler.advance(3min);
  EXPECT_TRUE(sources->may_write());
}

}  // namespace cluster_sources_test
}  // namespace sliced::daemon
