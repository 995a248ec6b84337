// The whole daemon: a device that is not configured yet is not offered, and one that loses a condition follows onLoss.
#include <gtest/gtest.h>

#include <filesystem>

#include "daemon/daemon.h"
#include "policy/explain.h"
#include "t/fixture/daemon_world.h"
#include "t/fixture/golden.h"

namespace sliced::daemon {
namespace readiness_test {
namespace {

using namespace std::chrono_literals;
using Names = std::set<std::string>;

constexpr const char* kVf = "0000:3b:02.0";
constexpr const char* kNoMac = "00:00:00:00:00:00";

// By each kind of policy: true a DeviceExposurePolicy.
struct ReadinessTest : testing::TestWithParam<bool>, fixture::DaemonWorld {
  ReadinessTest() {
    make_pf(2);
    read_vf_configs = [this](int) {
      ++asked;
      return refuses ? Result<std::map<int, hotplug::VfConfig>>(Error{Errc::kBusy, "busy"})
                     : Result<std::map<int, hotplug::VfConfig>>(configs);
    };
  }
  void policy(const std::string& readiness) {
    if (GetParam())
      put_exposure("e", "{readiness: " + readiness +
                            ", selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}}");
    else
      put_policy("p", "{readiness: " + readiness + ", configs: [{resourceName: r}]}");
  }
  void set_mac(int index, const std::string& mac) { configs[index].mac = mac; }
  // A PF that is up reports it.
  void tell_pf() { say(hotplug::LinkChange{daemon->inventory()->find(kPf)->netdev->ifindex, "ens1f0"}); }
  bool is_tainted(const std::string& entry) const {
    for (const auto& slice : slices())
      for (const kube::Device& device : slice.devices)
        if (device.name == entry && !device.taints.empty()) return true;
    return false;
  }
  bool was_ever_written(const std::string& entry) const {
    const auto all = cluster.writes();
    return std::any_of(all.begin(), all.end(), [&](const auto& request) {
      return kube::encode_json(request.body).find("\"" + entry + "\"") != std::string::npos;
    });
  }
  std::string said() const { return policy::explain(*daemon->decision(), kVf).summary; }

