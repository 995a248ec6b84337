#include "policy/readiness/readiness.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/entry_validation.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/gates/readiness.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/decode_readiness.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace readiness_test {
namespace {

using namespace std::chrono_literals;
using hotplug::HostDevice;
using Is = Finding::Is;

constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";

Readiness decode(const std::string& text, Problems& problems) {
  const auto yaml = kube::decode_yaml(text);
  EXPECT_TRUE(yaml.problems.empty()) << text;
  return decode_readiness(&yaml.documents.at(0), "spec.readiness", problems);
}
Readiness decode(const std::string& text) {
  Problems problems;
  Readiness out = decode(text, problems);
  EXPECT_TRUE(problems.empty()) << problems.front().field << " " << problems.front().what;
  return out;
}

TEST(DecodeReadiness, RoundTripsEveryField) {
  const std::string text =
      "{require: [driverBound, netdev, adminMac, adminMacMatches, guid, udevInitialized, nodeState, carrier], "
      "mtuAtLeast: 9000, stableFor: 1m2s, onLoss: taint, onLinkDown: keep, taintEffect: NoExecute, holdBinding: "
      "true, setAdminMac: true}";
  const Readiness all = decode(text);
  EXPECT_EQ(all.require->count(), 8u);
  EXPECT_EQ(all.mtu_at_least, 9000);
  EXPECT_EQ(all.stable_for, 62s);
  EXPECT_EQ(all.on_loss, OnLoss::kTaint);
  EXPECT_EQ(all.on_link_down, OnLoss::kKeep);
  EXPECT_EQ(all.taint_effect, TaintEffect::kNoExecute);
  EXPECT_EQ(all.hold_binding, true);
  EXPECT_EQ(all.set_admin_mac, true);
  EXPECT_EQ(text_of(all), text);
  EXPECT_EQ(text_of(decode("{require: []}")), "{require: []}");
  EXPECT_EQ(text_of(decode("{}")), "");
}

TEST(DecodeReadiness, NamesAndIgnoresInvalidFields) {
  const struct {
    const char* text;
    const char* field;
    const char* says;
  } rows[] = {
      {"{require: [adminMAC]}", "spec.readiness.require", "did you mean adminMac?"},
      {"{require: [mtuAtLeast]}", "spec.readiness.require", "has \"mtuAtLeast\""},
      {"{require: adminMac}", "spec.readiness.require", "expected a list"},
      {"{requires: [adminMac]}", "spec.readiness.requires", "did you mean require?"},
      {"{mtuAtLeast: -1}", "spec.readiness.mtuAtLeast", "expected 0 to 65536"},
      {"{mtuAtLeast: 65537}", "spec.readiness.mtuAtLeast", "expected 0 to 65536"},
      {"{mtuAtLeast: jumbo}", "spec.readiness.mtuAtLeast", "expected a whole number"},
      {"{stableFor: 2}", "spec.readiness.stableFor", "expected a string"},
      {"{stableFor: two}", "spec.readiness.stableFor", "is \"two\", expected a time such as 2s"},
      {"{stableFor: ''}", "spec.readiness.stableFor", "expected a time such as 2s"},
      {"{stableFor: 2h}", "spec.readiness.stableFor", "at most 1h"},
      {"{onLoss: withdrawn}", "spec.readiness.onLoss", "expected withdraw, taint or keep"},
      {"{onLoss: [keep]}", "spec.readiness.onLoss", "expected a string"},
      {"{onLinkDown: NoSchedule}", "spec.readiness.onLinkDown", "expected withdraw, taint or keep"},
      {"{taintEffect: noSchedule}", "spec.readiness.taintEffect", "expected NoSchedule, NoExecute or None"},
      {"{holdBinding: 1}", "spec.readiness.holdBinding", "expected true or false"},
      {"{setAdminMac: 'yes'}", "spec.readiness.setAdminMac", "expected true or false"},
      {"true", "spec.readiness", "expected a map"},
  };
  for (const auto& row : rows) {
    Problems problems;
    const Readiness got = decode(row.text, problems);
    ASSERT_EQ(problems.size(), 1u) << row.text;
    EXPECT_EQ(problems.front().field, row.field) << row.text;
    EXPECT_NE(problems.front().what.find(row.says), std::string::npos) << problems.front().what;
    EXPECT_EQ(got.require, std::nullopt) << row.text;
    EXPECT_EQ(got.stable_for, std::nullopt) << row.text;
    EXPECT_EQ(got.on_loss, std::nullopt) << row.text;
    EXPECT_EQ(got.set_admin_mac, std::nullopt) << row.text;
  }
}

TEST(DemandOf, TheDaemonsDefaultsFillMissingFields) {
  EXPECT_EQ(demand_of({}, {}), Demand{});
  EXPECT_EQ(Demand{}.conditions().count(), 1u);
  EXPECT_TRUE(has(Demand{}.conditions(), Condition::kUdevInitialized));
  const Readiness daemons = decode("{require: [adminMac], mtuAtLeast: 1500, stableFor: 2s, onLoss: keep}");
  const Demand kept = demand_of({}, daemons);
  EXPECT_EQ(kept.require, *daemons.require);
  EXPECT_EQ(kept.mtu_at_least, 1500);
  EXPECT_EQ(kept.stable_for, 2s);
  EXPECT_EQ(kept.on_loss, OnLoss::kKeep);
  const Demand none =
      demand_of(decode("{require: [], mtuAtLeast: 0, stableFor: 0s, onLoss: withdraw}"), daemons);
  EXPECT_TRUE(none.conditions().none());
  EXPECT_EQ(none.stable_for, 0s);
  EXPECT_EQ(none.on_loss, OnLoss::kWithdraw);
}

// One VF that meets everything; each row spoils something.
struct Row {
  const char* what;
  Condition condition;
  std::function<void(HostDevice& vf, hotplug::Inventory& host, NodeState& state)> spoil;
  Is is;
  const char* says;
};

const Row kRows[] = {
    {"all is well", Condition::kDriverBound, {}, Is::kMet, ""},
    {"no driver", Condition::kDriverBound, [](auto& vf, auto&, auto&) { vf.driver = ""; }, Is::kNotMet,
     "no driver is bound to VF 0 of ens1f0"},
    {"a link", Condition::kDriverBound,
     [](auto& vf, auto&, auto&) { vf.pci.reset(), vf.driver = "", vf.type = hotplug::DeviceType::kBridge; },
     Is::kDoesNotApply, "it is not a function"},
    {"all is well", Condition::kNetdev, {}, Is::kMet, ""},
    {"none yet", Condition::kNetdev, [](auto& vf, auto&, auto&) { vf.netdev.reset(); }, Is::kNotMet,
     "driver iavf of VF 0 of ens1f0 has made none here"},
    {"vfio", Condition::kNetdev, [](auto& vf, auto&, auto&) { vf.netdev.reset(), vf.driver = "vfio-pci"; },
     Is::kDoesNotApply, "driver vfio-pci makes no interface"},
    {"no driver", Condition::kNetdev, [](auto& vf, auto&, auto&) { vf.netdev.reset(), vf.driver = ""; },
     Is::kNotMet, "no driver is bound"},
    {"away", Condition::kNetdev, [](auto& vf, auto&, auto&) { vf.netdev->stale = true; }, Is::kMet, ""},
    {"all is well", Condition::kAdminMac, {}, Is::kMet, ""},
    {"zeros", Condition::kAdminMac, [](auto& vf, auto&, auto&) { vf.enforced->mac = "00:00:00:00:00:00"; },
     Is::kNotMet, "VF 0 of ens1f0 has admin MAC 00:00:00:00:00:00"},
    {"not told", Condition::kAdminMac, [](auto& vf, auto&, auto&) { vf.enforced.reset(); }, Is::kNotMet,
     "the PF has not reported the admin MAC of VF 0 of ens1f0"},
    {"refused", Condition::kAdminMac,
     [](auto& vf, auto&, auto&) {
       vf.enforced.reset();
       vf.unreadable = {"settings: netlink: RTM_GETLINK: EMSGSIZE"};
     },
     Is::kNotMet, "of VF 0 of ens1f0 (settings: netlink: RTM_GETLINK: EMSGSIZE)"},
    {"told without", Condition::kAdminMac, [](auto& vf, auto&, auto&) { vf.enforced->mac = ""; }, Is::kNotMet,
     "the PF has not reported"},
    {"vfio", Condition::kAdminMac,
     [](auto& vf, auto&, auto&) { vf.driver = "vfio-pci", vf.enforced.reset(), vf.netdev.reset(); },
     Is::kDoesNotApply, "bound to vfio-pci"},
    {"a PF", Condition::kAdminMac, [](auto& vf, auto&, auto&) { vf.type = hotplug::DeviceType::kPf; },
     Is::kDoesNotApply, "it is not a VF"},
    {"InfiniBand", Condition::kAdminMac, [](auto& vf, auto&, auto&) { vf.netdev->link_type = 32; },
     Is::kDoesNotApply, "it is not Ethernet"},
    {"a snapshot", Condition::kAdminMac,
     [](auto& vf, auto& host, auto&) { host.can_query_pfs = false, vf.enforced.reset(); }, Is::kDoesNotApply,
     "from files"},
    {"all is well", Condition::kAdminMacMatches, {}, Is::kMet, ""},
    {"another", Condition::kAdminMacMatches,
     [](auto& vf, auto&, auto&) { vf.netdev->mac = "02:00:00:00:00:09"; }, Is::kNotMet,
     "has admin MAC 02:00:00:00:00:01, and its interface ens1f0v0 has 02:00:00:00:00:09"},
    {"both zeros", Condition::kAdminMacMatches,
     [](auto& vf, auto&, auto&) { vf.enforced->mac = vf.netdev->mac = "00:00:00:00:00:00"; }, Is::kNotMet,
     "has admin MAC 00:00:00:00:00:00"},
    {"no interface", Condition::kAdminMacMatches, [](auto& vf, auto&, auto&) { vf.netdev.reset(); },
     Is::kNotMet, "has no interface on the host"},
    {"Ethernet", Condition::kGuid, {}, Is::kDoesNotApply, "it is not InfiniBand"},
    {"InfiniBand", Condition::kGuid,
     [](auto& vf, auto&, auto&) {
       vf.netdev->link_type = 32;
       vf.enforced->node_guid = vf.enforced->port_guid = "00:00:00:00:00:00:00:01";
     },
     Is::kMet, ""},
    {"no port GUID", Condition::kGuid,
     [](auto& vf, auto&, auto&) {
       vf.netdev->link_type = 32;
       vf.enforced->node_guid = "00:00:00:00:00:00:00:01";
       vf.enforced->port_guid = "00:00:00:00:00:00:00:00";
     },
     Is::kNotMet, "VF 0 of ens1f0 has port GUID 00:00:00:00:00:00:00:00"},
    {"not told", Condition::kGuid, [](auto& vf, auto&, auto&) { vf.netdev->link_type = 32; }, Is::kNotMet,
     "the PF has not reported the GUIDs"},
    {"without an interface the PF's type counts", Condition::kGuid,
     [](auto& vf, auto&, auto&) { vf.netdev.reset(), vf.pf_link_type = 32; }, Is::kNotMet, "GUIDs"},
    {"all is well", Condition::kUdevInitialized, {}, Is::kMet, ""},
    {"half", Condition::kUdevInitialized, [](auto& vf, auto&, auto&) { vf.netdev->is_initialized = false; },
     Is::kNotMet, "udevd has not finished with interface ens1f0v0"},
    {"no udevd", Condition::kUdevInitialized,
     [](auto& vf, auto& host, auto&) { vf.netdev->is_initialized = false, host.has_udevd = false; },
     Is::kDoesNotApply, "udevd does not run"},
    {"recovered", Condition::kUdevInitialized,
     [](auto& vf, auto&, auto&) { vf.netdev->is_initialized.reset(); }, Is::kDoesNotApply, "elsewhere"},
    {"vfio", Condition::kUdevInitialized, [](auto& vf, auto&, auto&) { vf.netdev.reset(); },
     Is::kDoesNotApply, "no interface"},
    {"in sync", Condition::kNodeState, {}, Is::kMet, ""},
    {"nobody reads it", Condition::kNodeState, [](auto&, auto&, auto& state) { state = {}; }, Is::kNotMet,
     "no SriovNetworkNodeState is read"},
    {"out of sync", Condition::kNodeState,
     [](auto&, auto&, auto& state) { state.out_of_sync[kPf] = "mtu is 1500, expected 9000"; }, Is::kNotMet,
     "PF 0000:3b:00.0 is not in sync: mtu is 1500, expected 9000"},
    {"another PF", Condition::kNodeState,
     [](auto&, auto&, auto& state) { state.out_of_sync["0000:3c:00.0"] = "x"; }, Is::kMet, ""},
    {"a NIC", Condition::kNodeState,
     [](auto& vf, auto&, auto& state) { state = {}, vf.type = hotplug::DeviceType::kNic; }, Is::kDoesNotApply,
     "neither a PF nor a VF"},
    {"all is well", Condition::kCarrier, {}, Is::kMet, ""},
    {"a VF that waits for a pod is set down itself", Condition::kCarrier,
     [](auto& vf, auto&, auto&) { vf.netdev->oper_state = "down", vf.netdev->is_up = false; }, Is::kMet, ""},
    {"a VF on vfio-pci has its PF's link", Condition::kCarrier,
     [](auto& vf, auto& host, auto&) {
       vf.netdev.reset(), vf.driver = "vfio-pci", host.devices.at(kPf).netdev->oper_state = "down";
     },
     Is::kNotMet, "interface ens1f0, the PF of VF 0 of ens1f0, has no carrier: operstate down"},
    {"no cable", Condition::kCarrier,
     [](auto&, auto& host, auto&) { host.devices.at(kPf).netdev->oper_state = "down"; }, Is::kNotMet,
     "interface ens1f0, the PF of VF 0 of ens1f0, has no carrier: operstate down"},
    {"dormant (802.1X)", Condition::kCarrier,
     [](auto&, auto& host, auto&) { host.devices.at(kPf).netdev->oper_state = "dormant"; }, Is::kNotMet,
     "operstate dormant"},
    {"set down", Condition::kCarrier,
     [](auto&, auto& host, auto&) {
       host.devices.at(kPf).netdev->oper_state = "down", host.devices.at(kPf).netdev->is_up = false;
     },
     Is::kNotMet, "is set down (ip link set ens1f0 up)"},
    {"a driver without carrier detection", Condition::kCarrier,
     [](auto&, auto& host, auto&) { host.devices.at(kPf).netdev->oper_state = "unknown"; }, Is::kMet, ""},
    {"not read", Condition::kCarrier,
     [](auto&, auto& host, auto&) { host.devices.at(kPf).netdev->oper_state = ""; }, Is::kNotMet,
     "the link state of interface ens1f0, the PF of VF 0 of ens1f0, is not known"},
    {"its PF's interface is not there", Condition::kCarrier,
     [](auto&, auto& host, auto&) { host.devices.at(kPf).netdev.reset(); }, Is::kNotMet,
     "0000:3b:00.0 has no interface on the host"},
    {"its PF on vfio-pci", Condition::kCarrier,
     [](auto&, auto& host, auto&) {
       host.devices.at(kPf).netdev.reset(), host.devices.at(kPf).driver = "vfio-pci";
     },
     Is::kDoesNotApply, "bound to vfio-pci 0000:3b:00.0 has no interface"},
    {"its PF is gone", Condition::kCarrier, [](auto&, auto& host, auto&) { host.devices.erase(kPf); },
     Is::kNotMet, "the PF of VF 0 of ens1f0 is not on this host"},
    {"a NIC by itself", Condition::kCarrier,
     [](auto& vf, auto&, auto&) {
       vf.type = hotplug::DeviceType::kNic, vf.netdev->oper_state = "lowerlayerdown";
     },
     Is::kNotMet, "interface ens1f0v0 has no carrier: operstate lowerlayerdown"},
    {"a bond by itself", Condition::kCarrier,
     [](auto& vf, auto&, auto&) { vf.type = hotplug::DeviceType::kBond, vf.netdev->oper_state = "up"; },
     Is::kMet, ""},
    {"a bridge has no link", Condition::kCarrier,
     [](auto& vf, auto&, auto&) { vf.type = hotplug::DeviceType::kBridge; }, Is::kDoesNotApply,
     "it has no link of its own"},
    {"enough", Condition::kMtuAtLeast, {}, Is::kMet, ""},
    {"too small", Condition::kMtuAtLeast, [](auto& vf, auto&, auto&) { vf.netdev->mtu = 8999; }, Is::kNotMet,
     "interface ens1f0v0 has MTU 8999, expected 9000"},
    {"not known", Condition::kMtuAtLeast, [](auto& vf, auto&, auto&) { vf.netdev->mtu.reset(); }, Is::kNotMet,
     "the MTU of VF 0 of ens1f0 is not known"},
    {"vfio", Condition::kMtuAtLeast,
     [](auto& vf, auto&, auto&) { vf.netdev.reset(), vf.driver = "vfio-pci"; }, Is::kDoesNotApply,
     "vfio-pci"},
};

struct World {
  World() {
    host.pf(kPf, "ens1f0", 2);
    HostDevice& vf = host.at(kVf);
    vf.enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:01"};
    vf.netdev->mac = "02:00:00:00:00:01";
    vf.netdev->mtu = 9000;
    vf.netdev->is_initialized = true;
    host.at(kPf).netdev->oper_state = "up";
    state.is_known = true;
  }
  std::shared_ptr<hotplug::Inventory> inventory() const {
    auto out = std::make_shared<hotplug::Inventory>(*host.inventory());
    out->has_udevd = out->can_query_pfs = true;
    return out;
  }
  fixture::VfHost host;
  NodeState state;
};

TEST(Conditions, EachNamesTheFoundValue) {
  for (const Row& row : kRows) {
    World world;
    auto inventory = world.inventory();
    HostDevice vf = *inventory->find(kVf);
    if (row.spoil) row.spoil(vf, *inventory, world.state);
    const Finding found = find_condition(row.condition, {vf, *inventory, world.state}, 9000);
    const std::string at = std::string(name_of(row.condition)) + ", " + row.what;
    EXPECT_EQ(static_cast<int>(found.is), static_cast<int>(row.is)) << at << ": " << found.why;
    EXPECT_NE(found.why.find(row.says), std::string::npos) << at << ": " << found.why;
    EXPECT_EQ(found.why.empty(), row.is == Is::kMet) << at;
  }
}

TEST(Conditions, TheTableIsSortedByName) {
  const auto table = condition_table();
  ASSERT_EQ(table.size(), kConditionCount - 1);
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(table[i].condition), i);
    EXPECT_FALSE(table[i].reads.empty());
  }
}

