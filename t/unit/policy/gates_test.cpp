#include "policy/gates/gates.h"

#include <gtest/gtest.h>

#include <set>

#include "policy/entry_validation.h"

namespace sliced::policy {
namespace gates_test {

// What is not a gate's is the word of the policies, or comes of what else is offered.
const std::set<Outcome> kOfPolicies = {
    Outcome::kOffered,       Outcome::kNotAVf,     Outcome::kNoPolicy,
    Outcome::kNoMatch,       Outcome::kExcluded,   Outcome::kExcludeUnknown,
    Outcome::kExposeUnknown, Outcome::kNoCounters, Outcome::kMatchUnknown};

TEST(Gates, EachOutcomeBelongsToOneGateOrPolicy) {
  std::set<std::string_view> names;
  for (const GateKind& gate : all_gates()) {
    EXPECT_TRUE(names.insert(gate.name).second) << gate.name;
    for (const Outcome outcome : gate.outcomes) EXPECT_EQ(gate_of(outcome), &gate) << name_of(outcome);
  }
  for (const Outcome outcome : all_outcomes()) {
    EXPECT_NE(name_of(outcome), "");
    EXPECT_NE(describe(outcome), "") << name_of(outcome);
    EXPECT_EQ(gate_of(outcome) == nullptr, kOfPolicies.contains(outcome)) << name_of(outcome);
  }
}

struct World {
  hotplug::HostDevice vf{
      .id = {"0000:03:00.2"}, .type = hotplug::DeviceType::kVf, .pci = hotplug::PciAddress{0, 3, 0, 2}};
  std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();
  Inputs in;
  PoolNames names{"n1"};
  std::string entry = "0000-03-00-2", pool = "n1/net";
  Draft draft;
  int drafts = 0, unreadable = -1;
  PolicyType kind = PolicyType::kExposure;
  bool is_exclusive = true;
  std::string group, base;
  bool is_moved = false;