  std::map<int, hotplug::VfConfig> configs{{0, {.mac = kNoMac}}, {1, {.mac = kNoMac}}};
  int asked = 0;
  bool refuses = false;  // to tell them
};

TEST_P(ReadinessTest, AppliesPerDevice) {
  policy("{require: [adminMac]}");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{});
  fixture::expect_golden(said());
  set_mac(0, "02:00:00:00:00:01");
  tell_pf();
  run(1s);
  EXPECT_EQ(offered(), Names{kFirstVf}) << "the kernel told: within a second";
  set_mac(1, "02:00:00:00:00:02");
  run(2500ms);
  EXPECT_EQ(offered().size(), 2u) << "nobody told: within the longest wait";
  const int before = asked;
  run(1min);
  EXPECT_EQ(asked, before) << "nothing waits any more";
}

// Red when facts without events are not polled.
TEST_P(ReadinessTest, TheSyncTimerFindsALossWithoutAnEvent) {
  policy("{require: [adminMac]}");
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  start();
  run(15s);
  ASSERT_EQ(offered().size(), 2u);
  set_mac(0, kNoMac);
  run(options.sync_interval);
  EXPECT_EQ(offered().size(), 1u);
}

// Red when a new requirement of a policy is met by a value that was read before it.
TEST_P(ReadinessTest, ANewRequirementIgnoresEarlierReads) {
  for (const std::string on_loss : {"withdraw", "taint", "keep"})
    for (const std::string stable : {"0s", "5s"}) {
      set_mac(0, kNoMac);
      set_mac(1, kNoMac);
      policy("{require: []}");
      start();
      run(15s);
      ASSERT_EQ(offered().size(), 2u);
      set_mac(0, "02:00:00:00:00:01");  // without a word; the other has none
      run(20s);
      policy("{require: [adminMac], stableFor: " + stable + ", onLoss: " + on_loss + "}");
      for (int i = 0; i < 1000; ++i) {
        run(10ms);
        ASSERT_TRUE(offered().contains(kFirstVf)) << on_loss << ' ' << stable << ' ' << i;
        ASSERT_FALSE(is_tainted(kFirstVf)) << on_loss << ' ' << stable << ' ' << i;
      }
      EXPECT_EQ(offered().size(), on_loss == "withdraw" ? 1u : 2u) << on_loss << ' ' << stable;
      EXPECT_EQ(is_tainted("0000-3b-02-1"), on_loss == "taint");
      policy("{require: []}");
      run(10min);  // whatever the claims have to show
    }
}

TEST_P(ReadinessTest, ANewRequirementDoesNotAddADeviceLostWithoutAnEvent) {
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  start();
  run(15s);
  set_mac(0, kNoMac);
  run(20s);
  policy("{require: [adminMac]}");
  run(10s);
  EXPECT_EQ(offered().size(), 1u);
  EXPECT_FALSE(offered().contains(kFirstVf));
  EXPECT_FALSE(was_ever_written(kFirstVf));
}

TEST_P(ReadinessTest, ANewRequirementDetectsALossWithoutAnEvent) {
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: []}");
  start();
  run(15s);
  set_mac(0, kNoMac);
  run(20s);
  policy("{require: [adminMac]}");
  run(1s);
  EXPECT_EQ(offered().size(), 1u);
}

// A PF that does not answer is not waited for without end: known values count then. New entries wait.
TEST_P(ReadinessTest, WaitsBrieflyForAPfThatDoesNotAnswer) {
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: []}");
  start();
  run(15s);
  refuses = true;
  policy("{require: [adminMac]}");
  run(1500ms);
  EXPECT_EQ(offered().size(), 2u);
  run(1s);
  EXPECT_EQ(offered().size(), 1u) << "as it was known";
  if (GetParam())
    remove_exposure("e");
  else
    remove_policy("p");
  run(10min);
  ASSERT_EQ(offered().size(), 0u);
  policy("{require: [adminMac]}");
  run(10s);
  EXPECT_EQ(offered().size(), 0u);
  const auto explained = policy::explain(*daemon->decision(), "0000:3b:02.1");
  EXPECT_TRUE(std::any_of(explained.rules.begin(), explained.rules.end(), [](const auto& rule) {
    return rule.found ==
           "not met (VF settings of PF 0000:3b:00.0 have not been read since a policy began to require them)";
  }));
  refuses = false;
  run(3s);
  EXPECT_EQ(offered().size(), 1u);
}

// Red when `explain` shows a device that is offered by the known facts as waiting for its PF.
TEST_P(ReadinessTest, ExplainsOfferedDevicesOfASilentPfByKnownFacts) {
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: []}");
  start();
  run(15s);
  refuses = true;
  policy("{require: [adminMac]}");
  const auto found = [this] {
    for (const auto& rule : policy::explain(*daemon->decision(), kVf).rules)
      if (rule.field == "adminMac") return rule.result + ": " + rule.found;
    return std::string();
  };
  run(1s);
  EXPECT_EQ(
      found(),
      "match: not known yet (VF settings of PF 0000:3b:00.0 have not been read since a policy began to require them)");
  run(5s);
  ASSERT_EQ(offered().size(), 2u);
  EXPECT_EQ(found(), "match: met");
}

// Red when a published entry waits for stableFor: the late answer of the PF shows that the condition held all the time.
TEST_P(ReadinessTest, KeepsAnEntryUntilItsPfAnswers) {
  for (const std::string on_loss : {"keep", "taint"}) {
    set_mac(0, kNoMac);
    policy("{require: []}");
    start();
    run(15s);
    ASSERT_EQ(offered().size(), 2u);
    set_mac(0, "02:00:00:00:00:01");  // without a word
    refuses = true;
    policy("{require: [adminMac], stableFor: 60s, onLoss: " + on_loss + "}");
    run(3s);
    refuses = false;
    for (int i = 0; i < 1000; ++i) {
      run(10ms);
      ASSERT_TRUE(offered().contains(kFirstVf)) << on_loss << ' ' << i;
    }
    EXPECT_FALSE(is_tainted(kFirstVf));
    policy("{require: []}");
    run(10min);
  }
}