// What is decided of it: both kinds of policies.

constexpr const char* kOffersVfs = R"(
{apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: SriovResourcePolicy, metadata: {name: p, namespace: ns},
 spec: {readiness: READINESS, configs: [{resourceName: r, resourceFilters: [{pciAddresses: ["0000:3b:00.1"]}]}]}})";
constexpr const char* kExposes = R"(
{apiVersion: networking.dra.io/v1alpha1, kind: DeviceExposurePolicy, metadata: {name: e},
 spec: {readiness: READINESS, selector: {cel: 'device.attributes["dra.networking"].pciAddress == "0000:3b:00.1"'},
        exposure: {deviceNameSuffix: "-x"}}})";

struct Deciding : World {
  Deciding() { in.node.name = "n1"; }
  void policies(PolicyType kind, const std::string& readiness) {
    std::string text = kind == PolicyType::kSriov ? kOffersVfs : kExposes;
    text.replace(text.find("READINESS"), 9, readiness);
    const kube::Json object = kube::decode_yaml(text).documents.at(0);
    if (kind == PolicyType::kSriov)
      in.policies = std::make_shared<const PolicySet>(
          make_policy_set(share(std::vector{decode_sriov_policy(object)}), {}));
    else
      in.policies = std::make_shared<const PolicySet>(
          make_policy_set({}, {},
                          share(std::vector{decode_exposure_policy(object, std::string(kExposureDriver),
                                                                   kube::decode_object_meta(object))})));
  }
  Decision decide() {
    in.inventory = inventory();
    in.node_state = state;
    return policy::decide(std::make_shared<const Inputs>(in));
  }
  std::string said() {
    const Explanation told = explain(decide(), kVf);
    return told.outcome + ": " + told.summary;
  }
  Inputs in;
};