  World() {
    inventory->devices[vf.id.text] = vf;
    in.policies = std::make_shared<const PolicySet>();
    in.node.name = "n1";
  }
  std::string said() {
    in.inventory = inventory;
    DecisionContext now{.in = in, .pools = names, .unreadable_exclude = unreadable};
    const Gates gates(now);
    const EntryCandidate offer{kind,
                               vf,
                               entry,
                               pool,
                               is_exclusive,
                               HostUseAllowance{},
                               [this]() -> const Draft& {
                                 ++drafts;
                                 return draft;
                               },
                               demand_of({}, in.settings.readiness),
                               group,
                               is_moved,
                               base};
    const auto no = gates.ask(offer);
    return no ? std::string(name_of(no->outcome)) : "";
  }
};

// Reasons are added from the last to the first: each hides those behind it.
TEST(Gates, TheFirstRejectionDecides) {
  World world;
  EXPECT_EQ(world.said(), "");
  EXPECT_EQ(world.drafts, 1);
  world.draft.refusal = "name is too long";
  EXPECT_EQ(world.said(), "refused");
  world.in.settings.readiness.mtu_at_least = 9000;
  EXPECT_EQ(world.said(), "not-ready");
  world.in.settling = {world.vf.id.text};
  EXPECT_EQ(world.said(), "settling");
  world.in.unconfigured.why = "f: there is no such file";
  EXPECT_EQ(world.said(), "unconfigured");
  world.in.holdings["n1/net"] = {{.entry = world.entry, .device = world.vf.id.text, .is_exclusive = false}};
  EXPECT_EQ(world.said(), "reserved");
  world.in.sriov_holdings = {world.entry};
  EXPECT_EQ(world.said(), "held-by-other-driver");
  world.unreadable = 0;
  EXPECT_EQ(world.said(), "exclude-unreadable");
  world.is_moved = true;
  world.vf.type = hotplug::DeviceType::kBond;
  EXPECT_EQ(world.said(), "immovable");
  world.vf.host_use = "enslaved to br0";
  EXPECT_EQ(world.said(), "in-use-by-host");
  world.in.not_returned = {
      {.holding = {.entry = world.entry, .device = world.vf.id.text}, .pf = "", .why = "w"}};
  EXPECT_EQ(world.said(), "not-returned");
  world.vf.broken = "its name is not UTF-8";
  EXPECT_EQ(world.said(), "unreadable");
  EXPECT_EQ(world.drafts, 2) << "an entry is made only where all else lets it pass";
}

// What the kernel refuses with "netns is immutable". Red when a pod gets a claim that fails at ADD for ever.
TEST(Gates, OffersImmovableInterfacesForNoMovingPlugin) {
  using Type = hotplug::DeviceType;
  for (const Type type :
       {Type::kPf, Type::kVf, Type::kNic, Type::kBridge, Type::kVlan, Type::kBond, Type::kVirtual})
    for (const char* mode : {"", "legacy", "switchdev"})
      for (const bool is_moved : {false, true}) {
        World world;
        world.vf.type = type;
        world.vf.eswitch_mode = mode;
        world.is_moved = is_moved;
        const bool is_uplink = type == Type::kPf && std::string_view(mode) == "switchdev";
        const bool is_held = is_moved && (type == Type::kBond || type == Type::kBridge || is_uplink);
        EXPECT_EQ(world.said(), is_held ? "immovable" : "") << name_of(type) << " " << mode;
      }
}

// The kernel reports it since Linux 6.15: its answer decides, whatever the type.
TEST(Gates, TheKernelReportsWhetherAnInterfaceMoves) {
  using Type = hotplug::DeviceType;
  for (const Type type : {Type::kPf, Type::kVf, Type::kBond, Type::kVirtual})
    for (const bool is_immutable : {false, true}) {
      World world;
      world.vf.type = type;
      world.vf.netdev.emplace().is_netns_immutable = is_immutable;
      world.is_moved = true;
      EXPECT_EQ(world.said(), is_immutable ? "immovable" : "") << name_of(type);
      world.is_moved = false;
      EXPECT_EQ(world.said(), "") << name_of(type);
    }
}

TEST(Gates, BothTypesUseTheSameGates) {
  for (const PolicyType kind : {PolicyType::kSriov, PolicyType::kExposure}) {
    World world;
    world.kind = kind;
    EXPECT_EQ(world.said(), "");
    (kind == PolicyType::kSriov ? world.in.quarantine.sriov : world.in.quarantine.exposure)[""] = {
        content_hash(*world.draft.entry), "refused before"};
    EXPECT_EQ(world.said(), "refused");
    world.in.settings.readiness.mtu_at_least = 9000;
    EXPECT_EQ(world.said(), "not-ready");
    world.in.settling = {world.vf.id.text};
    EXPECT_EQ(world.said(), "settling");
    world.unreadable = 0;
    EXPECT_EQ(world.said(), "exclude-unreadable");
  }
}

// Red when an entry of this boot is withdrawn, or when the name of the other kind's entry counts.
TEST(Gates, PassesOnlyEntriesOfThisBootBeforeTheNodeIsConfigured) {
  for (const PolicyType kind : {PolicyType::kSriov, PolicyType::kExposure}) {
    World world;
    world.kind = kind;
    auto& now = world.in.unconfigured;
    now.sriov = now.exposure = {world.entry};
    EXPECT_EQ(world.said(), "");
    now.why = "f: there is no such file";
    EXPECT_EQ(world.said(), "");
    (kind == PolicyType::kSriov ? now.sriov : now.exposure).clear();
    EXPECT_EQ(world.said(), "unconfigured");
  }
}

TEST(Gates, SharedEntriesNeedServerSupport) {
  World world;
  world.is_exclusive = false;
  world.vf.host_use = "enslaved to br0";
  EXPECT_EQ(world.said(), "") << "the host may go on using it";
  world.in.settings.shared_devices = false;
  EXPECT_EQ(world.said(), "no-sharing");
}

// Red when a device that prepare would refuse is offered, or one that it would prepare is withheld.
TEST(Gates, HoldsBackADependentOfAnUnreturnedDevice) {
  World world;
  world.vf.pf = hotplug::PciAddress{0, 3, 0, 0};
  const auto held = [&](Holding holding, const std::string& pf = "0000:03:00.0") {
    world.in.not_returned = {{.holding = std::move(holding), .pf = pf, .why = "w"}};
    return world.said();
  };
  const std::string own = world.vf.id.text;
  EXPECT_EQ(held({.entry = "0000-03-00-2", .device = own}), "not-returned");
  EXPECT_EQ(held({.entry = "0000-03-00-3", .device = "0000:03:00.3"}), "") << "another VF";
  EXPECT_EQ(held({.entry = "0000-03-00-0", .device = "0000:03:00.0"}), "not-returned") << "its PF as a whole";
  EXPECT_EQ(held({.entry = "0000-03-00-0-macvlan", .device = "0000:03:00.0", .is_exclusive = false}), "")
      << "a share of its PF";
  EXPECT_EQ(held({.entry = "0000-03-00-2-macvlan", .device = own, .is_exclusive = false}), "not-returned")
      << "a share of it, and the offer is exclusive";
  world.is_exclusive = false;
  world.entry = "0000-03-00-2-macvlan";
  EXPECT_EQ(held({.entry = world.entry, .device = own, .is_exclusive = false, .group = "g"}), "")
      << "shares of one entry stand beside each other";
  EXPECT_EQ(held({.entry = "0000-03-00-2-other", .device = own, .is_exclusive = false, .group = "g"}), "");
  world.group = "g";
  EXPECT_EQ(held({.entry = "0000-03-00-2-other", .device = own, .is_exclusive = false, .group = "g"}),
            "not-returned");
  // The PF as a whole needs each of its VFs.
  world.vf = {
      .id = {"0000:03:00.0"}, .type = hotplug::DeviceType::kPf, .pci = hotplug::PciAddress{0, 3, 0, 0}};
  world.is_exclusive = true, world.entry = "0000-03-00-0", world.group = "";
  EXPECT_EQ(held({.entry = "0000-03-00-2", .device = own}), "not-returned");
  EXPECT_EQ(held({.entry = "0000-04-00-2", .device = "0000:04:00.2"}, "0000:04:00.0"), "");
}

// The checkpoint is lost, and a claim is known from its CDI spec alone. Red when a link is offered that prepare refuses.
TEST(Gates, HoldsBackLinksOfAClaimKnownByItsCdiSpec) {
  World world;
  world.vf = {.id = {"br0"}, .type = hotplug::DeviceType::kBridge};
  const auto held = [&](const std::string& base, const std::string& suffix, bool is_exclusive,
                        const std::string& group) {
    world.vf.id.text = base;
    world.base = base, world.entry = base + suffix, world.is_exclusive = is_exclusive, world.group = group;
    return world.said();
  };
  const auto restored = [&](const std::string& entry, bool is_exclusive) {
    world.in.not_returned = {
        {.holding = {entry, entry, entry, is_exclusive, std::string(kAnyGroup)}, .pf = "", .why = "w"}};
  };
  restored("br0-whole", true);
  EXPECT_EQ(held("br0", "-whole", true, ""), "not-returned");
  EXPECT_EQ(held("br0", "-macvlan", false, ""), "not-returned");
  EXPECT_EQ(held("br01", "-whole", true, ""), "") << "another link";
  EXPECT_EQ(held("br", "-whole", true, ""), "");
  restored("br0-macvlan", false);
  EXPECT_EQ(held("br0", "-whole", true, ""), "not-returned");
  EXPECT_EQ(held("br0", "-macvlan", false, ""), "") << "shares of one entry";
  EXPECT_EQ(held("br0", "-ipvlan", false, ""), "");
  EXPECT_EQ(held("br0", "-ipvlan", false, "g"), "not-returned") << "its group is unknown";
}

// Of a device that no claim has, whose original settings are not restored (kubelet's unrestored_of()): its entry has no name there.
TEST(Gates, HoldsBackADependentOfAnUnrestoredDevice) {
  World world;
  const std::string own = world.vf.id.text, pf = "0000:03:00.0";
  world.vf.pf = hotplug::PciAddress{0, 3, 0, 0};
  const auto held = [&](const std::string& device, const std::string& its_pf) {
    world.in.not_returned = {{.holding = {.entry = device, .device = device}, .pf = its_pf, .why = "w"}};
    return world.said();
  };
  for (const bool is_exclusive : {true, false}) {
    world.is_exclusive = is_exclusive;
    EXPECT_EQ(held(own, ""), "not-returned");
    EXPECT_EQ(held(pf, pf), "not-returned") << "a VF of a PF that waits with settings of its VFs";
    EXPECT_EQ(held(pf, ""), "") << "of one that has none of VFs";
    EXPECT_EQ(held("0000:03:00.3", pf), "") << "another VF";
    EXPECT_EQ(held("0000:04:00.0", "0000:04:00.0"), "") << "another PF";
  }
  world.vf = {.id = {pf}, .type = hotplug::DeviceType::kPf, .pci = hotplug::PciAddress{0, 3, 0, 0}};
  world.is_exclusive = true;
  EXPECT_EQ(held(own, pf), "not-returned") << "the PF as a whole";
  EXPECT_EQ(held(own, ""), "");
  world.is_exclusive = false;
  EXPECT_EQ(held(own, pf), "") << "a share of the PF";
}

}  // namespace gates_test
}  // namespace sliced::policy