// Red when an answer of any age counts for a device that appeared after the previous decision.
TEST_P(ReadinessTest, IgnoresAnOldAnswerForADeviceAddedWithoutDecision) {
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: [adminMac]}");
  start();
  run(15s);
  const std::string link = std::string("sys/bus/pci/devices/") + kVf;
  const std::string target = std::filesystem::read_symlink(tree.root() + "/" + link).string();
  tree.remove(link);
  pci_event("remove", kVf);
  run(5s);
  ASSERT_EQ(offered(), Names{"0000-3b-02-1"});
  cluster.remove(kube::kNodes, "node-a");
  run(1s);
  tree.symlink(target, link);
  pci_event("add", kVf);
  run(1s);
  set_mac(0, kNoMac);  // without a word
  run(20s);
  const size_t before = cluster.writes().size();
  put_node("uid-1", {{"zone", "a"}});
  run(15s);
  EXPECT_EQ(offered(), Names{"0000-3b-02-1"});
  const auto all = cluster.writes();
  for (size_t i = before; i < all.size(); ++i)
    EXPECT_EQ(kube::encode_json(all[i].body).find(std::string("\"") + kFirstVf + "\""), std::string::npos);
}

// Red when a node whose API server is slow is offered without its VFs at first.
TEST_P(ReadinessTest, TheFirstSliceIsNotEmptyWithLatePolicies) {
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: [adminMac]}");
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural.ends_with("policies") ? Millis{4'000} : Millis{0};
  };
  start();
  for (int i = 0; i < 20'000 && writes() == 0; ++i) run(1ms);
  run(20ms);
  EXPECT_EQ(offered().size(), 2u);
  if (!GetParam()) {
    EXPECT_EQ(log.all().find(" devices=0\n"), std::string::npos) << log.all();
  }
}

// Red when the first decision waits for a PF that does not answer.
TEST_P(ReadinessTest, WaitsBrieflyForASilentPfAtTheStart) {
  set_mac(1, "02:00:00:00:00:02");
  policy("{require: [adminMac]}");
  put_policy("other",
             "{priority: 1, configs: [{resourceName: other, resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural.ends_with("policies") ? Millis{4'000} : Millis{0};
  };
  start();
  run(3s);
  refuses = true;
  run(2s);
  EXPECT_EQ(daemon->decision(), nullptr);
  run(1s);
  EXPECT_NE(daemon->decision(), nullptr);
  run(15s);
  EXPECT_EQ(offered(), Names{kFirstVf});
  refuses = false;
  run(15s);
  EXPECT_EQ(offered().size(), 2u);
}

TEST_P(ReadinessTest, TheQueryIntervalOfAPfIsAnOption) {
  options.readiness_poll = 30s;
  policy("{require: [adminMac]}");
  start();
  run(4min);
  const int before = asked;
  run(30s);
  EXPECT_LE(asked - before, 1);
  options.readiness_poll = 1s;
  daemon->reload(options);
  run(1min);
  EXPECT_GE(asked - before, 25);
}

TEST_P(ReadinessTest, ALostConditionWithdrawsImmediately) {
  policy("{require: [adminMac], stableFor: 2s}");
  set_mac(0, "02:00:00:00:00:01");
  set_mac(1, "02:00:00:00:00:02");
  start();
  run(1500ms);
  EXPECT_EQ(offered(), Names{});
  run(15s);
  EXPECT_EQ(offered().size(), 2u);
  set_mac(0, kNoMac);
  tell_pf();
  run(200ms);
  EXPECT_EQ(offered().size(), 1u) << "no window is opened for it";
  set_mac(0, "02:00:00:00:00:01");
  tell_pf();
  run(1800ms);
  EXPECT_EQ(offered().size(), 1u);
  run(1s);
  if (!GetParam()) {
    EXPECT_EQ(offered().size(), 2u);
  }
  run(2min);  // possibly allocated entries count until the claims have been listed
  EXPECT_EQ(offered().size(), 2u);
}