constexpr PolicyType kBoth[] = {PolicyType::kSriov, PolicyType::kExposure};

TEST(Readiness, HoldsBackAndNamesDevicesThatAreNotReady) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{require: [adminMac, udevInitialized], mtuAtLeast: 9000}");
    EXPECT_EQ(world.said().substr(0, 9), "offered: ") << world.said();
    world.host.at(kVf).enforced->mac = "00:00:00:00:00:00";
    world.host.at(kVf).netdev->mtu = 1500;
    const std::string said = world.said();
    EXPECT_EQ(said.substr(0, 11), "not-ready: ") << said;
    fixture::expect_golden(said);
    const Decision decision = world.decide();
    for (const auto& [driver, pools] : decision.pools)
      for (const DesiredPool& pool : pools) EXPECT_TRUE(pool.devices.empty());
    EXPECT_EQ(decision.unanswered_pfs.size(), 1u) << "the kernel may not tell of it";
    EXPECT_TRUE(decision.notes.empty()) << "to wait is not a problem of a policy";
    ASSERT_EQ(decision.unready.size(), 1u);
    EXPECT_EQ(decision.unready.begin()->first, "adminMac; mtuAtLeast");
    bool is_rule_there = false;
    for (const Rule& rule : explain(decision, kVf).rules)
      is_rule_there |= rule.place == "spec.readiness" && rule.field == "adminMac" && rule.result == "no";
    EXPECT_TRUE(is_rule_there);
  }
}

