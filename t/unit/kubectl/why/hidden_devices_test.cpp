#include "kubectl/why/hidden_devices.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/fleet/node_devices.h"

namespace sliced::kubectl {
namespace hidden_devices_test {
namespace {

const FleetDrivers kDrivers{"sriov.example", "dra.example"};
const kube::NodeView kNode{"worker-1", {}};

FleetPolicies policies() {
  FleetPolicies out(kDrivers, "ours");
  const auto yaml = kube::decode_yaml(
      "kind: SriovResourcePolicy\n"
      "metadata: {name: a, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n"
      "---\n"
      "kind: DeviceExposurePolicy\n"
      "metadata: {name: no-vfs}\n"
      "spec: {action: exclude, selector: {cel: 'true'}}\n");
  for (const auto& object : yaml.documents) EXPECT_TRUE(out.put(object));
  EXPECT_EQ(out.problems(), std::vector<std::string>{});
  return out;
}

reports::DeviceGroup vfs(const std::string& pf_name, const std::string& disposition) {
  reports::DeviceGroup group;
  group.type = "vf";
  group.pf = "0000:3b:00.0";
  group.pf_name = pf_name;
  group.vfs = {{0, 3}};
  group.pci_address = "0000:3b:01.0";
  group.vendor = "8086";
  group.driver = "iavf";
  group.link_type = "ethernet";
  group.disposition = disposition;
  group.verdicts = {{{"DeviceExposurePolicy", "", "no-vfs"}, "excluded", ""}};
  return group;
}

// A pod that waits for one device of a class with this selector.
why::Answer waiting(const std::string& selector) {
  why::Answer out;
  out.classes = {{.name = "c", .selectors = {selector}, .extended_resource = "", .unknown = {}}};
  why::Claim claim;
  claim.namespace_ = "ns";
  claim.name = "claim";
  why::Request request;
  request.name = "uplink";
  request.device_class = "c";
  claim.requests = {{.name = "uplink", .is_list = false, .alternatives = {request}}};
  out.claims = {claim};
  return out;
}

std::vector<HiddenMatch> found(const std::string& selector, const reports::DeviceGroup& group) {
  reports::NodeReport report;
  report.node = kNode.name;
  report.groups = {group};
  why::Selectors selectors;
  return hidden_matches(waiting(selector), report, kNode, policies(), selectors);
}

constexpr const char* kStorage =
    "device.driver == \"sriov.example\" && device.attributes[\"sriov.example\"].resourceName == \"storage\"";

// Red when the policy that hides a requested device is not named, or a device is named that would not match.
TEST(HiddenDevices, NamesThePolicyThatHidesMatchingDevices) {
  const std::vector<HiddenMatch> wanted = {
      {"worker-1", "uplink", "0000:3b:01.0", 4, "DeviceExposurePolicy no-vfs excludes it"}};
  EXPECT_EQ(found(kStorage, vfs("ens1f0", "hidden")), wanted);
  EXPECT_EQ(
      hidden_text(wanted, 10),
      "  - on worker-1, request uplink: 4 devices, such as 0000:3b:01.0: DeviceExposurePolicy no-vfs excludes it\n");
}

TEST(HiddenDevices, ReportsHostUseWithItsReason) {
  reports::DeviceGroup group = vfs("ens1f0", "held-back");
  group.host_use = "enslaved to br0";
  group.verdicts = {{{"SriovResourcePolicy", "ours", "a"}, "in-use-by-host", "enslaved to br0"}};
  const auto matches = found(kStorage, group);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].why, "SriovResourcePolicy ours/a: the host uses it (enslaved to br0)");
}

// Red when a conflict is no reason, because the device is offered: by the other kind of policy, under which the pod cannot have it.
TEST(HiddenDevices, NamesBothPoliciesOfAConflict) {
  FleetPolicies both(kDrivers, "ours");
  const auto yaml = kube::decode_yaml(
      "kind: SriovResourcePolicy\nmetadata: {name: a, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n"
      "---\nkind: DeviceExposurePolicy\nmetadata: {name: moved}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.example\"].pfName == \"ens1f0\"'}, exposure: "
      "{additionalAttributes: {resourceName: fast}}}\n");
  for (const auto& object : yaml.documents) ASSERT_TRUE(both.put(object));
  reports::NodeReport report;
  report.node = kNode.name;
  report.groups = {vfs("ens1f0", "offered")};
  report.groups[0].verdicts = {{{"SriovResourcePolicy", "ours", "a"}, "offered", ""},
                               {{"DeviceExposurePolicy", "", "moved"}, "conflict", ""}};
  keep_hidden(report);
  const auto asked = waiting("device.attributes[\"dra.example\"].resourceName == \"fast\"");
  why::Selectors selectors;
  const auto matches = hidden_matches(asked, report, kNode, both, selectors);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].devices, 4u);
  EXPECT_EQ(
      hidden_causes(matches),
      std::vector<std::string>{
          "4 devices on worker-1 that request uplink could have are not offered: DeviceExposurePolicy moved: Conflict: "
          "another policy offers it (SriovResourcePolicy ours/a), and one function is offered by one driver"});
  EXPECT_TRUE(hidden_matches(waiting(kStorage), report, kNode, both, selectors).empty())
      << "it is offered as that";
}