TEST_P(ReadinessTest, KeepsOrTaintsAsOnLossRequires) {
  set_mac(0, "02:00:00:00:00:01");
  policy("{require: [adminMac], onLoss: keep}");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{kFirstVf});
  set_mac(0, kNoMac);
  tell_pf();
  run(1s);
  EXPECT_EQ(offered(), Names{kFirstVf});
  policy("{require: [adminMac], onLoss: taint}");
  run(1s);
  ASSERT_EQ(offered(), Names{kFirstVf});
  const auto taints = [this] {
    std::vector<kube::Taint> out;
    for (const auto& slice : slices())
      for (const kube::Device& device : slice.devices)
        out.insert(out.end(), device.taints.begin(), device.taints.end());
    return out;
  };
  const std::string driver = GetParam() ? kExposureDriver : kDriver;
  EXPECT_EQ(taints(), (std::vector<kube::Taint>{{driver + "/not-ready", "adminMac", "NoSchedule"}}));
  const size_t before = writes();
  start();
  run(15s);
  EXPECT_EQ(writes(), before) << "a restart changes nothing of it";
  set_mac(0, "02:00:00:00:00:01");
  tell_pf();
  run(3s);
  EXPECT_EQ(offered(), Names{kFirstVf});
  EXPECT_TRUE(taints().empty());
}

// Red when a VF's readiness is judged by its own facts alone.
TEST_P(ReadinessTest, VfsFollowTheCarrierOfTheirPf) {
  policy("{require: [carrier]}");
  tree.netdev_attr("ens1f0", "operstate", "down");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{});
  EXPECT_NE(
      said().find("carrier: interface ens1f0, the PF of VF 0 of ens1f0, has no carrier: operstate down"),
      std::string::npos)
      << said();
  tree.netdev_attr("ens1f0", "operstate", "up");
  tell_pf();
  run(2s);
  EXPECT_EQ(offered().size(), 2u) << said();
  tree.netdev_attr("ens1f0", "operstate", "down");
  tell_pf();
  run(2s);
  EXPECT_EQ(offered(), Names{});
  tree.netdev_attr("ens1f0", "operstate", "up");
  tell_pf();
  run(2min);
  EXPECT_EQ(offered().size(), 2u) << said();
}

// Red without damping: two writes a flap.
TEST_P(ReadinessTest, BoundsWritesForAFlappingLink) {
  for (const std::string on_loss : {"withdraw", "taint", "keep"}) {
    policy("{require: [carrier], onLoss: " + on_loss + "}");
    tree.netdev_attr("ens1f0", "operstate", "up");
    start();
    run(5min);
    ASSERT_EQ(offered().size(), 2u) << on_loss << said();
    const size_t before = writes();
    for (int i = 0; i < 240; ++i) {
      tree.netdev_attr("ens1f0", "operstate", i % 2 == 0 ? "down" : "up");
      tell_pf();
      run(500ms);
    }
    // Two minutes: 14 changes in the first one and 4 in the second are the bound; every policy kind has one slice here.
    EXPECT_LE(writes() - before, 18u) << on_loss;
    if (on_loss != "keep") {
      EXPECT_GE(writes() - before, 1u) << on_loss;
      EXPECT_NE(said().find("carrier: it was lost "), std::string::npos) << said();
    }
    run(1min);
    EXPECT_EQ(offered().size(), 2u) << on_loss << said();
    EXPECT_FALSE(is_tainted(kFirstVf)) << on_loss;
  }
}