// Red when each device that waits is a line of its own: people read 64 of them as a mistake in the policy.
TEST(Readiness, GroupsDevicesByReasonWithACount) {
  UnreadyByReason all;
  for (const char* entry : {"0000-3b-02-1", "0000-3b-02-0", "0000-3b-02-2"})
    add_unready(all, "adminMac", entry, std::string("no MAC of ") + entry);
  add_unready(all, "nodeState: syncStatus InProgress", "a", "nodeState: syncStatus InProgress");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text_of("adminMac", all.at("adminMac")),
            "3 devices wait for adminMac, such as 0000-3b-02-0: no MAC of 0000-3b-02-0");
  EXPECT_EQ(text_of(all.rbegin()->first, all.rbegin()->second),
            "1 device waits for nodeState: syncStatus InProgress");
}

TEST(Readiness, QueriesNoPfsForKernelFacts) {
  Deciding world;
  world.policies(PolicyType::kSriov, "{require: [udevInitialized]}");
  world.host.at(kVf).netdev->is_initialized = false;
  const Decision decision = world.decide();
  EXPECT_EQ(decision.verdicts.at(kVf).outcome, Outcome::kNotReady);
  EXPECT_TRUE(decision.unanswered_pfs.empty());
}

TEST(Readiness, TheDefaultWaitsOnlyForUdev) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{}");
    world.host.at(kVf).enforced.reset();
    EXPECT_EQ(world.said().substr(0, 9), "offered: ");
    world.host.at(kVf).netdev->is_initialized = false;
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ");
    world.policies(kind, "{require: []}");
    EXPECT_EQ(world.said().substr(0, 9), "offered: ");
    world.in.settings.readiness = decode("{require: [adminMac]}");
    EXPECT_EQ(world.said().substr(0, 9), "offered: ") << "the policy's own word counts";
    world.policies(kind, "{}");
    fixture::expect_golden(world.said());
  }
}

