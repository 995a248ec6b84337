#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/options.h"
#include "daemon/process.h"
#include "kubectl/commands.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace validate_test {
namespace {

struct ValidateTest : testing::Test {
  ValidateTest() {
    std::string pattern = testing::TempDir() + "validated.XXXXXX";
    directory = ::mkdtemp(pattern.data());
    options.command = config::Command::kValidate;
  }
  ~ValidateTest() override { std::filesystem::remove_all(directory); }
  void file(const std::string& name, const std::string& text) {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << text;
    options.arguments.push_back(path);
  }
  // Lines without the directory; the last counts.
  std::string said(int exit = daemon::kExitError) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(validate(options), exit);
    std::string out = testing::internal::GetCapturedStdout();
    for (size_t at; (at = out.find(directory + "/")) != std::string::npos;)
      out.erase(at, directory.size() + 1);
    return out;
  }
  config::Options options;
  std::string directory;
};

std::string policy(const std::string& meta, const std::string& pf = "ens1f0") {
  return "---\napiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\nmetadata: {" +
         meta + "}\nspec: {configs: [{resourceName: a, resourceFilters: [{pfNames: [" + pf + "]}]}]}\n";
}
const std::string kTaken = ", and one would replace the other; change the name, or remove one of them\n";

// Red when two objects of one name, of which a cluster keeps one, are taken for sound.
TEST_F(ValidateTest, ReportsDuplicateObjects) {
  file("a.yaml",
       policy("name: p") + policy("name: p, namespace: other") +
           "---\napiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: DeviceAttributes\n"
           "metadata: {name: p}\nspec: {attributes: {a: {string: b}}}\n");
  file("b.yaml", policy("name: q") + policy("name: p", "ens1f1"));
  EXPECT_EQ(
      said(),
      "a.yaml:7: warning: SriovResourcePolicy p: metadata.namespace is \"other\", and the daemons use policies of "
      "namespace \"dra-driver-sriov\" only (--namespace): this object has no effect there\n"
      "b.yaml:7: error: SriovResourcePolicy p: metadata.name \"p\" is also the name of the object at a.yaml:2" +
          kTaken + "5 objects checked, 1 error, 1 warning\n");
}

// Red when a namespace that means nothing has two objects pass of which one would be lost.
TEST_F(ValidateTest, ReportsDuplicateClusterScopedObjects) {
  const auto exposure = [](const std::string& namespace_) {
    return "---\napiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: p, namespace: " +
           namespace_ + "}\nspec: {selector: {cel: 'true'}, action: exclude}\n";
  };
  const auto device_class = [](const std::string& namespace_) {
    return "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c, namespace: " +
           namespace_ +
           "}\nspec: {selectors: [{cel: {expression: \"device.driver == 'sriovnetwork.k8snetworkplumbingwg.io'\"}}]}\n";
  };
  options.sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  file("a.yaml", exposure("a") + exposure("b") + device_class("a") + device_class("b"));
  fixture::expect_golden(said());
}

// Red when examples that contain the same policy, which can be applied side by side, are refused.
TEST_F(ValidateTest, AcceptsAnEqualDuplicate) {
  file("a.yaml", policy("name: p"));
  file("b.yaml", policy("name: p"));
  EXPECT_EQ(said(daemon::kExitSame), "2 objects checked, 0 errors, 0 warnings\n");
}

TEST_F(ValidateTest, BoundsTheReportOfDuplicates) {
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += policy("name: p", "ens1f" + std::to_string(i));
  file("a.yaml", text);
  file("b.yaml", policy("name: q"));
  const std::string out = said();
  size_t lines = 0;
  for (size_t at = out.find(kTaken); at != std::string::npos; at = out.find(kTaken, at + 1)) ++lines;
  EXPECT_EQ(lines, 20u);
  fixture::expect_golden(out);
}

TEST_F(ValidateTest, AcceptsGeneratedNames) {
  const std::string claim =
      "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {generateName: a-}\nspec: {devices: {requests: "
      "[{name: a, exactly: {deviceClassName: sriov}}], config: [{opaque: {driver: sriovnetwork.k8snetworkplumbingwg.io, "
      "parameters: {apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, driver: vfio-pci}}}]}}\n";
  options.sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  file("a.yaml", claim + claim);
  EXPECT_EQ(said(daemon::kExitSame), "2 objects checked, 0 errors, 0 warnings\n");
}