TEST_P(ReadinessTest, ARestartWritesNothingAndDelaysNothing) {
  policy("{require: [adminMac, udevInitialized], stableFor: 1h}");
  set_mac(0, "02:00:00:00:00:01");
  start();
  run(61min);
  EXPECT_EQ(offered(), Names{kFirstVf});
  const size_t before = writes();
  start();
  run(1min);
  EXPECT_EQ(offered(), Names{kFirstVf});
  EXPECT_EQ(writes(), before);
}

TEST_P(ReadinessTest, AReplacedDeviceStartsAgain) {
  policy("{require: [adminMac], stableFor: 10s}");
  set_mac(0, "02:00:00:00:00:01");
  start();
  run(30s);
  ASSERT_EQ(offered(), Names{kFirstVf});
  // Within what decisions put together.
  pci_event("remove", kVf);
  pci_event("add", kVf);
  run(2s);
  EXPECT_EQ(offered(), Names{}) << said();
  run(3min);
  EXPECT_EQ(offered(), Names{kFirstVf});
}

TEST_P(ReadinessTest, WaitsForUdevByDefault) {
  tree.write("run/udev/control", "");
  policy("{}");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{});
  const auto* vf = daemon->inventory()->find(kVf);
  tree.write("run/udev/data/n" + std::to_string(vf->netdev->ifindex), "I:1");
  say(hotplug::Uevent{"add", "/devices/x/net/ens1f0v0", "net", {{"INTERFACE", "ens1f0v0"}}});
  run(1s);
  EXPECT_EQ(offered(), Names{kFirstVf});
  EXPECT_EQ(asked, 1) << "a PF is not asked again for what udevd tells";
}

TEST_P(ReadinessTest, ReloadsTheDefault) {
  policy("{}");
  start();
  run(15s);
  EXPECT_EQ(offered().size(), 2u);
  config::Options options;
  options.node_name = "node-a";
  options.readiness.mtu_at_least = 9000;
  daemon->reload(options);
  run(1s);
  EXPECT_EQ(offered(), Names{});
}

// The status of the SR-IOV network operator is a condition like others. No decision waits for its kind as a
// source.
TEST_P(ReadinessTest, HonoursANodeState) {
  const auto node_state = [this](int mtu, const std::string& sync) {
    cluster.put(kube::kSriovNetworkNodeStates,
                kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}\n"
                                  "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, mtu: " +
                                  std::to_string(mtu) + "}]}\nstatus: {syncStatus: " + sync + "}")
                    .documents.at(0));
    run(1s);
  };
  policy("{require: [nodeState]}");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{});
  fixture::expect_golden(said());
  cluster.install(kube::kSriovNetworkNodeStates);
  run(1min);
  fixture::expect_golden(said());
  node_state(1500, "InProgress");
  EXPECT_EQ(offered(), Names{});
  node_state(1500, "Succeeded");
  EXPECT_EQ(offered().size(), 2u);
  node_state(9000, "Succeeded");
  EXPECT_EQ(offered(), Names{}) << "the host is not so, whatever the status says";
  fixture::expect_golden(said());
  node_state(1500, "Succeeded");
  EXPECT_EQ(offered().size(), 2u);
  tree.netdev_attr("ens1f0", "mtu", "1400");
  tell_pf();
  run(1s);
  EXPECT_EQ(offered(), Names{}) << "the host has changed";
  tree.netdev_attr("ens1f0", "mtu", "1500");
  tell_pf();
  run(3s);  // it is the second loss within a minute
  EXPECT_EQ(offered().size(), 2u);
  cluster.remove(kube::kSriovNetworkNodeStates, "node-a", "sriov-network-operator");
  run(1s);
  EXPECT_EQ(offered(), Names{});
}

// Red when VFs wait for the answer of a PF although the node state requires only facts that the host has.
TEST_P(ReadinessTest, ANodeStateWithoutVfSettingsDoesNotWaitForThePf) {
  read_vf_configs = [this](int) {
    ++asked;
    return Result<std::map<int, hotplug::VfConfig>>(Error{Errc::kBusy, "busy"});
  };
  cluster.install(kube::kSriovNetworkNodeStates);
  cluster.put(
      kube::kSriovNetworkNodeStates,
      kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}").documents.at(0));
  policy("{require: [nodeState]}");
  start();
  run(15s);
  EXPECT_EQ(offered().size(), 2u) << said();
  const int before = asked;
  run(1min);
  EXPECT_LE(asked, before + 4)
      << "no device waits for it: it is read again as anything that could not be read, and not every 2 s";
}