TEST(Readiness, ADeviceWithheldByOneTypeIsNotOfferedByTheOther) {
  Deciding world;
  world.policies(PolicyType::kSriov, "{require: [adminMac]}");
  auto sriov = world.in.policies->sriov;
  world.policies(PolicyType::kExposure, "{require: []}");
  world.in.policies =
      std::make_shared<const PolicySet>(make_policy_set(sriov, {}, world.in.policies->exposures));
  world.host.at(kVf).enforced->mac = "00:00:00:00:00:00";
  const Decision decision = world.decide();
  EXPECT_EQ(decision.verdicts.at(kVf).outcome, Outcome::kNotReady);
  EXPECT_EQ(decision.personas.at(kVf).at(0).outcome, Outcome::kConflict);
}

// Time.

TEST(Readiness, AnAdditionWaitsForItsMinimumReadyTime) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{require: [adminMac], stableFor: 2s}");
    world.in.tracks[kVf] =
        track_of({*world.inventory()->find(kVf), *world.inventory(), world.state}, TimePoint(10s));
    world.in.now = TimePoint(11999ms);
    const Decision early = world.decide();
    EXPECT_EQ(early.due, TimePoint(12s));
    const Explanation told = explain(early, kVf);
    fixture::expect_golden(told.summary);
    world.in.now = TimePoint(12s);
    const Decision late = world.decide();
    EXPECT_EQ(explain(late, kVf).outcome, "offered");
    EXPECT_EQ(late.due, std::nullopt);
  }
}