std::string network(const std::string& meta, const std::string& config) {
  return "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {" + meta +
         "}\nspec:\n  config: '" + config + "'\n";
}

// Red when a definition that a node refuses passes, in a file, in a List or in JSON, or when one that a DeviceClass names does not.
TEST_F(ValidateTest, ChecksDefinitionsLikeNodes) {
  file("a.yaml", network("name: good, namespace: apps", R"({"type":"sriov","vlan":5})") +
                     network("name: bad, namespace: apps", R"({"type":"sriov","vlan":4095})") +
                     network("name: paths, namespace: apps", R"({"type":"sriov","logFile":"/var/log/a"})") +
                     network("name: paths, namespace: admin", R"({"type":"sriov","logFile":"/var/log/a"})") +
                     network("name: listed", R"({"plugins":[{"type":"macvlan"},{"type":"portmap"}]})"));
  file(
      "b.yaml",
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: k8s.cni.cncf.io/v1\n  kind: NetworkAttachmentDefinition\n"
      "  metadata: {name: in-list}\n  spec: {config: '{\"type\":\"sriov\",\"Vlan\":1}'}\n"
      "- apiVersion: resource.k8s.io/v1\n  kind: DeviceClass\n  metadata: {name: c}\n  spec: {config: [{opaque: {driver: "
      "sriovnetwork.k8snetworkplumbingwg.io, parameters: {apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, "
      "kind: VfConfig, netAttachDefName: paths, netAttachDefNamespace: admin}}}]}\n");
  file("c.json",
       R"({"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{"name":"j"},)"
       R"("spec":{"config":"{\"type\":\"bridge\",\"prevResult\":{}}"}})");
  const std::string out = said();
  EXPECT_NE(
      out.find(
          "a.yaml:12: error: NetworkAttachmentDefinition apps/bad: spec.config: vlan is 4095: expected 0 to 4094\n"),
      std::string::npos)
      << out;
  EXPECT_NE(
      out.find(
          "error: NetworkAttachmentDefinition apps/paths: spec.config: logFile is \"/var/log/a\", and only an "
          "administrator sets it"),
      std::string::npos)
      << out;
  EXPECT_EQ(out.find("admin/paths"), std::string::npos) << out;
  EXPECT_NE(
      out.find(
          "warning: NetworkAttachmentDefinition listed: spec.config has \"portmap\", which runs only when listed"),
      std::string::npos)
      << out;
  EXPECT_NE(
      out.find("b.yaml:7: error: NetworkAttachmentDefinition in-list: spec.config: Vlan differs in case"),
      std::string::npos)
      << out;
  EXPECT_NE(
      out.find(
          "c.json:1: error: NetworkAttachmentDefinition j: spec.config: prevResult is set by sliced alone"),
      std::string::npos)
      << out;
  EXPECT_TRUE(out.ends_with("8 objects checked, 4 errors, 1 warning\n")) << out;
}

// Red when a mistake in a config of several lines has only the line of its key, or a line of another file.
TEST_F(ValidateTest, AMistakeOfJsonInABlockScalarHasItsLineOfTheFile) {
  const auto definition = [](const std::string& config) {
    return "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: a}\nspec:\n  config: " +
           config;
  };
  const std::string lines = "\n    {\n      \"type\": \"sriov\"\n      \"vlan\": 5\n    }\n";
  for (const char* header : {"|", "|-", "|2 # of the lab"}) {
    options.arguments.clear();
    file("a.yaml", definition(header + lines));
    const std::string out = said();
    EXPECT_TRUE(out.starts_with(
        "a.yaml:8: error: NetworkAttachmentDefinition a: spec.config is not valid JSON at line 3, "
        "column "))
        << out;
    EXPECT_NE(out.find(R"(before "vlan": 5: )"), std::string::npos) << out;
  }
  options.arguments.clear();
  file("a.yaml", definition("'{\"type\": \"sriov\" \"vlan\": 5}'\n"));
  const std::string out = said();
  EXPECT_TRUE(out.starts_with(
      "a.yaml:5: error: NetworkAttachmentDefinition a: spec.config is not valid JSON at line 1, column 18, before"))
      << out;
}

