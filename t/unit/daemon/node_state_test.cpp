#include "daemon/node_state.h"

#include <gtest/gtest.h>

#include "kube/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/vf_host.h"

namespace sliced::daemon {
namespace node_state_source_test {

using namespace std::chrono_literals;

constexpr const char* kNamespace = "operators";

struct NodeStateSourceTest : testing::Test {
  NodeStateSourceTest() {
    fixture::VfHost made;
    made.pf("0000:3b:00.0", "ens1f0", 2).pf("0000:5e:00.0", "ens2f0", 2);
    for (const char* pf : {"0000:3b:00.0", "0000:5e:00.0"}) made.at(pf).netdev->is_up = true;
    made.at("0000:3b:00.0").netdev->mtu = 9000;
    host = made.inventory();
  }
  void put(const std::string& rest, const std::string& name = "a",
           const std::string& namespace_ = kNamespace) {
    cluster.put(kube::kSriovNetworkNodeStates,
                kube::decode_yaml("metadata: {name: " + name + ", namespace: " + namespace_ + "}\n" + rest)
                    .documents.at(0));
    scheduler.advance(1s);
  }
  void install() {
    cluster.install(kube::kSriovNetworkNodeStates);
    scheduler.advance(1min);
  }
  void want() {
    source.want(true);
    scheduler.advance(1s);
  }
  std::string said() {
    const policy::NodeState& now = source.over(host);
    if (!now.is_known) return now.why;
    std::string out = "known";
    for (const auto& [pf, why] : now.out_of_sync) out += "; " + pf + " " + why;
    return out;
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  size_t changes = 0;
  hotplug::InventoryPtr host;
  NodeStateSource source{{cluster, scheduler, log, [] { return 0.5; }},
                         {kNamespace, "a"},
                         [this](const std::string&) { ++changes; }};
};

constexpr const char* kGood = "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, mtu: 9000}]}\n";
constexpr const char* kBad = "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 3, mtu: 9001}]}\n";

TEST_F(NodeStateSourceTest, NothingIsAskedAsLongAsNobodyAsks) {
  install();
  put(kGood);
  EXPECT_EQ(
      cluster.count("list", "sriovnetworknodestates") + cluster.count("watch", "sriovnetworknodestates"), 0u);
  EXPECT_EQ(said(), "no SriovNetworkNodeState is read");
  want();
  EXPECT_EQ(said(), "known");
  source.want(false);
  EXPECT_EQ(cluster.open_watches("sriovnetworknodestates"), 0u);
  EXPECT_EQ(said(), "no SriovNetworkNodeState is read") << "what nobody follows is not known";
}

TEST_F(NodeStateSourceTest, CreatedInProgressSucceededEditedDeleted) {
  install();
  want();
  EXPECT_EQ(said(), "there is no SriovNetworkNodeState operators/a");
  put("");
  EXPECT_EQ(said(), "known") << "it speaks of no PF";
  put(std::string(kGood) + "status: {syncStatus: InProgress}\n");
  EXPECT_EQ(said(), "known; 0000:3b:00.0 the SR-IOV network operator is at it (syncStatus InProgress)");
  put(std::string(kGood) + "status: {syncStatus: Succeeded}\n");
  EXPECT_EQ(said(), "known");
  put(std::string(kBad) + "status: {syncStatus: Succeeded}\n");
  EXPECT_EQ(said(), "known; 0000:3b:00.0 mtu is 9000, wanted at least 9001; and 1 more field")
      << "what the host says counts, not the status";
  cluster.remove(kube::kSriovNetworkNodeStates, "a", kNamespace);
  scheduler.advance(1s);
  EXPECT_EQ(said(), "there is no SriovNetworkNodeState operators/a");
}

TEST_F(NodeStateSourceTest, OnlyTheNodesOwnInTheOperatorsNamespaceCounts) {
  install();
  put(kBad, "b");
  put(kBad, "a", "elsewhere");
  want();
  EXPECT_EQ(said(), "there is no SriovNetworkNodeState operators/a");
}

// Red when a kind that is not installed is an error, or is not looked for again.
TEST_F(NodeStateSourceTest, AKindThatIsInstalledLaterIsNoticed) {
  want();
  scheduler.advance(1min);
  EXPECT_EQ(
      said(),
      "SriovNetworkNodeState operators/a cannot be: the API server does not have its kind (is the SR-IOV "
      "network operator installed?)");
  install();
  put(kGood);
  EXPECT_EQ(said(), "known");
  cluster.uninstall(kube::kSriovNetworkNodeStates);
  scheduler.advance(5min);
  EXPECT_NE(said().find("does not have its kind"), std::string::npos) << said();
  install();
  put(kGood);
  scheduler.advance(1min);
  EXPECT_EQ(said(), "known");
}

TEST_F(NodeStateSourceTest, WhatMayNotBeReadIsNotKnown) {
  install();
  put(kGood);
  cluster.deny("sriovnetworknodestates");
  want();
  EXPECT_NE(said().find("may not be read; it takes get, list and watch"), std::string::npos) << said();
  cluster.allow("sriovnetworknodestates");
  scheduler.advance(2min);
  EXPECT_EQ(said(), "known");
}

TEST_F(NodeStateSourceTest, AnOutageChangesNothingOfWhatIsKnown) {
  install();
  put(kBad);
  want();
  const std::string before = said();
  const size_t changes_before = changes;
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  scheduler.advance(10min);
  EXPECT_EQ(said(), before);
  EXPECT_EQ(changes, changes_before);
  cluster.set_network(fake::FakeCluster::Network::kUp);
  source.retry_now();
  scheduler.advance(1min);
  put(kGood);
  EXPECT_EQ(said(), "known");
}

// Each would otherwise be called in sync.
TEST_F(NodeStateSourceTest, WhatCannotBeUnderstoodIsNotInSync) {
  install();
  want();
  put("spec: 7\n");
  EXPECT_EQ(said(), "SriovNetworkNodeState operators/a: spec is a number, wants a map");
  put("spec: {interfaces: [{pciAddress: ens1f0}]}\n");
  EXPECT_EQ(
      said(),
      "SriovNetworkNodeState operators/a: spec.interfaces[0].pciAddress is \"ens1f0\", wants a PCI address as "
      "\"0000:3b:00.0\"")
      << "it may be any PF";
  put("spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, mtu: x}]}\n");
  EXPECT_EQ(said(), "known; 0000:3b:00.0 spec.interfaces[0].mtu is a string, wants a whole number");
}

TEST_F(NodeStateSourceTest, AnotherHostIsJudgedAnew) {
  install();
  put(kGood);
  want();
  EXPECT_EQ(said(), "known");
  auto other = std::make_shared<hotplug::Inventory>(*host);
  other->devices.at("0000:3b:00.0").netdev->mtu = 1500;
  host = other;
  EXPECT_EQ(said(), "known; 0000:3b:00.0 mtu is 1500, wanted at least 9000");
}

// A write of the operator's that changes nothing we read is no change.
TEST_F(NodeStateSourceTest, OnlyWhatIsReadIsAChange) {
  install();
  put(kGood);
  want();
  const size_t before = changes;
  put(std::string(kGood) + "tomorrow: 1\n");
  EXPECT_EQ(changes, before);
  put(std::string(kGood) + "status: {syncStatus: InProgress}\n");
  EXPECT_EQ(changes, before + 1);
}

}  // namespace node_state_source_test
}  // namespace sliced::daemon
