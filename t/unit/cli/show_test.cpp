#include "cli/show.h"

#include <gtest/gtest.h>

#include "daemon/status/verdict_table.h"
#include "kube/objects/yaml.h"
#include "policy/decide.h"

namespace sliced::cli {
namespace {

kube::ResourceSlice slice(const std::string& name, int64_t slots, int64_t macvlans, const std::string& mode) {
  kube::ResourceSlice out;
  out.meta.name = name;
  if (slots > 0) {
    out.shared_counters = {{"pf", {{"exclusion-slots", kube::Quantity(slots)}}}};
    return out;
  }
  kube::Device device;
  device.name = "d";
  device.attributes.insert_or_assign("dra.networking/eswitchMode", mode);
  device.capacity["dra.networking/macvlans"] = {kube::Quantity(macvlans),
                                                kube::RequestPolicy{.default_ = kube::Quantity(1)}};
  device.consumes_counters = {{"pf", {{"exclusion-slots", kube::Quantity(macvlans / 8)}}}};
  out.devices = {device};
  return out;
}

// Red when the difference that is shown before publishing omits a change: a capacity, or a counter that
// determines which devices may be allocated together.
TEST(Show, TheDifferenceNamesEveryValueThatChanges) {
  const publishers::ObservedSlices observed = {{"a", slice("a", 9, 0, "")},
                                               {"b", slice("b", 0, 64, "legacy")}};
  publishers::SliceChanges plan;
  plan.updates = {slice("a", 8, 0, ""), slice("b", 0, 32, "switchdev")};
  plan.creates = {slice("c", 5, 0, "")};
  EXPECT_EQ(plan_diff(plan, observed),
            "update a\n"
            "  ~ sharedCounters.pf.counters.exclusion-slots.value: 9 -> 8\n"
            "update b\n"
            "  ~ d capacity.dra.networking/macvlans.value: 64 -> 32\n"
            "  ~ d consumesCounters.pf.counters.exclusion-slots.value: 8 -> 4\n"
            "  ~ d dra.networking/eswitchMode: \"legacy\" -> \"switchdev\"\n"
            "create c\n"
            "  ~ sharedCounters.pf.counters.exclusion-slots.value: absent -> 5\n");
}

// Red when a user cannot see which interface of a switch is the uplink, and which one a representor.
TEST(Show, TheFlavourOfEachPortIsShown) {
  hotplug::Inventory host;
  const auto add = [&](const char* name, const char* flavour, const char* switch_id, const char* state) {
    hotplug::HostDevice& device = host.devices[name];
    device.id.text = name;
    device.netdev = hotplug::Netdev{
        .name = name, .oper_state = state, .phys_switch_id = switch_id, .port_flavour = flavour};
  };
  add("a", "physical", "0a0b", "up");
  add("b", "pcipf", "0a0b", "down");
  add("c", "pcivf", "0a0b", "up");
  add("d", "pcisf", "0a0b", "");
  add("e", "physical", "", "up");
  EXPECT_EQ(devices_table(host),
            "DEVICE  TYPE     INTERFACE  DRIVER  NUMA  PF  STATE\n"
            "a       virtual  a          -       -     -   up, uplink\n"
            "b       virtual  b          -       -     -   down, PF representor\n"
            "c       virtual  c          -       -     -   up, VF representor\n"
            "d       virtual  d          -       -     -   SF representor\n"
            "e       virtual  e          -       -     -   up\n");
  EXPECT_EQ(json_of(*host.find("c")).find({"netdev", "portFlavour"})->string()[0], "pcivf");
}

TEST(Show, AllVdpaDevicesAreShown) {
  hotplug::HostDevice device;
  device.vdpa = {"vdpa0", "vhost", "/dev/vhost-vdpa-0"};
  device.other_vdpas = {{"vdpa1", "", ""}};
  const kube::Json shown = json_of(device);
  EXPECT_EQ(shown.text("vdpaNode"), "/dev/vhost-vdpa-0");
  EXPECT_EQ(kube::encode_json(*shown.find("otherVdpaDevices")), R"([{"vdpaDevice":"vdpa1"}])");
}

TEST(Show, ASharedIommuGroupIsExplained) {
  policy::Explanation explanation{.device = "0000:02:00.1", .outcome = "offered", .summary = "offered as x"};
  explanation.iommu_problem = "shares IOMMU group 75 with 0000:02:00.0";
  EXPECT_EQ(status::explanation_text(explanation),
            "0000:02:00.1: offered as x\n  shares IOMMU group 75 with 0000:02:00.0\n");
  EXPECT_EQ(status::json_of(explanation).text("iommuGroupProblem"), explanation.iommu_problem);
}

TEST(Show, TheTableOfVerdictsCountsOfferedDevices) {
  hotplug::Inventory host;
  for (int i = 0; i < 3; ++i) {
    const hotplug::PciAddress address{0, 3, 2, static_cast<uint8_t>(i)};
    host.devices[address.text()] = {.id = {address.text()},
                                    .type = hotplug::DeviceType::kVf,
                                    .pci = address,
                                    .vendor = i == 0 ? "15b3" : "8086"};
  }
  auto in = std::make_shared<policy::Inputs>();
  in->inventory = std::make_shared<const hotplug::Inventory>(host);
  in->policies = std::make_shared<const policy::PolicySet>(policy::make_policy_set(
      policy::share(std::vector{policy::decode_sriov_policy(
          kube::decode_yaml("metadata: {name: p, namespace: ns}\n"
                            "spec: {configs: [{resourceFilters: [{vendors: ['8086']}]}]}")
              .documents.at(0))}),
      {}));
  in->node.name = "n1";
  const status::VerdictsTable shown = status::verdicts_table(policy::decide(in));
  EXPECT_EQ(shown.offered, 2u);
  size_t yes = 0;
  for (size_t at = shown.text.find(" yes "); at != std::string::npos; at = shown.text.find(" yes ", at + 1))
    ++yes;
  EXPECT_EQ(yes, 2u) << shown.text;
}

// Red when a node with hundreds of VFs prints them all because one has changed, or when a VF that is removed goes unseen.
TEST(Show, LaterTablesHaveTheRowsThatChanged) {
  const std::string first =
      "DEVICE        TYPE  OFFERED  WHY\n"
      "0000:03:00.2  vf    yes      offered as a\n"
      "0000:03:00.3  vf    yes      offered as b\n"
      "0000:03:00.4  vf    yes      offered as c\n";
  const std::string second =
      "DEVICE        TYPE     OFFERED  WHY\n"
      "0000:03:00.2  vf       yes      offered as a\n"
      "0000:03:00.3  vf       no       no filter matches\n"
      "br0           virtual  no       no filter matches\n";
  EXPECT_EQ(status::changed_rows("", first), first);
  EXPECT_EQ(status::changed_rows(first, second),
            "0000:03:00.3  vf       no       no filter matches\n"
            "br0           virtual  no       no filter matches\n"
            "0000:03:00.4  gone\n");
}

}  // namespace
}  // namespace sliced::cli
