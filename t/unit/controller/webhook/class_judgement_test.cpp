#include "controller/webhook/class_judgement.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "controller/webhook/judgement.h"
#include "kube/objects/yaml.h"
#include "t/fixture/golden.h"

namespace sliced::webhook {
namespace class_judgement_test {
namespace {

const Drivers kDrivers{"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"};

kube::Json class_of(const std::string& expression, const std::string& more = "") {
  return kube::decode_yaml(
             "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n"
             "  - cel:\n      expression: >-\n        " +
             expression + "\n" + more)
      .documents.at(0);
}

std::string said_of_class(const kube::Json& object) {
  const auto judged = judge(object, kDrivers);
  if (!judged) return "nothing";
  std::string out;
  for (const auto& problem : judged->errors) out += text_of(*judged, problem) + "\n";
  for (const auto& problem : judged->warnings) out += "warning: " + text_of(*judged, problem) + "\n";
  return out;
}

TEST(ClassJudgement, ClassesOfOtherDriversAreIgnored) {
  EXPECT_EQ(said_of_class(class_of("device.driver == 'gpu.example.com' &&")), "nothing");
  EXPECT_EQ(said_of_class(class_of("device.attributes['gpu.example.com'].typo")), "nothing");
  EXPECT_EQ(
      said_of_class(kube::decode_yaml(
                        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {}\n")
                        .documents.at(0)),
      "nothing");
  EXPECT_EQ(said_of_class(
                kube::decode_yaml(
                    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec: {selectors: 7, config: x}\n")
                    .documents.at(0)),
            "nothing");
}

TEST(ClassJudgement, AnExpressionThatDoesNotCompileIsAnErrorWithItsColumn) {
  const std::string said = said_of_class(class_of("device.driver == 'dra.networking' && device.typo == 1"));
  EXPECT_EQ(said.find("DeviceClass c: spec.selectors[0].cel.expression column "), 0u) << said;
  EXPECT_NE(said.find("typo"), std::string::npos) << said;
  EXPECT_EQ(said_of_class(class_of("device.driver == 'dra.networking' ||")).find("DeviceClass c: "), 0u);
}

// A PF without an interface. Red when the first selector that people copy ends the allocation of a claim on all nodes without a warning.
TEST(ClassJudgement, WarnsAboutAnUnguardedPFName) {
  const std::string said =
      said_of_class(class_of("device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].PFName == 'ens1f0'"));
  EXPECT_NE(said.find("PFName is absent where the PF has no interface"), std::string::npos) << said;
  EXPECT_NE(said.find(".?PFName.orValue(\"\")"), std::string::npos) << said;
}

// Red when an attribute that devices have causes a warning, or one that none has does not.
TEST(ClassJudgement, WarnsAboutAttributesThatNoDevicePublishes) {
  for (
      const char* known :
      {"device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].?PFName.orValue('') == 'ens1f0'",
       "has(device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].PFName) && "
       "device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].PFName == 'ens1f0'",
       "device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].resourceName == 'x'",
       "device.attributes['dra.networking'].ifName == 'ens1f0'",
       "device.attributes['dra.networking'].cni_host_device",
       "device.attributes['dra.networking'].supportedCNIs.contains(',sriov,')",
       "device.driver == 'dra.networking' && device.attributes['example.org'].anything == 1",
       "device.driver == 'dra.networking' && device.capacity['dra.networking'].share.isGreaterThan(quantity('1'))",
       "device.driver == 'dra.networking' && 'zone' in device.attributes['dra.networking'] && "
       "device.attributes['dra.networking'].zone == 'a'",
       "has(device.attributes['dra.networking'].type)"})
    EXPECT_EQ(said_of_class(class_of(known)), "") << known;
  const std::string said =
      said_of_class(class_of("device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].pfname == 'a' || "
                             "device.attributes['sriovnetwork.k8snetworkplumbingwg.io'].pfname == 'b'"));
  EXPECT_EQ(
      said,
      "warning: DeviceClass c: spec.selectors[0].cel.expression column 58: no device has the attribute "
      "sriovnetwork.k8snetworkplumbingwg.io/pfname, unless a DeviceAttributes object adds it; did you mean PFName?; the "
      "scheduler gives up a pod whose selector reads an absent attribute\n")
      << "once";
  for (const char* unguarded :
       {"'zone' in device.attributes['dra.networking'] || device.attributes['dra.networking'].zone == 'a'",
        "'zone' in device.attributes['example.org'] && device.attributes['dra.networking'].zone == 'a'",
        "'pfNam' in device.attributes['dra.networking'] && device.attributes['dra.networking'].pfNam == 'a'"})
    EXPECT_NE(said_of_class(class_of(unguarded)), "") << unguarded;
  // For selectors of policies alone: it is never published.
  EXPECT_NE(
      said_of_class(class_of("device.attributes['dra.networking'].operState == 'up'")).find("warning: "),
      std::string::npos);
  fixture::expect_golden(
      said_of_class(class_of("device.attributes['dra.networking'].?zone.orValue('') == 'a'")));
}

TEST(ClassJudgement, JudgesConfigurationsLikeThoseOfClaims) {
  const std::string config =
      "  config:\n  - opaque:\n      driver: sriovnetwork.k8snetworkplumbingwg.io\n      parameters: {apiVersion: "
      "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, ";
  EXPECT_EQ(
      said_of_class(class_of("device.driver == 'x'", config + "ifNames: net1}\n")),
      "DeviceClass c: spec.config[0].opaque.parameters.ifNames is an unknown field; did you mean ifName?\n");
  EXPECT_EQ(said_of_class(class_of("device.driver == 'x'",
                                   config + "netAttachDefName: a, netAttachDefNamespace: b}\n")),
            "")
      << "a class may name another namespace";
}

// Red when a class with many dear selectors takes a worker for as long as it likes.
TEST(ClassJudgement, WorkIsBounded) {
  std::string dear = "device.driver == 'dra.networking'";
  for (int i = 0; i < 180; ++i)
    dear += " && 'aaaaaaaaaaaaaaaa'.matches('(a{1,50}){1,10}" + std::to_string(i) + "')";
  std::string yaml =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n";
  for (int i = 0; i < 32; ++i) yaml += "  - cel: {expression: \"" + dear + "\"}\n";
  const auto judged = judge(kube::decode_yaml(yaml).documents.at(0), kDrivers);
  ASSERT_TRUE(judged);
  EXPECT_TRUE(judged->is_selector_unchecked);
  EXPECT_LE(judged->selector_work, 2 * 500'000u);
  const auto idle = judge(class_of("device.driver == 'dra.networking'"), kDrivers, "", /*may_work=*/false);
  EXPECT_TRUE(idle->is_selector_unchecked);
  EXPECT_EQ(idle->selector_work, 0u);
}

// Red when of many the last are lost and not counted.
TEST(ClassJudgement, ReportsSomeOfManyUnknownAttributes) {
  std::string many = "device.driver == 'dra.networking'";
  for (int i = 0; i < 150; ++i)
    many += " && device.attributes['dra.networking'].a" + std::to_string(i) + " == 1";
  const auto judged = judge(class_of(many), kDrivers);
  ASSERT_TRUE(judged);
  EXPECT_TRUE(judged->errors.empty()) << said_of_class(class_of(many));
  EXPECT_EQ(judged->warnings.size(), 150u);
  EXPECT_LT(judged->warnings.kept(), 30u);
}

TEST(ClassJudgement, AcceptsTheExampleClasses) {
  size_t judged_ones = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SLICED_CONFIG)) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().parent_path().filename() == "from-dranet")
      continue;  // of another driver: input of `migrate`
    std::ifstream file(entry.path());
    for (const kube::Json& object :
         kube::decode_yaml(std::string(std::istreambuf_iterator<char>(file), {})).documents) {
      if (object.text("kind") != "DeviceClass") continue;
      EXPECT_EQ(said_of_class(object), "") << entry.path();
      ++judged_ones;
    }
  }
  EXPECT_GT(judged_ones, 3u);
}

}  // namespace
}  // namespace class_judgement_test
}  // namespace sliced::webhook