struct Offered : Deciding {
  // Offered at that time, and ready since then.
  Offered(PolicyType kind, const std::string& readiness, TimePoint offered, TimePoint since) {
    policies(kind, readiness);
    in.now = offered;
    in.before = std::make_shared<const DesiredPools>(decide().pools);
    in.before_at = offered;
    in.tracks[kVf] = track_of({*inventory()->find(kVf), *inventory(), state}, since);
    in.now = TimePoint(100s);
  }
  void lose(TimePoint at) {
    host.at(kVf).enforced->mac = "00:00:00:00:00:00";
    in.tracks[kVf].met.reset(static_cast<size_t>(Condition::kAdminMac));
    in.tracks[kVf].since[static_cast<size_t>(Condition::kAdminMac)] = at;
  }
};

TEST(Readiness, APublishedEntryDoesNotWait) {
  for (const PolicyType kind : kBoth) {
    Offered world(kind, "{require: [adminMac], stableFor: 1h}", TimePoint(90s), TimePoint(80s));
    EXPECT_EQ(world.said().substr(0, 9), "offered: ")
        << "a policy that asks for more time takes nothing back";
    Offered lost(kind, "{require: [adminMac], stableFor: 1h}", TimePoint(90s), TimePoint(95s));
    EXPECT_EQ(lost.said().substr(0, 11), "not-ready: ") << "it was lost since it was offered, unseen";
  }
}

TEST(Readiness, AppliesTheActionAfterALoss) {
  for (const PolicyType kind : kBoth) {
    Offered withdrawn(kind, "{require: [adminMac]}", TimePoint(90s), TimePoint(80s));
    withdrawn.lose(TimePoint(97s));
    fixture::expect_golden(withdrawn.said());

    Offered kept(kind, "{require: [adminMac], onLoss: keep}", TimePoint(90s), TimePoint(80s));
    kept.lose(TimePoint(97s));
    EXPECT_EQ(kept.said().substr(0, 9), "offered: ");
    EXPECT_NE(
        kept.said().find(", although it is not ready (onLoss: keep): adminMac: VF 0 of ens1f0 has admin MAC "
                         "00:00:00:00:00:00"),
        std::string::npos)
        << kept.said();
    kept.in.tracks[kVf].born = TimePoint(95s);
    EXPECT_EQ(kept.said().substr(0, 11), "not-ready: ") << "it is another one now";

    Offered tainted(kind, "{require: [adminMac], onLoss: taint}", TimePoint(90s), TimePoint(80s));
    const auto taints = [&] {
      std::vector<kube::Taint> out;
      for (const auto& [driver, pools] : tainted.decide().pools)
        for (const DesiredPool& pool : pools)
          for (const kube::DevicePtr& device : pool.devices)
            out.insert(out.end(), device->taints.begin(), device->taints.end());
      return out;
    };
    EXPECT_TRUE(taints().empty());
    tainted.lose(TimePoint(97s));
    const std::string driver =
        kind == PolicyType::kSriov ? "sriovnetwork.k8snetworkplumbingwg.io" : "dra.networking";
    EXPECT_EQ(taints(), (std::vector<kube::Taint>{{driver + "/not-ready", "adminMac", "NoSchedule"}}));
    EXPECT_NE(
        tainted.said().find(", with taint " + driver +
                            "/not-ready=adminMac:NoSchedule, so that new claims need a toleration (onLoss: "
                            "taint): adminMac: VF 0 of ens1f0 has admin MAC"),
        std::string::npos)
        << tainted.said();
    const auto pools = tainted.decide().pools;
    for (const auto& [name, all] : pools)
      for (const DesiredPool& pool : all)
        for (const kube::DevicePtr& device : pool.devices)
          tainted.in.quarantine.sriov[device->name] =
              tainted.in.quarantine.exposure[device->name] = {content_hash(*device), "it dropped a field"};
    EXPECT_TRUE(taints().empty());
    fixture::expect_golden(tainted.said());
    tainted.in.quarantine = {};
    tainted.in.before.reset();
    EXPECT_TRUE(taints().empty()) << "what was not offered before is held back";
  }
}