// Red when the text is only the code of an outcome.
TEST(HiddenDevices, DescribesOutcomesInSentences) {
  for (const char* outcome :
       {"unreadable", "refused", "excluded", "exclude-unreadable", "exclude-unknown", "expose-unknown",
        "conflict", "no-counters", "no-sharing", "settling", "not-ready", "held-by-other-driver", "reserved",
        "unconfigured", "in-use-by-host", "match-unknown"}) {
    reports::DeviceGroup group = vfs("ens1f0", "hidden");
    group.verdicts = {{{"DeviceExposurePolicy", "", "x"}, outcome, ""}};
    const std::string why = why_hidden(group);
    EXPECT_EQ(why.rfind("DeviceExposurePolicy x", 0), 0u) << why;
    EXPECT_FALSE(why.ends_with(std::string(": ") + outcome)) << why;
  }
}

TEST(HiddenDevices, OmitsDevicesThatWouldNotMatch) {
  EXPECT_TRUE(found("device.driver == \"another\"", vfs("ens1f0", "hidden")).empty());
  EXPECT_TRUE(found(kStorage, vfs("ens9", "hidden")).empty());     // no policy would offer it
  EXPECT_TRUE(found(kStorage, vfs("ens1f0", "offered")).empty());  // it is offered
  EXPECT_TRUE(found("device.attributes[\"x\"].y == 1", vfs("ens1f0", "hidden")).empty());  // an error
}

// Red when the author of a claim can cause an answer whose time grows with the number of nodes.
TEST(HiddenDevices, BoundsExpressionsOverAllNodes) {
  reports::NodeReport report;
  report.node = kNode.name;
  report.groups = {vfs("ens1f0", "hidden")};
  why::Selectors selectors(/*effort_max=*/50);
  size_t matching = 0;
  for (int node = 0; node < 100; ++node)
    matching += hidden_matches(waiting(kStorage), report, kNode, policies(), selectors).size();
  EXPECT_TRUE(selectors.is_spent());
  EXPECT_LT(matching, 100u);
}

TEST(HiddenDevices, ShowsHiddenDevicesBesideOfferedOnes) {
  reports::NodeReport report;
  report.groups = {vfs("ens1f0", "hidden"), vfs("ens1f1", "unmatched")};
  std::vector<DeviceLine> lines = {{.entry = "a", .pci = "0000:3b:01.1"}};
  add_hidden(report, lines);
  ASSERT_EQ(lines.size(), 4u) << "0000:3b:01.1 is offered by a slice that is newer than the report";
  EXPECT_EQ(std::ranges::count(lines, "0000:3b:01.1", &DeviceLine::pci), 1);
  EXPECT_EQ(lines[0].pci, "0000:3b:01.0");
  EXPECT_EQ(lines[0].state, DeviceState::kHidden);
  EXPECT_EQ(lines[0].why, "DeviceExposurePolicy no-vfs excludes it");
}

}  // namespace
}  // namespace hidden_devices_test
}  // namespace sliced::kubectl
