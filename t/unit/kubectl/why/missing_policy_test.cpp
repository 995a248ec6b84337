#include "kubectl/why/missing_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/objects/yaml.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace missing_policy_test {
namespace {

const FleetDrivers kDrivers{"sriov.example", "dra.networking"};

struct MissingPolicyTest : testing::Test {
  MissingPolicyTest() { nodes = {{"worker-1", &views[0]}, {"worker-2", &views[1]}}; }

  void policy(const std::string& yaml) {
    for (const auto& object : kube::decode_yaml(yaml).documents)
      EXPECT_TRUE(policies.at("ours").put(object)) << yaml;
    EXPECT_EQ(policies.at("ours").problems(), std::vector<std::string>{});
  }
  static reports::DeviceGroup vfs(const std::string& pf_name) {
    reports::DeviceGroup group;
    group.type = "vf";
    group.pf = "0000:3b:00.0";
    group.pf_name = pf_name;
    group.vfs = {{0, 3}};
    group.pci_address = "0000:3b:01.0";
    group.vendor = "8086", group.product = "1889";
    group.driver = "iavf";
    group.link_type = "ethernet";
    group.disposition = "unmatched";
    return group;
  }
  static reports::DeviceGroup pf(const std::string& interface) {
    reports::DeviceGroup group;
    group.type = "pf";
    group.pci_address = "0000:3b:00.0";
    group.interface = interface;
    group.vendor = "8086", group.product = "1572", group.driver = "ice";
    group.link_type = "ethernet";
    group.disposition = "unmatched";
    return group;
  }
  void report(const std::string& node, std::vector<reports::DeviceGroup> groups) {
    reports::NodeReport one;
    one.node = node;
    for (const auto& group : groups) one.unmatched += static_cast<int64_t>(reports::device_count(group));
    one.groups = std::move(groups);
    one.policies = {{{"SriovResourcePolicy", "ours", "other"}}};
    devices.add(one);
  }
  // Of one request of class vf-fast that has nothing on both nodes.
  std::string advice(const std::string& selector, std::map<std::string, kube::Quantity> capacity = {}) {
    why::Answer answer;
    answer.verdict = why::Verdict::kPending;
    answer.classes = {{.name = "vf-fast", .selectors = {selector}, .extended_resource = "", .unknown = {}}};
    why::Request request;
    request.name = "net", request.device_class = "vf-fast", request.capacity = std::move(capacity);
    why::Claim claim;
    claim.namespace_ = "apps", claim.name = "c";
    claim.requests = {{.name = "net", .is_list = false, .alternatives = {request}}};
    answer.claims = {claim};
    for (const char* name : {"worker-1", "worker-2"}) {
      why::NodeAnswer& node = answer.nodes.emplace_back();
      node.name = name;
      if (kept_away == name) node.kept_away = "a taint";
      why::RequestView& view = node.requests.emplace_back();
      view.claim = "apps/c", view.request = "net", view.wanted = 1, view.free = free;
      view.matching = matching;
    }
    why::Selectors selectors;
    const MissingPolicies found =
        missing_policies(answer, devices, nodes, policies, kDrivers, "ours", selectors, hidden, elsewhere);
    enough = found.enough, causes = found.causes;
    std::vector<std::string> lines = found.causes;
    lines.insert(lines.end(), found.remedies.begin(), found.remedies.end());
    return join(lines, "\n");
  }