// The link of a PF goes down. Red when the action for other losses is applied, when the taint has another
// effect than its policy sets, or when a prepare is refused for a taint without effect.
TEST(Readiness, AppliesTheActionAfterALinkGoesDown) {
  const auto lose = [](Offered& world, Condition condition) {
    world.in.tracks[kVf].met.reset(static_cast<size_t>(condition));
    world.in.tracks[kVf].since[static_cast<size_t>(condition)] = TimePoint(97s);
    if (condition == Condition::kCarrier)
      world.host.at(kPf).netdev->oper_state = "down";
    else
      world.host.at(kVf).enforced->mac = "00:00:00:00:00:00";
  };
  const auto taints = [](Offered& world) {
    std::vector<std::string> out;
    for (const auto& [driver, pools] : world.decide().pools)
      for (const DesiredPool& pool : pools)
        for (const kube::DevicePtr& device : pool.devices)
          for (const kube::Taint& taint : device->taints) {
            EXPECT_EQ(taint.key, driver + "/not-ready");
            out.push_back(taint.value + ":" + taint.effect);
          }
    return out;
  };
  for (const PolicyType kind : kBoth)
    for (const std::string effect : {"NoSchedule", "NoExecute", "None"}) {
      SCOPED_TRACE(effect);
      const std::string readiness =
          "{require: [adminMac], onLinkDown: taint, stableFor: 2s, taintEffect: " + effect + "}";
      Offered world(kind, readiness, TimePoint(90s), TimePoint(80s));
      EXPECT_TRUE(taints(world).empty());
      EXPECT_EQ(world.said().substr(0, 9), "offered: ");
      lose(world, Condition::kCarrier);
      EXPECT_EQ(taints(world), std::vector<std::string>{"carrier:" + effect});
      EXPECT_NE(world.said().find("(onLinkDown: taint): carrier: "), std::string::npos) << world.said();
      const std::string refused =
          unreadiness(world.in, *world.inventory()->find(kVf), decode(readiness), true);
      EXPECT_EQ(refused.empty(), effect == "None") << refused;
      lose(world, Condition::kAdminMac);
      EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << "onLoss is withdraw";

      Offered back(kind, readiness, TimePoint(90s), TimePoint(80s));
      back.in.tracks[kVf].since[static_cast<size_t>(Condition::kCarrier)] = TimePoint(95s);
      EXPECT_EQ(back.said().substr(0, 9), "offered: ") << "the link was down and is up: " << back.said();
    }
  Offered kept(PolicyType::kSriov, "{require: [], onLoss: taint, onLinkDown: keep}", TimePoint(90s),
               TimePoint(80s));
  lose(kept, Condition::kCarrier);
  EXPECT_TRUE(taints(kept).empty());
  EXPECT_NE(kept.said().find("although it is not ready (onLinkDown: keep): carrier: "), std::string::npos)
      << kept.said();
}

// Red when an entry has no binding conditions although its policy holds pods, when they change with its readiness, or when they are sent to
// a server that drops them.
TEST(Readiness, PodsWaitByConditionsOfTheEntry) {
  const auto conditions = [](Offered& world) {
    std::string out;
    for (const auto& [driver, pools] : world.decide().pools)
      for (const DesiredPool& pool : pools)
        for (const kube::DevicePtr& device : pool.devices) {
          for (const std::string& one : device->binding_conditions)
            out += one == ready_condition(driver) ? "ready " : one;
          for (const std::string& one : device->binding_failure_conditions)
            out += one == lost_condition(driver) ? "lost " : one;
        }
    return out;
  };
  for (const PolicyType kind : kBoth) {
    const std::string readiness = "{require: [adminMac], onLoss: taint, holdBinding: true}";
    Offered world(kind, readiness, TimePoint(90s), TimePoint(80s));
    EXPECT_EQ(conditions(world), "");
    EXPECT_NE(world.said().find("; without a binding condition (holdBinding), since "), std::string::npos)
        << world.said();
    world.in.settings.binding_conditions = true;
    EXPECT_EQ(conditions(world), "ready lost ");
    EXPECT_NE(
        world.said().find("; pods are bound to the node when it is confirmed to be ready (holdBinding)"),
        std::string::npos)
        << world.said();
    world.in.before = std::make_shared<const DesiredPools>(world.decide().pools);
    world.lose(TimePoint(97s));
    EXPECT_EQ(conditions(world), "ready lost ");
    Offered other(kind, "{require: [adminMac]}", TimePoint(90s), TimePoint(80s));
    other.in.settings.binding_conditions = true;
    EXPECT_EQ(conditions(other), "");
    other.in.settings.readiness = decode("{holdBinding: true}");
    EXPECT_EQ(conditions(other), "ready lost ") << "the daemon's default";
  }
}

