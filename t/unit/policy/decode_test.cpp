#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/policy_set.h"
#include "policy/sriov/policy.h"

namespace sliced::policy {
namespace {

SriovPolicy policy_of(const std::string& spec) {
  const auto yaml = kube::decode_yaml("apiVersion: v1\nmetadata: {name: p, namespace: ns}\nspec:\n" + spec);
  EXPECT_TRUE(yaml.problems.empty());
  return decode_sriov_policy(yaml.documents.at(0));
}

TEST(SriovPolicy, DecodesBothGenerations) {
  const SriovPolicy today = policy_of(R"(
  priority: 7
  nodeSelector:
    nodeSelectorTerms:
    - matchExpressions: [{key: zone, operator: In, values: [a]}]
  configs:
  - deviceAttributesSelector: {matchLabels: {pool: fast}}
    resourceFilters:
    - vendors: ["8086"]
      pfPciAddresses: ["0000:3b:00.0"]
      linkType: eth
)");
  EXPECT_EQ(today.problems, Problems{});
  ASSERT_EQ(today.configs.size(), 1u);
  EXPECT_EQ(today.configs[0].problems, Problems{});
  EXPECT_EQ(today.priority, 7);
  EXPECT_EQ(today.configs[0].filters[0].link_type, "ethernet");
  EXPECT_TRUE(today.configs[0].attributes_selector.has_value());

  const SriovPolicy older = policy_of(R"(
  nodeSelector: {zone: a}
  configs:
  - resourceName: fast_nic
    resourceFilters:
    - pfNames: ["ens1f0#0-3,7", "ens2"]
      numaNodes: ["0", 1]
      rootDevices: ["0000:3b:00.0#2"]
)");
  EXPECT_EQ(older.problems, Problems{});
  ASSERT_EQ(older.configs.size(), 1u);
  EXPECT_EQ(older.configs[0].problems, Problems{});
  EXPECT_EQ(older.configs[0].resource_name, "fast_nic");
  const ResourceFilter& filter = older.configs[0].filters[0];
  EXPECT_EQ(filter.numa_nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(filter.pf_names[0].pf, "ens1f0");
  EXPECT_EQ(filter.pf_names[0].ranges, (std::vector<PfMatch<std::string>::Range>{{0, 3}, {7, 7}}));
  EXPECT_TRUE(filter.pf_names[1].covers(4711)) << "no range means every VF";
  EXPECT_TRUE(filter.root_devices[0].covers(2));
  EXPECT_FALSE(filter.root_devices[0].covers(3));
}

// What cannot be understood must be a problem with its place; a decoder that ignores it would widen the
// policy.
TEST(SriovPolicy, ReportsInvalidFields) {
  const struct {
    const char* why;
    const char* spec;
    bool whole;         // the whole policy, not the config alone
    const char* field;  // of the first problem
    const char* said;   // part of its text
  } rows[] = {
      {"typo in a filter", "  configs: [{resourceFilters: [{vendor: ['8086']}]}]", false,
       "spec.configs[0].resourceFilters[0].vendor", "did you mean vendors"},
      {"typo in a config", "  configs: [{resourceFilter: []}]", false, "spec.configs[0].resourceFilter",
       "did you mean resourceFilters"},
      {"typo beside the configs", "  config: []", true, "spec.config", "did you mean configs"},
      {"typo in the node selector",
       "  nodeSelector: {matchLabel: {a: b}, matchLabels: {a: b}}\n  configs: []", true, "spec.nodeSelector",
       ""},
      {"wrong kind of list", "  configs: [{resourceFilters: [{vendors: '8086'}]}]", false,
       "spec.configs[0].resourceFilters[0].vendors", "expected a list"},
      {"number for a string", "  configs: [{resourceFilters: [{devices: [1889]}]}]", false,
       "spec.configs[0].resourceFilters[0].devices[0]", "quotes"},
      {"vendor by name", "  configs: [{resourceFilters: [{vendors: [intel]}]}]", false,
       "spec.configs[0].resourceFilters[0].vendors", "four hexadecimal"},
      {"backward range", "  configs: [{resourceFilters: [{pfNames: ['ens1#5-2']}]}]", false,
       "spec.configs[0].resourceFilters[0].pfNames", "#0-3,7"},
      {"open range", "  configs: [{resourceFilters: [{pfNames: ['ens1#']}]}]", false,
       "spec.configs[0].resourceFilters[0].pfNames", "#0-3,7"},
      {"bad address", "  configs: [{resourceFilters: [{pciAddresses: ['3b:00.0']}]}]", false,
       "spec.configs[0].resourceFilters[0].pciAddresses", "0000:3b:00.2"},
      {"link type", "  configs: [{resourceFilters: [{linkType: token}]}]", false,
       "spec.configs[0].resourceFilters[0].linkType", "infiniband"},
      {"NUMA node by name", "  configs: [{resourceFilters: [{numaNodes: [left]}]}]", false,
       "spec.configs[0].resourceFilters[0].numaNodes", "NUMA node numbers"},
      {"priority as text", "  priority: high\n  configs: []", true, "spec.priority", "whole number"},
      {"host use as text", "  allowHostUse: 'maybe'\n  configs: []", true, "spec.allowHostUse",
       "true or false"},
      {"an unknown setting", "  allow: [vlan, vlanqos]\n  configs: []", true, "spec.allow",
       "has \"vlanqos\"; did you mean vlanQoS?; expected some of vlan, vlanQoS, vlanProto, trust, spoofchk, link_state"},
      {"a setting twice", "  allow: [vlan, trust, vlan]\n  configs: []", true, "spec.allow",
       "has \"vlan\" twice"},
      {"an id that is none", "  allow: [vlan=4095]\n  configs: []", true, "spec.allow",
       "has \"vlan=4095\", expected vlan=ID or vlan=FIRST-LAST with ids from 0 (no VLAN) to 4094"},
      {"a range without an id", "  allow: [vlan=9-5]\n  configs: []", true, "spec.allow",
       "expected vlan=ID or"},
      {"ids of another setting", "  allow: [trust=1]\n  configs: []", true, "spec.allow",
       "expected some of vlan"},
      {"an id twice", "  allow: [vlan=1-9, vlan=5]\n  configs: []", true, "spec.allow",
       "has \"vlan=5\", which another value allows, too"},
      {"ids before every id", "  allow: [vlan=1-9, vlan]\n  configs: []", true, "spec.allow",
       "has \"vlan\" beside vlan=1-9: remove vlan, which allows every id, or the ids"},
      {"ids behind every id", "  allow: [vlan, vlan=5]\n  configs: []", true, "spec.allow",
       "has \"vlan=5\", which another value allows, too"},
      {"settings as text", "  allow: vlan\n  configs: []", true, "spec.allow",
       "is a string, expected a list"},
      {"settings as a map", "  allow: {vlan: true}\n  configs: []", true, "spec.allow", "expected a list"},
      {"a setting that is a number", "  allow: [5]\n  configs: []", true, "spec.allow[0]",
       "expected a string"},
      {"settings that are null", "  allow:\n  configs: []", true, "spec.allow",
       "is null, expected a list: [] allows nothing"},
      {"filter that is null", "  configs: [{resourceFilters: [null]}]", false,
       "spec.configs[0].resourceFilters[0]", "null"},
      {"config that is null", "  configs: [null]", false, "spec.configs[0]", "null"},
      {"configs as a map", "  configs: {a: b}", true, "spec.configs", "expected a list"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    const SriovPolicy policy = policy_of(row.spec);
    const auto& problems = row.whole ? policy.problems : policy.configs.at(0).problems;
    ASSERT_FALSE(problems.empty());
    EXPECT_TRUE(problems[0].field.starts_with(row.field)) << problems[0].field;
    EXPECT_NE(problems[0].what.find(row.said), std::string::npos) << problems[0].what;
    EXPECT_GT(problems[0].line, 0) << "a person wants to find it";
  }
}

// An empty list counts as absent, as in the peer; `validate` explains that.
TEST(SriovPolicy, TreatsAnEmptyListAsAbsentWithAWarning) {
  const SriovPolicy policy = policy_of("  configs: [{resourceFilters: [{vendors: []}]}]");
  EXPECT_TRUE(policy.configs.at(0).problems.empty());
  ASSERT_EQ(warnings_of(policy).size(), 2u);
  EXPECT_EQ(warnings_of(policy)[0].field, "spec.configs[0].resourceFilters[0].vendors");
  EXPECT_EQ(warnings_of(policy)[1].field, "spec.configs[0].resourceFilters[0]");
}

TEST(SriovPolicy, ReportsEveryProblem) {
  const SriovPolicy policy =
      policy_of("  configs: [{resourceFilters: [{vendor: [x], device: [y]}]}, {nonsense: 1}]");
  EXPECT_EQ(policy.configs.at(0).problems.size(), 2u);
  EXPECT_EQ(policy.configs.at(1).problems.size(), 1u);
  EXPECT_TRUE(policy.problems.empty()) << "a broken config leaves its neighbours alone";
}

TEST(SriovPolicy, DecodesAllowAsAbsentEmptyOrAList) {
  EXPECT_EQ(policy_of("  configs: []").allow, std::nullopt);
  EXPECT_EQ(policy_of("  allow: []\n  configs: []").allow, VfSettings());
  const SriovPolicy policy = policy_of("  allow: [pkey, vlan]\n  configs: []");
  EXPECT_TRUE(policy.problems.empty());
  EXPECT_EQ(names_of(*policy.allow), (std::vector<std::string>{"vlan", "pkey"}));
  EXPECT_FALSE(has_same_content(policy, policy_of("  allow: [vlan]\n  configs: []")));
  const SriovPolicy limited = policy_of("  allow: [trust, vlan=300, vlan=100-199, vlan=200]\n  configs: []");
  EXPECT_TRUE(limited.problems.empty());
  EXPECT_EQ(entries_of(*limited.allow), (std::vector<std::string>{"vlan=100-200", "vlan=300", "trust"}));
  EXPECT_EQ(names_of(*limited.allow), (std::vector<std::string>{"vlan", "trust"}));
  EXPECT_EQ(entries_of(*limited.allow & *policy.allow),
            (std::vector<std::string>{"vlan=100-200", "vlan=300"}));
  const VfSettings other = *policy_of("  allow: [vlan=150-299, trust]\n  configs: []").allow;
  EXPECT_EQ(entries_of(*limited.allow & other), (std::vector<std::string>{"vlan=150-200", "trust"}));
  const VfSettings none = *policy_of("  allow: [vlan=5]\n  configs: []").allow;
  EXPECT_EQ(*limited.allow & none, VfSettings()) << "no id is allowed by both";
  EXPECT_FALSE(has_same_content(policy_of("  allow: [vlan=5]\n  configs: []"),
                                policy_of("  allow: [vlan=6]\n  configs: []")));
  std::string all;
  for (const std::string_view name : vf_setting_names()) all += std::string(name) + ", ";
  EXPECT_TRUE(policy_of(("  allow: [" + all + "]\n  configs: []").c_str()).allow->names.all());
}

TEST(SriovPolicy, AMissingSpecOffersNothing) {
  const auto yaml = kube::decode_yaml("metadata: {name: p}");
  EXPECT_FALSE(decode_sriov_policy(yaml.documents.at(0)).problems.empty());
}

TEST(PolicySet, OrderIsPriorityThenName) {
  const auto named = [](const char* name, int64_t priority) {
    SriovPolicy policy;
    policy.id = {"ns", name};
    policy.priority = priority;
    return policy;
  };
  const PolicySet set = make_policy_set({named("b", 0), named("z", 10), named("a", 0), named("c", -1)}, {});
  std::string order;
  for (const SriovPolicy& policy : set.sriov) order += policy.id.name;
  EXPECT_EQ(order, "zabc");
}

TEST(DeviceAttributes, RefusesReservedAndInvalidKeysByName) {
  const std::string driver = "sriovnetwork.k8snetworkplumbingwg.io";
  const auto yaml = kube::decode_yaml(R"(
metadata: {name: a, namespace: ns, labels: {pool: fast}}
spec:
  attributes:
    example.com/rack: {string: r1}
    vendor: {string: spoofed}
    resource.kubernetes.io/anything: {bool: true}
    k8s.cni.cncf.io/resourceName: {string: intel.com/fast}
    example.com/two: {string: a, int: 1}
    example.com/long: {string: "0123456789012345678901234567890123456789012345678901234567890123456789"}
    bad-name: {bool: true}
)");
  ASSERT_TRUE(yaml.problems.empty());
  const DeviceAttributes object = decode_device_attributes(yaml.documents.at(0), driver);
  EXPECT_EQ(object.attributes.size(), 2u);
  EXPECT_TRUE(object.attributes.contains("example.com/rack"));
  EXPECT_TRUE(object.attributes.contains("k8s.cni.cncf.io/resourceName"));
  for (const std::string& key :
       {driver + "/vendor", std::string("resource.kubernetes.io/anything"), std::string("example.com/two"),
        std::string("example.com/long"), driver + "/bad-name"})
    EXPECT_TRUE(object.refused.contains(key)) << key;
  EXPECT_EQ(object.problems.size(), 5u);
}

}  // namespace
}  // namespace sliced::policy