// Red when the driver of a class in a later file is not used, or when a template is not looked at as a claim is.
TEST_F(ValidateTest, FindsAnIgnoredConfigurationThroughTheClassOfAnotherFile) {
  options.sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  options.exposure_driver_name = "dra.networking";
  const auto of_kind = [](const std::string& kind, const std::string& open, const std::string& close) {
    return "---\napiVersion: resource.k8s.io/v1\nkind: " + kind +
           "\nmetadata: {name: c, namespace: apps}\nspec: " + open +
           "{devices: {requests: [{name: a, exactly: {deviceClassName: fast}}], config: [{opaque: {driver: "
           "sriovnetwork.k8snetworkplumbingwg.io, parameters: {apiVersion: "
           "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, driver: vfio-pci}}}]}}" +
           close + "\n";
  };
  file("a.yaml", of_kind("ResourceClaim", "", "") + of_kind("ResourceClaimTemplate", "{spec: ", "}"));
  EXPECT_EQ(said(daemon::kExitSame), "2 objects checked, 0 errors, 0 warnings\n");
  file(
      "b.yaml",
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: fast}\nspec: {selectors: [{cel: {expression: "
      "\"device.driver == 'dra.networking'\"}}]}\n");
  fixture::expect_golden(said(daemon::kExitSame));
}

TEST_F(ValidateTest, TemplatesOfAClusterAreChecked) {
  options.sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  options.exposure_driver_name = "dra.networking";
  file(
      "t.yaml",
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: c, namespace: apps}\nspec: {spec: "
      "{devices: {requests: [{name: a, exactly: {deviceClassName: dra.networking, selectors: [{cel: {expression: "
      "\"device.attributes['dra.networking'].ifname == 'a'\"}}]}}]}}}\n");
  options.arguments.clear();
  options.cluster = config::ClusterDirectory{directory};
  fixture::expect_golden(said(daemon::kExitSame));
}

TEST_F(ValidateTest, ObjectsOfAClusterAreChecked) {
  file("nad.yaml", network("name: bad, namespace: apps", R"({"type":"sriov","vlan":4095})"));
  file("policy.yaml", policy("name: p, namespace: dra-driver-sriov"));
  options.arguments.clear();
  options.cluster = config::ClusterDirectory{directory};
  EXPECT_EQ(
      said(),
      "cluster: error: NetworkAttachmentDefinition apps/bad: spec.config: vlan is 4095: expected 0 to 4094\n"
      "2 objects checked, 1 error, 0 warnings\n");
}

// Red when a file of which nothing was checked reads as success.
TEST_F(ValidateTest, ReportsFilesOfOtherKindsAsUnchecked) {
  file(
      "plugin.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {config.json: '{\"resourceList\": []}'}\n");
  EXPECT_EQ(
      said(daemon::kExitSame),
      "plugin.yaml:1: warning: ConfigMap: it configures the SR-IOV network device plugin, which is not checked here; "
      "kubectl sliced migrate FILE turns it into policies, or names its mistakes\n"
      "0 objects checked, 0 errors, 1 warning\n");
  options.arguments.clear();
  file("space.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n");
  EXPECT_EQ(said(daemon::kExitSame),
            "space.yaml: warning: no object of a checked kind: Namespace\n"
            "0 objects checked, 0 errors, 1 warning\n");
}

// Red when a name that is nearly that of a driver's class or domain is taken for another driver's.
TEST_F(ValidateTest, WarnsAboutANameSimilarToAKnownKind) {
  file(
      "a.yaml",
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, "
      "exactly: {deviceClassName: sriovnetworks.k8snetworkplumbingwg.io}}]}}\n"
      "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: vf}\nspec: {selectors: [{cel: {expression: "
      "'device.driver == \"sriovnetworks.k8snetworkplumbingwg.io\"'}}]}\n"
      "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {selectors: [{cel: {expression: "
      "'device.driver == \"gpu.example.com\"'}}]}\n");
  const std::string out = said(daemon::kExitSame);
  EXPECT_NE(out.find("ResourceClaim c: spec.devices.requests[0].exactly.deviceClassName is "
                     "\"sriovnetworks.k8snetworkplumbingwg.io\"; did you mean DeviceClass "
                     "sriovnetwork.k8snetworkplumbingwg.io?"),
            std::string::npos)
      << out;
  EXPECT_NE(
      out.find(
          "DeviceClass vf: spec.selectors[0].cel.expression names \"sriovnetworks.k8snetworkplumbingwg.io\"; did you "
          "mean sriovnetwork.k8snetworkplumbingwg.io?"),
      std::string::npos)
      << out;
  EXPECT_EQ(out.find("gpu"), std::string::npos) << out;
}

}  // namespace
}  // namespace validate_test
}  // namespace sliced::cli
