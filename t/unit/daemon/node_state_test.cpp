#include "daemon/node_state.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::daemon {
namespace node_state_source_test {

using namespace std::chrono_literals;

constexpr const char* kNamespace = "operators";
constexpr const char* kMissing =
    "there is no SriovNetworkNodeState operators/a; is --node-state-namespace the namespace of the SR-IOV network "
    "operator, and its daemon on this node?";

struct NodeStateSourceTest : testing::Test {
  NodeStateSourceTest() {
    cluster.clock = [this] { return cluster.time_of_2027(); };
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
  std::optional<Millis> uptime = 1h;
  hotplug::InventoryPtr host;
  NodeStateSource source{{cluster, scheduler, log, [] { return 0.5; }},
                         {kNamespace, "a"},
                         {.uptime = [this] { return uptime; }},
                         [this](const std::string&) { ++changes; }};
};

constexpr const char* kGoodSpec =
    "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, mtu: 9000}]}\n";
constexpr const char* kBadSpec = "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 3, mtu: 9001}]}\n";
constexpr const char* kSucceeded = "status: {syncStatus: Succeeded}\n";
const std::string kGood = std::string(kGoodSpec) + kSucceeded, kBad = std::string(kBadSpec) + kSucceeded;

TEST_F(NodeStateSourceTest, ReadsNothingWithoutDemand) {
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

TEST_F(NodeStateSourceTest, FollowsTheStateFromCreationToDeletion) {
  install();
  want();
  EXPECT_EQ(said(), kMissing);
  put("");
  EXPECT_EQ(said(), "known") << "it speaks of no PF";
  put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
  EXPECT_EQ(
      said(),
      "known; 0000:3b:00.0 syncStatus InProgress: the SR-IOV network operator is configuring this node");
  put(kGood);
  EXPECT_EQ(said(), "known");
  put(kBad);
  EXPECT_EQ(said(), "known; 0000:3b:00.0 mtu is 9000, expected at least 9001; and 1 more field")
      << "what the host says counts, not the status";
  cluster.remove(kube::kSriovNetworkNodeStates, "a", kNamespace);
  scheduler.advance(1s);
  EXPECT_EQ(said(), kMissing);
}

TEST_F(NodeStateSourceTest, ReadsOnlyTheNodesStateInTheOperatorsNamespace) {
  install();
  put(kBad, "b");
  put(kBad, "a", "elsewhere");
  want();
  EXPECT_EQ(said(), kMissing);
}

// Red when a kind that is not installed is an error, or is not looked for again.
TEST_F(NodeStateSourceTest, DetectsALateKind) {
  want();
  scheduler.advance(1min);
  EXPECT_EQ(
      said(),
      "SriovNetworkNodeState operators/a cannot exist: the API server does not serve this kind; install the "
      "SR-IOV network operator");
  install();
  put(kGood);
  EXPECT_EQ(said(), "known");
  cluster.uninstall(kube::kSriovNetworkNodeStates);
  scheduler.advance(5min);
  fixture::expect_golden(said());
  install();
  put(kGood);
  scheduler.advance(1min);
  EXPECT_EQ(said(), "known");
}

TEST_F(NodeStateSourceTest, AForbiddenReadLeavesTheStateUnknown) {
  install();
  put(kGood);
  cluster.deny("sriovnetworknodestates");
  want();
  fixture::expect_golden(said());
  cluster.allow("sriovnetworknodestates");
  scheduler.advance(2min);
  EXPECT_EQ(said(), "known");
}

TEST_F(NodeStateSourceTest, AnOutageKeepsTheKnownState) {
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
TEST_F(NodeStateSourceTest, AnInvalidObjectIsNotInSync) {
  install();
  want();
  put("spec: 7\n");
  EXPECT_EQ(said(), "SriovNetworkNodeState operators/a: spec is a number, expected a map");
  put("spec: {interfaces: [{pciAddress: ens1f0}]}\n");
  EXPECT_EQ(
      said(),
      "SriovNetworkNodeState operators/a: spec.interfaces[0].pciAddress is \"ens1f0\", expected a PCI address as "
      "\"0000:3b:00.0\"")
      << "it may be any PF";
  put("spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, mtu: x}]}\nstatus: {syncStatus: Succeeded}\n");
  EXPECT_EQ(said(), "known; 0000:3b:00.0 spec.interfaces[0].mtu is a string, expected a whole number");
}

TEST_F(NodeStateSourceTest, ComparesAChangedHostAgain) {
  install();
  put(kGood);
  want();
  EXPECT_EQ(said(), "known");
  auto other = std::make_shared<hotplug::Inventory>(*host);
  other->devices.at("0000:3b:00.0").netdev->mtu = 1500;
  host = other;
  EXPECT_EQ(said(), "known; 0000:3b:00.0 mtu is 1500, expected at least 9000");
}

// A write of the operator's that changes nothing we read is not a change.
TEST_F(NodeStateSourceTest, IgnoresChangesOfUnreadFields) {
  install();
  put(kGood);
  want();
  const size_t before = changes;
  put(kGood + "tomorrow: 1\n");
  EXPECT_EQ(changes, before);
  put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
  EXPECT_EQ(changes, before + 1);
}

// ---- evidence that the operator wrote the status in this boot

struct NodeStateBootTest : NodeStateSourceTest {
  NodeStateBootTest() { install(); }
  // As a daemon that begins now, in the boot that began `ago`.
  policy::NodeState begun(std::optional<Millis> ago, NodeStateSource::Boot boot = {},
                          policy::IgnoredStatus ignored = {}) {
    boot.uptime = [ago] { return ago; };
    NodeStateSource next({cluster, scheduler, log, [] { return 0.5; }}, {kNamespace, "a", ignored},
                         std::move(boot), [](const std::string&) {});
    next.want(true);
    scheduler.advance(1s);
    return next.over(host);
  }
  static std::string held(const policy::NodeState& state) {
    return state.out_of_sync.empty() ? "" : state.out_of_sync.begin()->second;
  }
};

// Red when a Succeeded of the boot before lets devices go before the operator has configured them again.
TEST_F(NodeStateBootTest, IgnoresAStatusFromBeforeTheBoot) {
  put(kGood);
  scheduler.advance(10min);
  const std::string why = held(begun(5s));
  fixture::expect_golden(why);
}

TEST_F(NodeStateBootTest, AcceptsAStatusOfThisBootFromBeforeTheDaemon) {
  scheduler.advance(10min);
  put(kGood);
  scheduler.advance(10min);
  EXPECT_EQ(held(begun(15min)), "");
}

// The margin: neither of them is known to the second.
TEST_F(NodeStateBootTest, ToleratesClockDifferences) {
  scheduler.advance(10min);
  put(kGood);
  scheduler.advance(10min);
  EXPECT_NE(held(begun(10min + 25s)).find("less than 30 s"), std::string::npos) << held(begun(10min + 25s));
  EXPECT_EQ(held(begun(10min + 40s)), "");
}

TEST_F(NodeStateBootTest, AcceptsNoEvidenceWithoutAClock) {
  put(kGood);
  EXPECT_NE(held(begun(std::nullopt)).find("/proc/uptime"), std::string::npos);
  cluster.clock = {};
  fixture::expect_golden(held(begun(1h)));
}

TEST_F(NodeStateBootTest, AcceptsNoEvidenceWithoutManagedFields) {
  put(std::string("  "), "b");
  cluster.put(kube::kSriovNetworkNodeStates,
              kube::decode_yaml("metadata: {name: a, namespace: operators, managedFields: []}\n" + kGood)
                  .documents.at(0));
  EXPECT_NE(held(begun(1h)).find("metadata.managedFields"), std::string::npos);
}

// As the operator's daemon does at each start: InProgress, then Succeeded.
TEST_F(NodeStateBootTest, RemembersAnObservedStatusForTheBoot) {
  put(kGood);
  scheduler.advance(10min);
  uptime = 5s;
  want();
  EXPECT_NE(said().find("no evidence"), std::string::npos) << said();
  put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
  EXPECT_NE(said().find("InProgress"), std::string::npos) << said();
  put(kGood);
  EXPECT_EQ(said(), "known");
  source.want(false);
  want();
  EXPECT_EQ(said(), "known") << "who asks again does not forget";
}

// Red when a Succeeded of the boot before lets devices go because an API server that starts, or whose cache lags, first answered
// without the object or with an older status.
TEST_F(NodeStateBootTest, IgnoresALateAnswerFromBeforeTheBoot) {
  for (const bool is_first_older : {false, true}) {
    if (is_first_older) put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
    scheduler.advance(10min);
    NodeStateSource next({cluster, scheduler, log, [] { return 0.5; }}, {kNamespace, "a"},
                         {[] { return Millis{5s}; }}, [](const std::string&) {});
    next.want(true);
    scheduler.advance(1s);
    const auto of_before = [&](const std::string& time) {
      cluster.put(
          kube::kSriovNetworkNodeStates,
          kube::decode_yaml("metadata: {name: a, namespace: operators, managedFields: [{manager: daemon, "
                            "operation: Update, subresource: status, fieldsType: FieldsV1, time: '" +
                            time + "', fieldsV1: {'f:status': {'f:syncStatus': {}}}}]}\n" + kGood)
              .documents.at(0));
      scheduler.advance(1s);
    };
    of_before("2026-12-24T00:00:00Z");
    EXPECT_NE(held(next.over(host)).find("no evidence"), std::string::npos) << held(next.over(host));
    put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
    put(kGood);
    EXPECT_EQ(held(next.over(host)), "") << "the operator has started meanwhile";
    cluster.remove(kube::kSriovNetworkNodeStates, "a", kNamespace);
    scheduler.advance(1s);
  }
}

// Red when a daemon that is restarted forgets, and so withdraws.
TEST_F(NodeStateBootTest, TheNextDaemonOfTheBootKnowsIt) {
  std::set<std::string> noted;
  const NodeStateSource::Boot boot{
      .has_evidence = [&](const std::string& uid) { return noted.contains(uid); },
      .save_evidence = [&](const std::string& uid) { noted.insert(uid); }};
  put(kGood);
  scheduler.advance(10min);
  EXPECT_NE(held(begun(5s, boot)), "");
  EXPECT_TRUE(noted.empty());
  {
    NodeStateSource first({cluster, scheduler, log, [] { return 0.5; }}, {kNamespace, "a"},
                          {[] { return Millis{5s}; }, boot.has_evidence, boot.save_evidence},
                          [](const std::string&) {});
    first.want(true);
    scheduler.advance(1s);
    put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
    put(kGood);
  }
  EXPECT_EQ(noted.size(), 1u);
  EXPECT_EQ(held(begun(5s, boot)), "");
  cluster.remove(kube::kSriovNetworkNodeStates, "a", kNamespace);
  put(kGood);
  scheduler.advance(10min);
  EXPECT_NE(held(begun(5s, boot)), "") << "of another object nothing is known";
}

TEST_F(NodeStateBootTest, AcceptsOnlySucceeded) {
  for (const std::string status : {"Failed", "InProgress", "''", "Finished"}) {
    put(std::string(kGoodSpec) + "status: {syncStatus: " + status + ", lastSyncError: no GUID of VF 2}\n");
    const std::string why = held(begun(1h));
    fixture::expect_golden(why);
  }
  put(std::string(kGoodSpec));
  fixture::expect_golden(held(begun(1h)));
}

TEST_F(NodeStateBootTest, IgnoredEvidenceDoesNotHold) {
  put(std::string(kGoodSpec) + "status: {syncStatus: Failed, lastSyncError: broken}\n");
  EXPECT_EQ(held(begun(1h, {}, {.failed = true})), "");
  EXPECT_NE(held(begun(1h, {}, {.earlier_boot = true})), "");
  EXPECT_EQ(begun(1h, {}, {.failed = true}).status, "syncStatus Failed, lastSyncError: broken")
      << "and is shown all the same";
  put(kGood);
  scheduler.advance(10min);
  EXPECT_EQ(held(begun(5s, {}, {.earlier_boot = true})), "");
  EXPECT_NE(held(begun(5s, {}, {.failed = true})), "");
  put(std::string(kGoodSpec));
  EXPECT_EQ(held(begun(5s, {}, {.earlier_boot = true})), "") << "kept by another program";
  put(std::string(kGoodSpec) + "status: {syncStatus: InProgress}\n");
  EXPECT_NE(held(begun(5s, {}, {.failed = true, .earlier_boot = true})), "");
}

// Red when the first text for a kind that is not there speaks of the object.
TEST_F(NodeStateSourceTest, NamesTheMissingKindInsteadOfTheObject) {
  std::vector<std::string> texts;
  NodeStateSource next({cluster, scheduler, log, [] { return 0.5; }}, {kNamespace, "a"}, {},
                       [&](const std::string&) { texts.push_back(next.reading().why); });
  next.want(true);
  scheduler.advance(5min);
  ASSERT_FALSE(texts.empty());
  for (const std::string& text : texts) fixture::expect_golden(text);
}

}  // namespace node_state_source_test
}  // namespace sliced::daemon