// Red when a node state that requires MAC addresses is compared with values that were read before any policy
// required them.
TEST_P(ReadinessTest, ANodeStateWithMacsWaitsForThePf) {
  cluster.install(kube::kSriovNetworkNodeStates);
  cluster.put(
      kube::kSriovNetworkNodeStates,
      kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}\n"
                        "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, "
                        "vfGroups: [{resourceName: r, vfRange: 0-1}]}]}\nstatus: {syncStatus: Succeeded}")
          .documents.at(0));
  for (const int index : {0, 1}) {
    set_mac(index, "02:00:00:00:00:0" + std::to_string(index));
    tree.netdev_attr("ens1f0v" + std::to_string(index), "address",
                     "02:00:00:00:00:0" + std::to_string(index));
  }
  start();
  run(15s);
  policy("{require: [nodeState]}");
  run(5s);
  ASSERT_EQ(offered().size(), 2u) << said();
  policy("{require: []}");
  run(5s);
  if (GetParam())
    remove_exposure("e");
  else
    remove_policy("p");
  run(10min);
  ASSERT_EQ(offered(), Names{});
  set_mac(0, kNoMac);  // without a word
  run(20s);
  const size_t before = cluster.writes().size();
  policy("{require: [nodeState]}");
  run(15s);
  EXPECT_EQ(offered(), Names{}) << said();
  const auto all = cluster.writes();
  for (size_t i = before; i < all.size(); ++i)
    EXPECT_EQ(kube::encode_json(all[i].body).find(std::string("\"") + kFirstVf + "\""), std::string::npos);
}

// Red when a restart decides before the node state is known, and so withdraws published entries.
TEST_P(ReadinessTest, ARestartWithANodeStateWritesNothing) {
  cluster.install(kube::kSriovNetworkNodeStates);
  cluster.put(
      kube::kSriovNetworkNodeStates,
      kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}").documents.at(0));
  policy("{require: [nodeState]}");
  start();
  run(15s);
  ASSERT_EQ(offered().size(), 2u);
  const size_t before = writes();
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural == "sriovnetworknodestates" ? Millis{1'000} : Millis{0};
  };
  start();
  run(1min);
  EXPECT_EQ(offered().size(), 2u);
  EXPECT_EQ(writes(), before) << log.all();
}

// Red when an optional kind that does not answer keeps the daemon from deciding.
TEST_P(ReadinessTest, BoundsTheWaitForANodeState) {
  cluster.install(kube::kSriovNetworkNodeStates);
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural == "sriovnetworknodestates" ? Millis{3'600'000} : Millis{0};
  };
  policy("{require: [nodeState]}");
  put_policy("other",
             "{priority: 1, configs: [{resourceName: other, resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  start();
  run(15s);
  EXPECT_EQ(offered(), Names{kFirstVf}) << "what does not ask for it";
  EXPECT_TRUE(daemon->waiting_for().empty());
}

INSTANTIATE_TEST_SUITE_P(BothKinds, ReadinessTest, testing::Bool());

