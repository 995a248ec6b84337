#include "daemon/reports/fill_report.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "t/fixture/vf_host.h"

namespace sliced::reports {
namespace fill_report_test {

using fixture::VfHost;

constexpr const char *kPf = "0000:3b:00.0", *kOther = "0000:5e:00.0";

std::string sriov(const std::string& name, const std::string& spec) {
  return "kind: SriovResourcePolicy\nmetadata: {name: " + name +
         ", namespace: ns, generation: 2}\nspec: " + spec;
}
std::string exposure(const std::string& name, const std::string& spec) {
  return "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: " + name +
         ", generation: 5}\nspec: " + spec;
}

NodeReport told(const VfHost& host, const std::vector<std::string>& objects,
                const std::function<void(policy::Inputs&)>& edit = {}) {
  std::vector<policy::SriovPolicy> sriovs;
  std::vector<policy::ExposurePolicy> exposures;
  for (const std::string& text : objects) {
    const kube::Json object = kube::decode_yaml(text).documents.at(0);
    if (object.text("kind") == "SriovResourcePolicy")
      sriovs.push_back(policy::decode_sriov_policy(object));
    else
      exposures.push_back(policy::decode_exposure_policy(object));
  }
  auto in = std::make_shared<policy::Inputs>();
  in->inventory = host.inventory();
  in->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(sriovs)), {}, policy::share(std::move(exposures))));
  in->node.name = "a";
  if (edit) edit(*in);
  NodeReport out{.node = "a"};
  fill_report(policy::decide(in), out);
  return out;
}

const DeviceGroup* group_of(const NodeReport& report, const std::string& vfs, const std::string& pf = kPf) {
  for (const DeviceGroup& group : report.groups)
    if (text_of(group.vfs) == vfs && group.pf == pf) return &group;
  return nullptr;
}
const PolicyReport& policy_of(const NodeReport& report, const std::string& name) {
  for (const PolicyReport& policy : report.policies)
    if (policy.policy.name == name) return policy;
  static const PolicyReport kNone;
  ADD_FAILURE() << "no policy " << name;
  return kNone;
}

TEST(TellDecision, CountsMatchedAndOfferedDevicesPerPolicy) {
  VfHost host;
  host.pf(kPf, "ens1f0", 8).pf(kOther, "ens2f0", 4);
  host.at(VfHost::vf_address(kPf, 3)).host_use = "enslaved to br0";
  const NodeReport report = told(
      host,
      {sriov("all", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-5']}]}]}"),
       sriov("elsewhere", "{nodeSelector: {a: b}, configs: [{}]}"),
       sriov("broken", "{nonsense: 1, configs: [{}]}"),
       exposure("hide",
                "{action: exclude, selector: {cel: 'device.attributes[\"dra.networking\"].vfIndex == 5'}}")});
  EXPECT_EQ(report.devices, 14);
  EXPECT_EQ(report.offered, 4);
  EXPECT_EQ(report.held_back, 1);
  EXPECT_EQ(report.hidden, 1);
  EXPECT_EQ(report.unmatched, 8);
  EXPECT_EQ(report.policies.size(), 3u) << "one of them does not select this node";
  const PolicyReport& all = policy_of(report, "all");
  EXPECT_EQ(all.matched, 5);
  EXPECT_EQ(all.offered, 4);
  EXPECT_EQ(all.generation, 2);
  EXPECT_EQ(all.hidden, (Counts{{"in-use-by-host", 1}}));
  EXPECT_NE(policy_of(report, "broken").problem.find("spec.nonsense"), std::string::npos);
  EXPECT_EQ(policy_of(report, "hide").action, "exclude");
  EXPECT_EQ(policy_of(report, "hide").hidden, (Counts{{"excluded", 1}}));
}

TEST(TellDecision, DoesNotCountPossibleMatches) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  host.at(kPf).netdev.reset();
  for (int i = 0; i < 2; ++i) {
    host.at(VfHost::vf_address(kPf, i)).pf_name.clear();
    host.at(VfHost::vf_address(kPf, i)).pf_link_type.reset();
  }
  const NodeReport report =
      told(host, {sriov("a", "{configs: [{resourceName: x, resourceFilters: [{pfNames: [ens9]}]}]}"),
                  sriov("b", "{configs: [{resourceName: y}]}")});
  EXPECT_EQ(report.held_back, 2);
  EXPECT_EQ(policy_of(report, "a").matched, 0);
  EXPECT_EQ(policy_of(report, "b").matched, 0);
  EXPECT_EQ(policy_of(report, "b").overruled, 0);
  const DeviceGroup* group = group_of(report, "0-1");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->verdicts,
            (std::vector<PolicyVerdict>{{{"SriovResourcePolicy", "ns", "a"}, "match-unknown", ""}}))
      << "whose word is missing";
}

