#include <gtest/gtest.h>

#include <algorithm>

#include "kube/objects/yaml.h"
#include "policy/exposure/decode_policy.h"

namespace sliced::policy {
namespace exposure_decode_test {

using kube::Quantity;

constexpr const char* kSelector = "  selector: {cel: 'true'}\n";

ExposurePolicy policy_of(const std::string& spec) {
  const auto yaml = kube::decode_yaml("metadata: {name: p, uid: u, generation: 3}\nspec:\n" + spec);
  EXPECT_TRUE(yaml.problems.empty()) << spec;
  return decode_exposure_policy(yaml.documents.at(0));
}

std::string said(const ExposurePolicy& policy) {
  std::string all;
  for (const Problem& problem : policy.problems) all += problem.field + ": " + problem.what + "\n";
  return all;
}

ExposurePolicy exposing(const std::string& exposure) {
  return policy_of(std::string(kSelector) + "  exposure: " + exposure);
}

kube::Capacity capacity(const char* value, const char* default_, std::optional<kube::ValidRange> range = {}) {
  return {*Quantity::decode(value), kube::RequestPolicy{*Quantity::decode(default_), {}, std::move(range)}};
}

// Turns red when a field is lost, read as another, or has another default.
TEST(ExposurePolicy, DecodesEveryField) {
  const ExposurePolicy policy = policy_of(R"(
  nodeSelector: {matchLabels: {zone: a}}
  priority: 7
  selector:
    cel: >-
      device.attributes["dra.networking"].type == "pf"
  action: expose
  allowHostUse: true
  includeVirtual: true
  exposure:
    deviceNameSuffix: "-macvlan"
    exclusionGroup: rx-handler
    allowMultipleAllocations: true
    capacity:
      macvlans: {value: "64", requestPolicy: {default: "2", validRange: {min: "1", max: "4", step: "1"}}}
      example.com/slots: {value: 10, requestPolicy: {validValues: ["1", "2"]}}
    supportedCNIPlugins:
      - {name: macvlan, exclusive: false, consumePerAllocation: {macvlans: 2}}
      - {name: ipvlan}
    additionalAttributes:
      physicalNetworkName: fabric-a
      example.com/rack: {int: 5}
      gold: {bool: true}
      firmware: {version: 1.2.3}
      planes: {strings: [a, b]}
)");
  ExposurePolicy wanted;
  wanted.id = {"p"};
  wanted.uid = "u";
  wanted.generation = 3;
  wanted.priority = 7;
  wanted.action = ExposureAction::kExpose;
  wanted.node_selector = {false, {{{{"zone", kube::Operator::kIn, {"a"}}}, {}}}};
  wanted.selector = {"device.attributes[\"dra.networking\"].type == \"pf\"", policy.selector.line};
  wanted.host_use.is_any = wanted.include_virtual = true;
  Exposure& exposure = wanted.exposure;
  exposure.name_suffix = "-macvlan";
  exposure.exclusion_group = "rx-handler";
  exposure.allow_multiple_allocations = true;
  exposure.capacity["dra.networking/macvlans"] =
      capacity("64", "2", kube::ValidRange{Quantity(1), Quantity(4), Quantity(1)});
  exposure.capacity["example.com/slots"] = capacity("10", "1");
  exposure.capacity["example.com/slots"].request_policy->valid_values = {Quantity(1), Quantity(2)};
  exposure.lists_plugins = true;
  exposure.plugins = {{"macvlan", {{"dra.networking/macvlans", Quantity(2)}}}, {"ipvlan", {}}};
  exposure.additional_attributes = {{"dra.networking/physicalNetworkName", std::string("fabric-a")},
                                    {"example.com/rack", int64_t{5}},
                                    {"dra.networking/gold", true},
                                    {"dra.networking/firmware", kube::Version{"1.2.3"}},
                                    {"dra.networking/planes", std::vector<std::string>{"a", "b"}}};
  EXPECT_EQ(said(policy), "");
  EXPECT_EQ(policy, wanted);
  EXPECT_GT(policy.selector.line, 5);
}

TEST(ExposurePolicy, HasTheDefaultsOfTheCrd) {
  const ExposurePolicy policy = policy_of(kSelector);
  EXPECT_EQ(said(policy), "");
  EXPECT_EQ(policy.priority, 100);
  EXPECT_EQ(policy.action, ExposureAction::kExpose);
  EXPECT_TRUE(policy.node_selector.everything);
  EXPECT_EQ(policy.exposure, Exposure{});
  EXPECT_FALSE(policy.host_use.is_any || policy.include_virtual);
}

// Turns red when a claim that does not name a capacity would take all of it (no default), or when status
// counts.
TEST(ExposurePolicy, ASharedPersonaHasACapacityWithADefault) {
  const struct {
    const char* why;
    const char* exposure;
    const char* key;
    kube::Capacity wanted;
  } rows[] = {
      {"none given", "{allowMultipleAllocations: true}", "dra.networking/shares", capacity("1000", "1")},
      {"none given, and consumed",
       "{allowMultipleAllocations: true, supportedCNIPlugins: [{name: macvlan, consumePerAllocation: "
       "{shares: "
       "5}}]}",
       "dra.networking/shares", capacity("1000", "5")},
      {"given without a policy", "{allowMultipleAllocations: true, capacity: {ports: {value: 64}}}",
       "dra.networking/ports", capacity("64", "1")},
      {"the one that is consumed",
       "{allowMultipleAllocations: true, capacity: {ports: {value: 64}}, supportedCNIPlugins: [{name: "
       "bridge, "
       "consumePerAllocation: {dra.networking/ports: 2}}]}",
       "dra.networking/ports", capacity("64", "2")},
      {"given and consumed, the same by value",
       "{allowMultipleAllocations: true, capacity: {ports: {value: 64k, requestPolicy: {default: 1k}}}, "
       "supportedCNIPlugins: [{name: bridge, consumePerAllocation: {ports: 1000}}]}",
       "dra.networking/ports", capacity("64k", "1k")},
  };
  for (const auto& row : rows) {
    const ExposurePolicy policy = exposing(row.exposure);
    EXPECT_EQ(said(policy), "") << row.why;
    const std::map<std::string, kube::Capacity> wanted{{row.key, row.wanted}};
    EXPECT_EQ(policy.exposure.capacity, wanted) << row.why;
  }
  const ExposurePolicy exclusive = exposing("{capacity: {bandwidth: {value: 100G}}}");
  EXPECT_EQ(said(exclusive), "");
  EXPECT_FALSE(exclusive.exposure.capacity.at("dra.networking/bandwidth").request_policy.has_value());
}

// A policy that must offer nothing; red when it is let through, or when its author is not told what to write
// instead.
struct Refused {
  std::string spec, field;
  std::vector<std::string> said;
};
void expect_refused(const std::vector<Refused>& rows) {
  for (const auto& row : rows) {
    SCOPED_TRACE(row.spec.substr(0, 300));
    const ExposurePolicy policy = policy_of(row.spec);
    const auto found = std::find_if(policy.problems.begin(), policy.problems.end(),
                                    [&](const Problem& problem) { return problem.field == row.field; });
    if (found == policy.problems.end()) {
      ADD_FAILURE() << "no problem of " << row.field << " among\n" << said(policy);
      continue;
    }
    for (const std::string& fragment : row.said)
      EXPECT_NE(found->what.find(fragment), std::string::npos) << fragment << " in: " << found->what;
    EXPECT_GT(found->line, 0) << "a person wants to find it";
    EXPECT_EQ(warnings_of(policy), Problems{}) << "errors are enough";
  }
}

const std::string kShared = "allowMultipleAllocations: true, ";
const std::string kCapacity = "spec.exposure.capacity[c]", kRequestPolicy = kCapacity + ".requestPolicy";
const std::string kPlugins = "spec.exposure.supportedCNIPlugins";
const std::string kAttributes = "spec.exposure.additionalAttributes";

std::string with_exposure(const std::string& inner) {
  return std::string(kSelector) + "  exposure: {" + inner + "}";
}
std::string with_request_policy(const std::string& inner) {
  return with_exposure(kShared + "capacity: {c: {value: 8, requestPolicy: {" + inner + "}}}");
}
std::string with_plugin(const std::string& inner) {
  return with_exposure("supportedCNIPlugins: [" + inner + "]");
}
std::string with_attribute(const std::string& inner) {
  return with_exposure("additionalAttributes: {" + inner + "}");
}

TEST(ExposurePolicy, ReportsUnknownFieldsAtEveryLevel) {
  expect_refused({
      {std::string(kSelector) + "  exposures: {}", "spec.exposures", {"did you mean exposure"}},
      {"  selector: {cell: 'true'}", "spec.selector.cell", {"did you mean cel"}},
      {with_exposure("nameSuffix: a"), "spec.exposure.nameSuffix", {"deviceNameSuffix"}},
      {with_exposure("capacity: {c: {values: 1}}"), kCapacity + ".values", {"did you mean value"}},
      {with_request_policy("defaults: 1"), kRequestPolicy + ".defaults", {"did you mean default"}},
      {with_request_policy("default: 1, validRange: {min: 1, maximum: 2}"),
       kRequestPolicy + ".validRange.maximum",
       {"known are"}},
      {with_plugin("{name: macvlan, exclusiv: true}"), kPlugins + "[0].exclusiv", {"did you mean exclusive"}},
      {std::string(kSelector) + "  nodeSelector: {matchLabel: {a: b}, matchLabels: {a: b}}",
       "spec.nodeSelector.matchLabel",
       {"did you mean matchLabels"}},
      {with_attribute("a: {strng: b}"), kAttributes + "[a]", {"exactly one of"}},
  });
}

// Red when an exclude in a member beside spec with a similar name is lost without a message.
TEST(ExposurePolicy, AFieldBesideSpecMayBeAnAction) {
  const ExposurePolicy policy = policy_of(std::string(kSelector) + "status: {}\nSpec: {action: exclude}\n");
  ASSERT_EQ(policy.problems.size(), 1u);
  EXPECT_EQ(policy.problems.front().field, "Spec");
  EXPECT_EQ(policy.problems.front().what, "unknown field; did you mean spec?");
  EXPECT_EQ(policy.action, ExposureAction::kUnknown);
}

TEST(ExposurePolicy, ReportsInvalidSpecsWithARemedy) {
  expect_refused({
      {"  priority: 1", "spec.selector", {"missing", "cel"}},
      {"  selector: {cel: ' '}", "spec.selector.cel", {"missing", "\"true\""}},
      {"  selector: {cel: true}", "spec.selector.cel", {"expected a string"}},
      {"  selector: {cel: " + std::string(11000, 'a') + "}", "spec.selector.cel", {"11000", "10240"}},
      {std::string(kSelector) + "  priority: 1001", "spec.priority", {"1001", "0 to 1000"}},
      {std::string(kSelector) + "  priority: -1", "spec.priority", {"-1", "0 to 1000"}},
      {std::string(kSelector) + "  action: hide", "spec.action", {"hide", "expose or exclude"}},
      {std::string(kSelector) + "  includeVirtual: 'yes'", "spec.includeVirtual", {"true or false"}},
      {std::string(kSelector) + "  allowHostUse: 1", "spec.allowHostUse", {"true or false"}},
      {std::string(kSelector) + "  allow: [vlan, link-state]",
       "spec.allow",
       {"has \"link-state\"; did you mean link_state?", "expected some of vlan, vlanQoS"}},
      {std::string(kSelector) + "  allow: [mac, mac]", "spec.allow", {"has \"mac\" twice: remove one"}},
      {std::string(kSelector) + "  allow: null", "spec.allow", {"is null", "[] allows nothing"}},
      {std::string(kSelector) + "  allow: all", "spec.allow", {"expected a list"}},
      {std::string(kSelector) + "  action: exclude\n  exposure: {}", "spec.exposure", {"remove one"}},
      {std::string(kSelector) + "  exposure: []", "spec.exposure", {"expected a map"}},
  });
}

TEST(ExposurePolicy, ReportsInvalidNamesWithARemedy) {
  expect_refused({
      {with_exposure("deviceNameSuffix: '-Macvlan'"),
       "spec.exposure.deviceNameSuffix",
       {"-Macvlan", "DNS label"}},
      {with_exposure("deviceNameSuffix: '-a-'"), "spec.exposure.deviceNameSuffix", {"the last not -"}},
      {with_exposure("deviceNameSuffix: '" + std::string(33, 'a') + "'"),
       "spec.exposure.deviceNameSuffix",
       {"32"}},
      {with_exposure("exclusionGroup: rx_handler"),
       "spec.exposure.exclusionGroup",
       {"rx_handler", "DNS label"}},
      {with_exposure("exclusionGroup: " + std::string(58, 'a')), "spec.exposure.exclusionGroup", {"57"}},
  });
}

TEST(ExposurePolicy, ReportsInvalidCapacitiesWithARemedy) {
  expect_refused({
      {with_exposure("capacity: {c: }"), kCapacity + ".value", {"missing"}},
      {with_exposure("capacity: {c: 64}"), kCapacity, {"expected a map"}},
      {with_exposure("capacity: {c: {value: many}}"), kCapacity + ".value", {"many", "\"10G\""}},
      {with_exposure("capacity: {c: {value: 0}}"), kCapacity + ".value", {"more than 0"}},
      {with_exposure("capacity: {'a b': {value: 1}}"), "spec.exposure.capacity[a b]", {"IDENTIFIER"}},
      {with_exposure("capacity: {resource.kubernetes.io/c: {value: 1}}"),
       "spec.exposure.capacity[resource.kubernetes.io/c]",
       {"reserved"}},
      {with_exposure("capacity: {c: {value: 1}, dra.networking/c: {value: 1}}"),
       "spec.exposure.capacity[dra.networking/c]",
       {"is a duplicate"}},
      {with_exposure(
           "capacity: {a: {value: 1}, b: {value: 1}, c: {value: 1}, d: {value: 1}, e: {value: 1}, f: "
           "{value: 1}, g: {value: 1}, h: {value: 1}, i: {value: 1}}"),
       "spec.exposure.capacity",
       {"9", "8"}},
      {with_exposure("capacity: {c: {value: 8, requestPolicy: {default: 1}}}"),
       kRequestPolicy,
       {"exclusive", "remove it", "allowMultipleAllocations: true"}},
      {with_exposure(kShared + "capacity: {c: {value: 500m}}"), kCapacity, {"500m", "default is 1 because"}},
      {with_request_policy("default: 9"), kCapacity, {"8", "9"}},
      {with_request_policy("default: 0"), kRequestPolicy + ".default", {"more than 0"}},
      {with_request_policy("validRange: {min: 2}"),
       kRequestPolicy + ".validRange",
       {"min 2", "default 1", "default is 1 because"}},
      {with_request_policy("default: 5, validRange: {min: 1, max: 4}"),
       kRequestPolicy + ".validRange",
       {"default 5", "max 4"}},
      {with_request_policy("default: 1, validRange: {min: 1, max: 9}"),
       kRequestPolicy + ".validRange",
       {"max 9", "capacity 8"}},
      {with_request_policy("default: 1, validRange: {max: 4}"),
       kRequestPolicy + ".validRange.min",
       {"missing"}},
      {with_request_policy("default: 2, validRange: {min: 1, max: 5, step: 2}"),
       kRequestPolicy + ".validRange.step",
       {"multiple"}},
      {with_request_policy("validValues: [2, 4]"),
       kRequestPolicy + ".validValues",
       {"default 1", "default is 1 because"}},
      {with_request_policy("default: 1, validValues: [1, 3, 2]"),
       kRequestPolicy + ".validValues[2]",
       {"ascend"}},
      {with_request_policy("default: 1, validValues: [1], validRange: {min: 1}"),
       kRequestPolicy,
       {"cannot both be set"}},
  });
}

TEST(ExposurePolicy, ReportsInvalidPluginsWithARemedy) {
  expect_refused({
      {with_plugin("{exclusive: true}"), kPlugins + "[0].name", {"macvlan"}},
      {with_plugin("{name: 'mac,vlan'}"), kPlugins + "[0].name", {"mac,vlan", "letters"}},
      {with_plugin("{name: " + std::string(29, 'a') + "}"), kPlugins + "[0].name", {"28"}},
      {with_plugin("{name: sriov}, {name: sriov}"), kPlugins + "[1].name", {"another plugin"}},
      {with_plugin("{name: host-device}, {name: host_device}"),
       kPlugins + "[1].name",
       {"host-device", "host_device"}},
      {with_plugin("{name: " + std::string(28, 'a') + "}, {name: " + std::string(28, 'b') +
                   "}, {name: ccccc}"),
       kPlugins,
       {"65 bytes", "64"}},
      {with_plugin("{name: macvlan, exclusive: false}"),
       kPlugins + "[0].exclusive",
       {"is false for macvlan", "allowMultipleAllocations is false", "write true"}},
      {with_exposure(kShared + "supportedCNIPlugins: [{name: sriov, exclusive: true}]"),
       kPlugins + "[0].exclusive",
       {"is true for sriov", "allowMultipleAllocations is true", "write false"}},
      {with_exposure(
           "deviceNameSuffix: '-x', supportedCNIPlugins: [{name: sriov, exclusive: true}, {name: macvlan, "
           "exclusive: false}]"),
       kPlugins,
       {"mixes exclusive (sriov) and shared (macvlan)", "write two policies",
        "{metadata: {name: p-exclusive}, exposure: {deviceNameSuffix: \"-x-exclusive\", "
        "allowMultipleAllocations: false, supportedCNIPlugins: [{name: sriov, exclusive: true}]}}",
        "{metadata: {name: p-shared}, exposure: {deviceNameSuffix: \"-x-shared\", allowMultipleAllocations: "
        "true, supportedCNIPlugins: [{name: macvlan, exclusive: false}]}}"}},
      {with_exposure(kShared + "capacity: {macvlans: {value: 8}}, supportedCNIPlugins: [{name: macvlan, "
                               "consumePerAllocation: {macvlan: 1}}]"),
       kPlugins + "[0].consumePerAllocation[macvlan]",
       {"is not a capacity", "did you mean macvlans"}},
      {with_plugin("{name: sriov, consumePerAllocation: {c: 1}}"),
       kPlugins + "[0].consumePerAllocation[c]",
       {"exclusive", "remove it"}},
      {with_exposure(kShared +
                     "capacity: {c: {value: 8}}, supportedCNIPlugins: [{name: a, consumePerAllocation: {c: "
                     "9}}]"),
       kCapacity,
       {"8", "9", "consumePerAllocation"}},
      {with_exposure(kShared +
                     "capacity: {c: {value: 8, requestPolicy: {default: 2}}}, supportedCNIPlugins: [{name: "
                     "a, consumePerAllocation: {c: 1}}]"),
       kPlugins + "[0].consumePerAllocation",
       {"takes 1", "requestPolicy.default is 2", "write the same"}},
      {with_exposure(kShared +
                     "capacity: {c: {value: 8}}, supportedCNIPlugins: [{name: a, consumePerAllocation: {c: "
                     "1}}, {name: b, consumePerAllocation: {c: 2}}]"),
       kPlugins + "[1].consumePerAllocation",
       {"takes 2", "another plugin's is 1"}},
      {with_exposure(kShared +
                     "capacity: {c: {value: 8}}, supportedCNIPlugins: [{name: a, consumePerAllocation: {c: "
                     "0}}]"),
       kPlugins + "[0].consumePerAllocation[c]",
       {"more than 0"}},
  });
}

TEST(ExposurePolicy, ReportsInvalidAttributesWithARemedy) {
  expect_refused({
      {with_attribute("a: 5"), kAttributes + "[a]", {"in quotes", "{int: 5}"}},
      {with_attribute("a: {int: 5, bool: true}"), kAttributes + "[a]", {"exactly one"}},
      {with_attribute("a: {version: v1}"), kAttributes + "[a]", {"semantic version"}},
      {with_attribute("a: " + std::string(65, 'x')), kAttributes + "[a]", {"65 bytes", "64"}},
      {with_attribute("a-b: x"), kAttributes + "[a-b]", {"IDENTIFIER"}},
      {with_attribute("ifName: eth0"), kAttributes + "[ifName]", {"daemon itself"}},
      {with_attribute("dra.networking/linkSpeed: {int: 1}"),
       kAttributes + "[dra.networking/linkSpeed]",
       {"daemon itself"}},
      {with_attribute("supportedCNIs: x"), kAttributes + "[supportedCNIs]", {"daemon itself"}},
      {with_attribute("cni_sriov: {bool: true}"), kAttributes + "[cni_sriov]", {"daemon itself"}},
      {with_attribute("resource.kubernetes.io/x: z"),
       kAttributes + "[resource.kubernetes.io/x]",
       {"daemon itself"}},
      {with_attribute("a: x, dra.networking/a: z"), kAttributes + "[dra.networking/a]", {"is a duplicate"}},
  });
}

TEST(ExposurePolicy, AKeyWithoutADomainBelongsToTheDriver) {
  const auto yaml = kube::decode_yaml(
      "metadata: {name: p}\nspec: {selector: {cel: 'true'}, exposure: {additionalAttributes: {a: x, "
      "dra.networking/ifName: z}}}");
  const ExposurePolicy policy = decode_exposure_policy(yaml.documents.at(0), "example.com");
  EXPECT_EQ(said(policy), "") << "nobody of that domain publishes ifName here";
  EXPECT_TRUE(policy.exposure.additional_attributes.contains("example.com/a"));
}

// An unreadable policy may be an exclude: then devices that it may hide must not be offered again.
// Red when a misspelt exclude is taken for an expose, or a misspelt expose holds a node back.
TEST(ExposurePolicy, AnInvalidPolicyMayBeAnExclude) {
  const struct {
    const char* spec;
    ExposureAction wanted;
  } rows[] = {
      {"  action: exclude\n  selector: {cell: x}", ExposureAction::kExclude},
      {"  action: exclude\n  prioritty: 7", ExposureAction::kExclude},
      {"  action: exclud", ExposureAction::kUnknown},
      {"  action: [exclude]", ExposureAction::kUnknown},
      {"  action: ''\n  selector: {cel: 'true'}", ExposureAction::kUnknown},
      {"  actoin: exclude", ExposureAction::kUnknown},
      {"  Action: hide\n  action: expose", ExposureAction::kUnknown},  // the server adds the default
      {"  mode: exclude\n  action: expose", ExposureAction::kUnknown},
      {"  prioritty: 7", ExposureAction::kExpose},
      {"  action: expose\n  selector: 7", ExposureAction::kExpose},
      {"  - exclude", ExposureAction::kUnknown},
  };
  for (const auto& row : rows) {
    const ExposurePolicy policy = policy_of(row.spec);
    EXPECT_FALSE(policy.problems.empty()) << row.spec;
    EXPECT_EQ(name_of(policy.action), name_of(row.wanted)) << row.spec;
  }
  EXPECT_EQ(unreadable_exposure_policy("p", "no JSON").action, ExposureAction::kUnknown);
  EXPECT_EQ(decode_exposure_policy(kube::decode_yaml("metadata: {name: p}").documents.at(0)).action,
            ExposureAction::kUnknown);
}

// Red when an exclude that is half understood holds back fewer nodes than it may mean, or nodes that it
// cannot mean.
TEST(ExposurePolicy, KeepsAValidNodeSelectorOfAnInvalidPolicy) {
  const ExposurePolicy kept =
      policy_of("  action: exclude\n  nodeSelector: {zone: a}\n  selector: {cell: x}");
  EXPECT_FALSE(kept.problems.empty());
  EXPECT_FALSE(match_node(kept.node_selector, {"n", {{"zone", "b"}}}).matched);
  EXPECT_TRUE(match_node(kept.node_selector, {"n", {{"zone", "a"}}}).matched);
  const ExposurePolicy lost = policy_of(
      "  action: exclude\n  selector: {cel: 'true'}\n  nodeSelector: {matchLabels: {zone: a}, "
      "matchExpression: "
      "[]}");
  EXPECT_FALSE(lost.problems.empty());
  EXPECT_TRUE(match_node(lost.node_selector, {"n", {{"zone", "b"}}}).matched);
}

TEST(ExposurePolicy, IgnoresStatus) {
  const auto yaml =
      kube::decode_yaml("metadata: {name: p}\nspec: {selector: {cel: 'true'}}\nstatus: {spec: 7}");
  EXPECT_EQ(said(decode_exposure_policy(yaml.documents.at(0))), "");
}

TEST(ExposurePolicy, WarnsAboutProbableMistakes) {
  const struct {
    const char* spec;
    std::vector<std::string> fields;
  } rows[] = {
      {"  selector: {cel: 'device.attributes[\"dra.networking\"].operState == \"up\"'}\n  action: exclude",
       {"spec.selector.cel"}},
      {"  selector: {cel: 'true'}\n  action: exclude\n  allowHostUse: true\n  includeVirtual: true",
       {"spec.allowHostUse", "spec.includeVirtual"}},
      {"  selector: {cel: 'true'}\n  action: exclude\n  allow: []", {"spec.allow"}},
      {"  selector: {cel: 'true'}", {}},  // claims have `network`
      {"  selector: {cel: 'true'}\n  exposure: {additionalAttributes: {resourceName: a}}", {}},
      {"  selector: {cel: 'true'}\n  allowHostUse: true\n  exposure: {deviceNameSuffix: a, "
       "allowMultipleAllocations: true, supportedCNIPlugins: [{name: macvlan}]}",
       {"spec.allowHostUse", "spec.exposure.deviceNameSuffix"}},
      {"  selector: {cel: 'true'}\n  exposure: {supportedCNIPlugins: [{name: sriov, exclusive: true}]}", {}},
      {"  selector: {cel: 'device.attributes[\"dra.networking\"].type == \"bond\"'}\n  exposure: "
       "{supportedCNIPlugins: [{name: host-device, exclusive: true}]}",
       {"spec.exposure.supportedCNIPlugins"}},
      {"  selector: {cel: 'device.attributes[\"dra.networking\"].type == \"bond\"'}\n  exposure: "
       "{supportedCNIPlugins: [{name: macvlan, exclusive: true}]}",
       {}},
  };
  for (const auto& row : rows) {
    const ExposurePolicy policy = policy_of(row.spec);
    EXPECT_EQ(said(policy), "") << row.spec;
    std::vector<std::string> fields;
    for (const Problem& warning : warnings_of(policy)) fields.push_back(warning.field);
    EXPECT_EQ(fields, row.fields) << row.spec;
  }
}

}  // namespace exposure_decode_test
}  // namespace sliced::policy