// Red when stableFor withdraws an entry that was kept during a loss, after the loss has ended.
TEST(Readiness, AKeptEntryThatIsReadyAgainStays) {
  for (const PolicyType kind : kBoth)
    for (const std::string on_loss : {"keep", "taint", "withdraw"}) {
      Offered world(kind, "{require: [adminMac], stableFor: 60s, onLoss: " + on_loss + "}", TimePoint(90s),
                    TimePoint(10s));
      world.in.tracks[kVf].since[static_cast<size_t>(Condition::kAdminMac)] = TimePoint(95s);
      EXPECT_EQ(world.said().substr(0, 3), on_loss == "withdraw" ? "not" : "off") << world.said();
      world.in.tracks[kVf].born = TimePoint(95s);
      EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << "it is another one now";
      world.in.tracks[kVf].born = TimePoint(10s);
      world.in.before = std::make_shared<const DesiredPools>();
      EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << "it does not stand";
    }
}

TEST(Readiness, UdevWithdrawsNothing) {
  for (const PolicyType kind : kBoth) {
    Offered world(kind, "{require: [udevInitialized], stableFor: 5s}", TimePoint(90s), TimePoint(80s));
    world.host.at(kVf).netdev->is_initialized = false;
    world.in.tracks[kVf].met.reset(static_cast<size_t>(Condition::kUdevInitialized));
    world.in.tracks[kVf].since[static_cast<size_t>(Condition::kUdevInitialized)] = TimePoint(95s);
    EXPECT_EQ(world.said().substr(0, 9), "offered: ");
    world.in.tracks[kVf].met.set(static_cast<size_t>(Condition::kUdevInitialized));
    world.in.tracks[kVf].since[static_cast<size_t>(Condition::kUdevInitialized)] = TimePoint(99s);
    EXPECT_EQ(world.said().substr(0, 9), "offered: ");
    world.in.tracks[kVf].born = TimePoint(95s);
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << "it is another one now";
  }
}

TEST(Readiness, KeepsPublishedEntriesAtTheStart) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{require: [adminMac], onLoss: keep}");
    world.host.at(kVf).enforced->mac = "00:00:00:00:00:00";
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ");
    world.in.published.sriov = {"0000-3b-00-1"};
    world.in.published.exposure = {"0000-3b-00-1-x"};
    EXPECT_EQ(world.said().substr(0, 9), "offered: ");
  }
}

// Nobody can tell what it has, and another entry of it stood when the daemon began. Red when that one's word counts for
// all that is offered of the device.
TEST(Readiness, APublishedEntryCountsOnlyForItself) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{require: [adminMac], onLoss: keep}");
    world.host.at(kVf).enforced.reset();
    ReadinessBook book;
    book.begin(world.inventory(), world.state, {kVf}, false, TimePoint(90s));
    world.in.tracks = book.now();
    world.in.now = TimePoint(100s);
    world.in.published.sriov = world.in.published.exposure = {"0000-3b-00-1-other"};
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << world.said();
    world.in.published.sriov = {"0000-3b-00-1"};
    world.in.published.exposure = {"0000-3b-00-1-x"};
    EXPECT_EQ(world.said().substr(0, 9), "offered: ") << world.said();
    world.in.before = std::make_shared<const DesiredPools>(world.decide().pools);
    world.in.before_at = world.in.now;
    world.in.now += 10s;
    world.in.published = {};
    EXPECT_EQ(world.said().substr(0, 9), "offered: ") << world.said();
    world.in.before = std::make_shared<const DesiredPools>();
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << world.said();
  }
}

// stableFor begins with the daemon. Red when a new entry does not wait for it; a published entry does not wait.
TEST(Readiness, ANewEntryOfAPublishedDeviceIsReadySinceTheStart) {
  for (const PolicyType kind : kBoth) {
    Deciding world;
    world.policies(kind, "{require: [adminMac], stableFor: 5s}");
    ReadinessBook book;
    book.begin(world.inventory(), world.state, {kVf}, false, TimePoint(90s));
    world.in.tracks = book.now();
    world.in.now = TimePoint(94s);
    EXPECT_EQ(world.said().substr(0, 11), "not-ready: ") << world.said();
    EXPECT_EQ(world.decide().due, TimePoint(95s));
    world.in.now = TimePoint(95s);
    EXPECT_EQ(world.said().substr(0, 9), "offered: ") << world.said();
  }
}

TEST(Readiness, RefusesPrepareUnlessThePolicyKeepsIt) {
  Deciding world;
  world.in.inventory = world.inventory();
  const auto unready = [&](const char* readiness) {
    world.in.inventory = world.inventory();
    world.in.node_state = world.state;
    return unreadiness(world.in, *world.in.inventory->find(kVf), decode(readiness), true);
  };
  EXPECT_EQ(unready("{require: [adminMac]}"), "");
  world.host.at(kVf).enforced->mac = "00:00:00:00:00:00";
  EXPECT_EQ(unready("{require: [adminMac]}"), "adminMac: VF 0 of ens1f0 has admin MAC 00:00:00:00:00:00");
  EXPECT_NE(unready("{require: [adminMac], onLoss: taint}"), "");
  EXPECT_EQ(unready("{require: [adminMac], onLoss: keep}"), "");
}

}  // namespace
}  // namespace readiness_test
}  // namespace sliced::policy