// Red when a write to a policy's status makes every node query its PFs, and decide.
TEST(ReadinessBeside, QueriesPfsForAMacWhenASelectorReadsIt) {
  fixture::DaemonWorld world;
  auto pf =
      world.tree.pci(fixture::DaemonWorld::kPf).id("8086", "1592").driver("ice").numa(0).netdev("ens1f0");
  pf.sriov(256).vfs(2, [&](fixture::SysfsTree::Pci vf, int) { vf.id("8086", "1889").driver("vfio-pci"); });
  int asked = 0;
  world.read_vf_configs = [&](int) {
    ++asked;
    return Result<std::map<int, hotplug::VfConfig>>({{0, {.mac = kNoMac}}, {1, {.mac = kNoMac}}});
  };
  const auto expose = [&](const std::string& name, const std::string& cel, const std::string& rest) {
    world.put_exposure(name, "{selector: {cel: '" + cel + "'}}" + rest);
    world.run(10s);
  };
  const std::string vfs = "device.attributes[\"dra.networking\"].type == \"vf\"";
  const std::string mac = "device.attributes[\"dra.networking\"].mac == \"02:00:00:00:00:01\"";
  const std::string policy = "{configs: [{resourceFilters: [{vendors: [dead]}]}]}";
  world.put_policy("p", policy);
  expose("e", vfs, "");
  expose("m", mac, "");
  world.start();
  world.run(1min);
  uint64_t decided = world.daemon->decisions().decided;
  int before = asked;
  for (int i = 0; i < 3; ++i) {
    const std::string status = "\nstatus: {seen: " + std::to_string(i) + "}";
    expose("e", vfs, status);
    expose("m", mac, status);
    world.put_policy("p", policy + status);
    world.cluster.expire_watches(kube::kDeviceExposurePolicies.plural);
    world.cluster.expire_watches(kube::kSriovResourcePolicies.plural);
    world.run(10s);
  }
  EXPECT_EQ(world.daemon->decisions().decided, decided) << "nothing has changed";
  EXPECT_EQ(asked, before);
  expose("e", vfs + " && true", "");
  world.put_policy("p", "{priority: 3, configs: []}");
  world.run(10s);
  EXPECT_GT(world.daemon->decisions().decided, decided);
  EXPECT_EQ(asked, before) << "who is edited does not read it";
  expose("m", "true && " + mac, "");
  EXPECT_EQ(asked, before + 1);
  expose("n", "size(device.attributes) > 9", "");
  EXPECT_EQ(asked, before + 2) << "it is unknown what it reads";
  world.remove_exposure("n");
  world.run(10s);
  EXPECT_EQ(asked, before + 2);
}

// VFs are published by a policy without conditions, one of them by a second policy with conditions. After a
// restart their PF does not answer. Red when the conditions count as met for the other VF, or no longer for
// the published one.
TEST(ReadinessBeside, APublishedEntryCountsOnlyForItself) {
  fixture::DaemonWorld world;
  world.make_pf(2);
  bool tells = true;
  std::string mac = kNoMac;
  world.read_vf_configs = [&](int) -> Result<std::map<int, hotplug::VfConfig>> {
    if (!tells) return Error{Errc::kNotFound, "no such device"};
    return std::map<int, hotplug::VfConfig>{{0, {.mac = mac}}, {1, {.mac = "02:00:00:00:00:02"}}};
  };
  const auto expose = [&](const std::string& name, const std::string& readiness) {
    world.put_exposure(name, "{" + readiness +
                                 fixture::DaemonWorld::of_type("vf",
                                                               ", exposure: {allowMultipleAllocations: true, "
                                                               "deviceNameSuffix: '-" +
                                                                   name + "'}")
                                     .substr(1));
  };
  expose("a", "");
  expose("b", "readiness: {require: [adminMac]}, ");
  const Names before{"0000-3b-02-0-a", "0000-3b-02-1-a", "0000-3b-02-1-b"};
  world.start();
  world.run(1min);
  ASSERT_EQ(world.offered(), before);
  tells = false;
  world.start();
  for (int i = 0; i < 6; ++i) {
    world.run(10s);
    expose("c", "nodeSelector: {matchLabels: {no: '" + std::to_string(i) + "'}}, ");  // causes a new decision
    ASSERT_EQ(world.offered(), before) << i;
  }
  tells = true;
  world.run(1min);
  EXPECT_EQ(world.offered(), before);
  mac = "02:00:00:00:00:01";
  world.run(1min);
  EXPECT_EQ(world.offered().size(), 4u);
}

}  // namespace
}  // namespace readiness_test
}  // namespace sliced::daemon