  kube::NodeView views[2] = {{"worker-1", {{"zone", "a"}}}, {"worker-2", {{"zone", "b"}}}};
  std::map<std::string_view, const kube::NodeView*> nodes;
  std::map<std::string, FleetPolicies> policies = {{"ours", FleetPolicies(kDrivers, "ours")}};
  UnmatchedDevices devices;
  std::string kept_away;
  size_t free = 0, matching = 0;
  std::set<std::string> hidden, enough;
  std::vector<std::string> causes;
  std::map<std::string, FleetPolicies> elsewhere;
};

constexpr const char* kStorage =
    "device.driver == \"sriov.example\" && device.attributes[\"sriov.example\"].resourceName == \"storage\"";

// Red when a policy that misses by one field is not named, or named with another field.
TEST_F(MissingPolicyTest, NamesAPolicyThatMissesByOneField) {
  policy(
      "kind: SriovResourcePolicy\nmetadata: {name: intel, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{vendors: ['15b3']}, {pfNames: [ens1f0], drivers: "
      "[vfio-pci]}]}]}\n");
  report("worker-1", {vfs("ens1f0")});
  report("worker-2", {vfs("ens1f0")});
  EXPECT_EQ(
      advice(kStorage),
      "SriovResourcePolicy ours/intel would offer 8 devices on worker-1, worker-2 for request net of claim apps/c "
      "without this mismatch: spec.configs[0].resourceFilters[0].vendors is 15b3, and 0000:3b:01.0 has 8086\n"
      "SriovResourcePolicy ours/intel would offer 8 devices on worker-1, worker-2 for request net of claim apps/c "
      "without this mismatch: spec.configs[0].resourceFilters[1].drivers is vfio-pci, and 0000:3b:01.0 has iavf");
}

// Red when one edit is a line for each group of devices that it would help, or for each namespace that nodes' daemons follow.
TEST_F(MissingPolicyTest, PrintsOneEditInOneLine) {
  policy(
      "kind: SriovResourcePolicy\nmetadata: {name: intel, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens9]}]}]}\n"
      "---\nkind: DeviceExposurePolicy\nmetadata: {name: uplink}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"ens9\"'}}\n");
  reports::DeviceGroup other = vfs("ens2f0");
  other.pf = "0000:5e:00.0", other.pci_address = "0000:5e:01.0";
  report("worker-1", {vfs("ens1f0"), other, pf("ens1f0")});
  report("worker-2", {other});
  const std::string said = advice(kStorage);
  EXPECT_NE(said.find("would offer 12 devices on worker-1, worker-2"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 0) << said;
  policies.emplace("theirs", FleetPolicies(kDrivers, "theirs"));
  for (const auto& object :
       kube::decode_yaml(
           "kind: DeviceExposurePolicy\nmetadata: {name: uplink}\n"
           "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"ens9\"'}}\n"
           "---\nkind: SriovResourcePolicy\nmetadata: {name: not-read, namespace: theirs}\n"
           "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens9]}]}]}\n")
           .documents)
    policies.at("theirs").put(object);
  EXPECT_EQ(advice(kStorage), said) << "no node's daemon reads policies of that namespace";
  const std::string exposed = advice(
      "device.driver == \"dra.networking\" && "
      "device.attributes[\"dra.networking\"].type == \"pf\"");
  EXPECT_EQ(std::ranges::count(exposed, '\n'), 0) << exposed;
  EXPECT_NE(exposed.find("DeviceExposurePolicy uplink would offer 1 device"), std::string::npos) << exposed;
}

TEST_F(MissingPolicyTest, NamesTheNodeSelectorOfAPolicyForOtherNodes) {
  policy(
      "kind: SriovResourcePolicy\nmetadata: {name: intel, namespace: ours}\n"
      "spec: {nodeSelector: {zone: c}, configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n");
  report("worker-1", {vfs("ens1f0")});
  const std::string said = advice(kStorage);
  EXPECT_NE(said.find("SriovResourcePolicy ours/intel would offer 4 devices on worker-1"), std::string::npos)
      << said;
  EXPECT_NE(said.find("spec.nodeSelector requires labels[zone] In [c], and worker-1 has a"),
            std::string::npos)
      << said;
}

// Red when a policy is named whose devices the request would not take: its resourceName is another.
TEST_F(MissingPolicyTest, OmitsAPolicyWhoseDevicesWouldNotMatch) {
  policy(
      "kind: SriovResourcePolicy\nmetadata: {name: intel, namespace: ours}\n"
      "spec: {configs: [{resourceName: other, resourceFilters: [{pfNames: [ens9]}]}]}\n");
  report("worker-1", {vfs("ens1f0")});
  const std::string said = advice(kStorage);
  EXPECT_EQ(
      said,
      "No policy selects 4 devices on worker-1 that request net of claim apps/c could have; this "
      "SriovResourcePolicy would offer them: "
      "{\"apiVersion\":\"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\",\"kind\":\"SriovResourcePolicy\","
      "\"metadata\":{\"name\":\"vf-fast\",\"namespace\":\"ours\"},\"spec\":{\"configs\":[{\"resourceName\":"
      "\"storage\",\"resourceFilters\":[{\"pfNames\":[\"ens1f0\"]}]}]}}");
}

TEST_F(MissingPolicyTest, NamesADeviceExposurePolicyThatMissesByOnePart) {
  policy(
      "kind: DeviceExposurePolicy\nmetadata: {name: uplink}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].type == \"pf\" && "
      "device.attributes[\"dra.networking\"].ifName == \"ens9\"'}}\n");
  report("worker-1", {pf("ens1f0")});
  EXPECT_EQ(
      advice("device.driver == \"dra.networking\""),
      "DeviceExposurePolicy uplink would offer 1 device on worker-1 for request net of claim apps/c without this "
      "mismatch: spec.selector.cel does not match 0000:3b:00.0: device.attributes[\"dra.networking\"].ifName == "
      "\"ens9\"");
}

// A shared persona with the plugin, the attribute and the capacity that are asked for; what is printed is decided with again.
TEST_F(MissingPolicyTest, SuggestsANewDeviceExposurePolicyForTheRequest) {
  report("worker-1", {pf("ens1f0")});
  const std::string said = advice(
      "device.driver == \"dra.networking\" && device.allowMultipleAllocations == true && "
      "device.attributes[\"dra.networking\"].cni_macvlan && "
      "device.attributes[\"dra.networking\"].physicalNetworkName == \"fabric-a\"",
      {{"dra.networking/macvlans", kube::Quantity(2)}});
  const size_t object = said.find("{");
  ASSERT_NE(object, std::string::npos) << said;
  const auto decoded = kube::decode_json(said.substr(object));
  ASSERT_TRUE(decoded) << said;
  EXPECT_EQ(decoded->text("kind"), "DeviceExposurePolicy");
  const kube::Json* exposure = decoded->find({"spec", "exposure"});
  ASSERT_NE(exposure, nullptr);
  EXPECT_EQ(
      kube::encode_json(*exposure),
      "{\"allowMultipleAllocations\":true,\"capacity\":{\"macvlans\":{\"value\":\"2\"}},\"supportedCNIPlugins\":[{"
      "\"name\":\"macvlan\"}],\"additionalAttributes\":{\"physicalNetworkName\":\"fabric-a\"}}");
  EXPECT_EQ(
      decoded->find({"spec", "selector"})->text("cel"),
      "device.attributes[\"dra.networking\"].type == \"pf\" && device.attributes[\"dra.networking\"].ifName == "
      "\"ens1f0\"");
  policy(said.substr(object));
}

TEST_F(MissingPolicyTest, SuggestsNothingIfNoPolicyWouldHelp) {
  report("worker-1", {vfs("ens1f0")});
  EXPECT_EQ(advice("device.driver == \"another.example\""), "");
  EXPECT_EQ(advice("device.attributes[\"sriov.example\"].vendor == \"15b3\""), "");
  kept_away = "worker-1";
  EXPECT_EQ(advice(kStorage), "") << "the pod may not go there";
  kept_away.clear();
  free = 1;
  EXPECT_EQ(advice(kStorage), "") << "there is enough";
}

// What the host uses is not a device that a policy would offer.
TEST_F(MissingPolicyTest, DoesNotSuggestDevicesThatTheHostUses) {
  auto group = vfs("ens1f0");
  group.host_use = "has the default route";
  report("worker-1", {group});
  EXPECT_EQ(advice(kStorage), "");
}

reports::DeviceGroup bridge() {
  reports::DeviceGroup group;
  group.type = "bridge", group.interface = "br-data", group.disposition = "unmatched";
  group.link_type = "ethernet";
  return group;
}

// Red when a class that asks for a label alone gets the host's bridge or a whole PF: any device may be given a label.
TEST_F(MissingPolicyTest, ALabelAloneSelectsNoTypeOfDevice) {
  report("worker-1", {bridge(), pf("ens1f0"), pf("ens1f1"), vfs("ens1f0")});
  const std::string label =
      "device.driver == \"dra.networking\" && "
      "device.attributes[\"dra.networking\"].resourceName == \"mellanox.com/fast_net\"";
  EXPECT_EQ(advice(label), "");
  EXPECT_EQ(advice("device.driver == \"dra.networking\""), "");
  const std::string of_vfs = advice(label + " && device.attributes[\"dra.networking\"].type == \"vf\"");
  EXPECT_NE(of_vfs.find("No policy selects 4 devices on worker-1"), std::string::npos) << of_vfs;
  EXPECT_EQ(of_vfs.find("br-data"), std::string::npos) << of_vfs;
  policy(
      "kind: DeviceExposurePolicy\nmetadata: {name: fast}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].pfName == \"ens9\" && "
      "device.attributes[\"dra.networking\"].vendor == \"15b3\"'}, exposure: {additionalAttributes: {resourceName: "
      "mellanox.com/fast_net}}}\n");
  EXPECT_EQ(advice(label + " && device.attributes[\"dra.networking\"].type == \"vf\""), "")
      << "another policy gives that label";
}

// Red when bridges and whole PFs are offered to a request that names neither: shares of a PF are no reason to offer the whole.
TEST_F(MissingPolicyTest, SuggestsBridgesAndPfsOnlyIfNamed) {
  report("worker-1", {bridge(), pf("ens1f0")});
  const std::string of = "device.attributes[\"dra.networking\"].";
  EXPECT_EQ(advice(of + "linkType == \"ethernet\""), "");
  EXPECT_EQ(advice(of + "vendor == \"8086\""), "");
  EXPECT_EQ(advice(of + "type != \"bridge\""), "");
  EXPECT_NE(advice(of + "type == \"bridge\""), "");
  EXPECT_NE(advice(of + "ifName == \"ens1f0\""), "");
  EXPECT_EQ(advice(of + "cni_macvlan && device.allowMultipleAllocations == false"), "");
}

// Red when a value that the request rules out is taken for one that it asks for.
TEST_F(MissingPolicyTest, DoesNotSuggestExcludedValues) {
  report("worker-1", {bridge(), pf("ens1f0"), vfs("ens1f0")});
  const std::string of = "device.attributes[\"dra.networking\"].",
                    bare = "device.attributes[\"dra.networking\"]";
  for (const std::string& selector :
       {of + "type != \"pf\"", "!(" + of + "type in [\"pf\", \"vf\"])", "!(" + of + "type == \"vf\")",
        bare + ".?type.orValue(\"\") != \"bridge\"", bare + ".?ifName.orValue(\"\") != \"br-data\"",
        "!(" + bare + ".?ifName.orValue(\"\") in [\"br-data\", \"ens1f0\"])", of + "vendor != \"15b3\"",
        "(" + of + "vendor == \"15b3\") == false", bare + ".?numaNode.orValue(0) != 7",
        "!(\"cni_bridge\" in " + bare + ") && " + of + "type != \"bridge\"",
        "!" + bare + ".?cni_macvlan.orValue(false)"})
    EXPECT_EQ(advice("device.driver == \"dra.networking\" && " + selector), "") << selector;
  const std::string but_one = advice(of + "type == \"vf\" && " + of + "driver != \"vfio-pci\"");
  EXPECT_NE(but_one.find("No policy selects 4 devices on worker-1"), std::string::npos) << but_one;
  const std::string shares =
      advice(bare + ".?cni_macvlan.orValue(false) && " + of + "type != \"bridge\" && " + of +
             "type != \"vf\" && device.allowMultipleAllocations == true");
  EXPECT_NE(shares.find("\"name\":\"macvlan\""), std::string::npos) << shares;
  EXPECT_EQ(shares.find("\"bridge\""), std::string::npos) << shares;
  EXPECT_NE(advice(of + "supportedCNIs.contains(\",macvlan,\") && " + of + "type == \"pf\""), "");
}

// Red when the proposed change of a policy makes it select devices of another type than it means.
TEST_F(MissingPolicyTest, DoesNotWidenAnExistingSelectorToOtherTypes) {
  policy(
      "kind: DeviceExposurePolicy\nmetadata: {name: fast}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}, exposure: {additionalAttributes: "
      "{resourceName: fast}}}\n"
      "---\nkind: DeviceExposurePolicy\nmetadata: {name: fast-by-name}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].pfName == \"ens9\"'}, exposure: "
      "{additionalAttributes: {resourceName: fast}}}\n");
  report("worker-1", {bridge(), pf("ens1f0")});
  EXPECT_EQ(advice("device.attributes[\"dra.networking\"].resourceName == \"fast\""), "");
}

// Red when a new policy selects devices that a policy speaks of already, that the host uses, or that do not match.
TEST_F(MissingPolicyTest, ANewPolicyOmitsDevicesOfOthers) {
  reports::DeviceGroup taken = vfs("ens1f0"), free = vfs("ens1f0");
  taken.vfs = {{0, 3}}, taken.disposition = "offered";
  free.vfs = {{4, 7}}, free.pci_address = "0000:3b:01.4";
  report("worker-1", {taken, free});
  const std::string said = advice(kStorage);
  EXPECT_NE(said.find("\"pfNames\":[\"ens1f0#4-7\"]"), std::string::npos) << said;
  const std::string exposed = "device.attributes[\"dra.networking\"].type == \"vf\"";
  EXPECT_EQ(advice(exposed), "") << "a selector by the PF would take the others, too";
  taken.vfs = {{4, 7}}, taken.pci_address = "0000:3b:01.4", taken.disposition = "hidden";
  report("worker-2", {taken});
  EXPECT_EQ(advice(kStorage), "") << "the same numbers are another policy's on another node";
}

// Red when a policy that was meant is passed over, and another one proposed beside it.
TEST_F(MissingPolicyTest, NamesAPolicyInAnUnreadNamespace) {
  report("worker-1", {vfs("ens1f0")});
  elsewhere.emplace("apps", FleetPolicies(kDrivers, "apps"));
  for (const auto& object :
       kube::decode_yaml(
           "kind: SriovResourcePolicy\nmetadata: {name: a, namespace: apps}\n"
           "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n"
           "---\nkind: SriovResourcePolicy\nmetadata: {name: b, namespace: apps}\n"
           "spec: {configs: [{resourceName: other, resourceFilters: [{pfNames: [ens1f0]}]}]}\n")
           .documents)
    ASSERT_TRUE(elsewhere.at("apps").put(object));
  EXPECT_EQ(
      advice(kStorage),
      "SriovResourcePolicy apps/a would offer 4 devices on worker-1 for request net of claim apps/c, but no daemon "
      "there reads namespace apps: create it in namespace ours");
  EXPECT_EQ(enough, std::set<std::string>{"apps/c, net"});
  EXPECT_EQ(causes.size(), 1u);
}

TEST_F(MissingPolicyTest, NamesAnInvalidPolicyFirst) {
  report("worker-1", {vfs("ens1f0")});
  for (const auto& object :
       kube::decode_yaml(
           "kind: SriovResourcePolicy\nmetadata: {name: a, namespace: ours}\n"
           "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: ['ens1f0#3-1']}]}]}\n"
           "---\nkind: DeviceExposurePolicy\nmetadata: {name: b}\nspec: {selektor: 1}\n")
           .documents)
    ASSERT_TRUE(policies.at("ours").put(object));
  const std::string said = advice(kStorage);
  EXPECT_EQ(said.rfind("SriovResourcePolicy ours/a cannot be used: spec.configs[0]", 0), 0u) << said;
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_NE(said.find("No policy selects"), std::string::npos) << "another may have been meant: " << said;
  EXPECT_EQ(enough, std::set<std::string>{"apps/c, net"});
}

TEST_F(MissingPolicyTest, NamesNoPolicyForHiddenOrUsedDevices) {
  report("worker-1", {vfs("ens1f0"), pf("ens1f0")});
  const std::string exposed = "device.attributes[\"dra.networking\"].type == \"vf\"";
  ASSERT_NE(advice(exposed), "");
  matching = 1;
  EXPECT_EQ(advice(exposed), "") << "a policy offers such devices";
  matching = 0;
  hidden = {"net"};
  EXPECT_EQ(advice(exposed), "");
}

TEST_F(MissingPolicyTest, SuggestsDeviceAttributesIfTheClassNeedsOne) {
  policy(
      "kind: DeviceAttributes\nmetadata: {name: fabric-a, namespace: ours, labels: {fabric: a}}\n"
      "spec: {attributes: {fabric: {string: a}}}\n");
  report("worker-1", {vfs("ens1f0")});
  const std::string said = advice("device.attributes[\"sriov.example\"].fabric == \"a\"");
  EXPECT_NE(said.find("\"deviceAttributesSelector\":{\"matchLabels\":{\"fabric\":\"a\"}}"), std::string::npos)
      << said;
}

// Red when a fleet costs a decision for each node.
TEST_F(MissingPolicyTest, JudgesSimilarNodesOnce) {
  for (int i = 0; i < 500; ++i) report("w-" + std::to_string(i), {vfs("ens1f0")});
  EXPECT_EQ(devices.shapes().size(), 1u);
  EXPECT_EQ(devices.shapes()[0].nodes.size(), 500u);
  const std::string said = advice(kStorage);
  EXPECT_NE(said.find("2000 devices on w-0, w-1, w-2 and 497 more nodes"), std::string::npos) << said;
}

}  // namespace
}  // namespace missing_policy_test
}  // namespace sliced::kubectl