TEST(TellDecision, GroupsVfsOfOnePfAndVerdict) {
  VfHost host;
  host.pf(kPf, "ens1f0", 64);
  host.at(VfHost::vf_address(kPf, 9)).host_use = "enslaved to br0";
  host.at(VfHost::vf_address(kPf, 20)).driver = "vfio-pci";
  const NodeReport report = told(
      host, {sriov("some", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-31'], drivers: [iavf]}]}]}")});
  EXPECT_EQ(report.groups.size(), 5u) << "held back, unmatched of two drivers, the PF, offered";
  const DeviceGroup* held = group_of(report, "9");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held, &report.groups.front()) << "what is held back comes first";
  EXPECT_EQ(held->disposition, "held-back");
  EXPECT_EQ(held->interface, "ens1f0v9");
  EXPECT_EQ(held->verdicts.at(0).policy, (PolicyRef{"SriovResourcePolicy", "ns", "some"}));
  EXPECT_EQ(held->verdicts.at(0).outcome, "in-use-by-host");
  const DeviceGroup* rest = group_of(report, "32-63");
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->verdicts, (std::vector<PolicyVerdict>{{{}, "no-match", ""}}));
  EXPECT_EQ(rest->interface_base, "ens1f0v");
  EXPECT_NE(group_of(report, "20"), nullptr) << "of another driver";
  EXPECT_NE(group_of(report, "0-8,10-19,21-31"), nullptr) << "those that are offered";
}

// The facts of a device in a report are those of the host, as far as they are known.
TEST(TellDecision, GroupsRepresentTheirDevices) {
  VfHost host;
  host.pf(kPf, "ens1f0", 64).pf(kOther, "ens2f0", 7);
  for (int i = 0; i < 7; ++i)
    host.at(VfHost::vf_address(kOther, i)).netdev->name = "eth" + std::to_string(40 + i);
  host.at(VfHost::vf_address(kOther, 3)).netdev.reset();
  host.at(VfHost::vf_address(kPf, 5)).rdma_device = "mlx5_5";
  host.at(VfHost::vf_address(kPf, 6)).netdev->mtu = 9'000;
  host.remove(VfHost::vf_address(kPf, 17));
  const NodeReport report =
      told(host, {sriov("some", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#3-9']}]}]}")});
  std::map<std::string, hotplug::HostDevice> back;
  for (const DeviceGroup& group : report.groups)
    for (hotplug::HostDevice& device : devices_of(group)) {
      const std::string id = device.id.text;
      EXPECT_TRUE(back.emplace(id, std::move(device)).second) << id << " is in two groups";
    }
  ASSERT_EQ(back.size(), host.inventory()->devices.size());
  const auto inventory = host.inventory();
  for (const auto& [id, device] : inventory->devices) {
    ASSERT_TRUE(back.contains(id)) << id;
    const hotplug::HostDevice& now = back.at(id);
    EXPECT_EQ(now.type, device.type);
    EXPECT_EQ(now.pci, device.pci);
    EXPECT_EQ(now.pf, device.pf);
    EXPECT_EQ(now.vf_index, device.vf_index) << id;
    EXPECT_EQ(now.vendor + now.product + now.driver + now.pf_name,
              device.vendor + device.product + device.driver + device.pf_name);
    EXPECT_EQ(now.numa_node, device.numa_node);
    EXPECT_EQ(now.pf_link_type, device.pf_link_type) << id;
    EXPECT_EQ(now.rdma_device.empty(), device.rdma_device.empty()) << id;
    EXPECT_EQ(now.netdev.has_value(), device.netdev.has_value()) << id;
    if (!now.netdev) continue;
    EXPECT_EQ(now.netdev->mtu, device.netdev->mtu) << id;
    if (!now.netdev->name.empty()) {
      EXPECT_EQ(now.netdev->name, device.netdev->name);
    }
  }
  EXPECT_LE(report.groups.size(), 12u);
}

// Intel's 82576 has its VFs two routing ids apart, and regular distances are not guaranteed.
TEST(TellDecision, DerivesAddressesFromNumbersForAnyStride) {
  for (const int stride : {1, 2, 3, 0}) {
    hotplug::Inventory inventory{.boot_id = "b"};
    std::vector<int> at = {0, 5, 6, 14};  // of stride 0: no rule at all
    for (int i = 0; i < 4; ++i) {
      const int id = 0x3b10 + (stride == 0 ? at[static_cast<size_t>(i)] : i * stride);
      hotplug::HostDevice vf{.type = hotplug::DeviceType::kVf, .vf_index = i};
      vf.pci = hotplug::PciAddress{0, static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id >> 3 & 31),
                                   static_cast<uint8_t>(id & 7)};
      vf.pf = hotplug::PciAddress::decode(kPf);
      vf.id.text = vf.pci->text();
      inventory.devices[vf.id.text] = vf;
    }
    const NodeReport report = told(VfHost{}, {}, [&](policy::Inputs& in) {
      in.inventory = std::make_shared<const hotplug::Inventory>(inventory);
    });
    std::set<std::string> back;
    for (const DeviceGroup& group : report.groups)
      for (const hotplug::HostDevice& device : devices_of(group)) {
        back.insert(device.id.text);
        EXPECT_EQ(device.vf_index, inventory.devices.at(device.id.text).vf_index);
      }
    EXPECT_EQ(back.size(), 4u) << stride;
    EXPECT_EQ(report.groups.size(), stride == 0 ? 2u : 1u) << stride;
  }
}

// Pods make and lose interfaces all the time: a report that counted them would be written with each pod.
TEST(TellDecision, OmitsInterfacesOfPods) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  const auto with_veths = [&](const std::vector<std::string>& policies, int count) {
    return told(host, policies, [&](policy::Inputs& in) {
      auto inventory = std::make_shared<hotplug::Inventory>(*in.inventory);
      for (int i = 0; i < count; ++i) {
        hotplug::HostDevice veth{.type = hotplug::DeviceType::kVirtual};
        veth.id.text = "veth" + std::to_string(i);
        veth.netdev = hotplug::Netdev{.name = veth.id.text, .kernel_name = veth.id.text};
        inventory->devices[veth.id.text] = veth;
      }
      in.inventory = inventory;
    });
  };
  const std::string all = exposure("all", "{selector: {cel: 'true'}}");
  const std::string none = exposure(
      "none",
      "{action: exclude, selector: {cel: 'device.attributes[\"dra.networking\"].type == \"virtual\"'}}");
  for (const auto& policies : {std::vector<std::string>{}, {all}, {all, none}})
    EXPECT_EQ(with_veths(policies, 0), with_veths(policies, 7));
  const std::string wanted = exposure("all", "{includeVirtual: true, selector: {cel: 'true'}}");
  EXPECT_EQ(with_veths({wanted}, 7).offered, with_veths({wanted}, 0).offered + 7);
}

TEST(TellDecision, IncludesTheVerdictOfEachSuffix) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  const NodeReport report = told(
      host,
      {exposure("plain", "{selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}}"),
       exposure(
           "shared",
           "{selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}, exposure: {deviceNameSuffix: '-s', allowMultipleAllocations: true}}")});
  const DeviceGroup* group = group_of(report, "0-1");
  ASSERT_NE(group, nullptr);
  ASSERT_EQ(group->verdicts.size(), 2u) << report.policies.at(1).problem;
  EXPECT_EQ(group->verdicts[0].policy.name, "plain");
  EXPECT_EQ(group->verdicts[1].policy.name, "shared");
  EXPECT_EQ(policy_of(report, "shared").matched, 2);
}

}  // namespace fill_report_test
}  // namespace sliced::reports
