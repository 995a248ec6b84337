// Files of the kinds that real installations have, each with its right answer: `migrated/` has them by kind.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "cli/process.h"
#include "config/options.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace migrate_files_test {
namespace {

const std::string kFiles = std::string(SLICED_MIGRATED) + "/";

struct Answer {
  int status = 0;
  std::string out, err;
  bool says(const std::string& text) const { return (out + err).find(text) != std::string::npos; }
};

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

struct MigrateFiles : testing::Test {
  MigrateFiles() { options.command = config::Command::kMigrate; }

  Answer run(const std::string& file, int (*command)(const config::Options&) = &migrate) {
    options.arguments = {file.starts_with('/') ? file : kFiles + file};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Answer answer;
    answer.status = command(options);
    answer.out = testing::internal::GetCapturedStdout();
    answer.err = testing::internal::GetCapturedStderr();
    return answer;
  }
  Answer check(const std::string& file, const std::string& listing = "host.txt",
               const std::string& node = "n", std::map<std::string, std::string> labels = {}) {
    fixture::SysfsTree host;
    host.load(kFiles + listing);
    options.check = true;
    options.host_root = host.root();
    options.node_name = node;
    options.node_labels = std::move(labels);
    return run(file);
  }
  // "BEFORE>AFTER" of a device.
  static std::string row(const Answer& answer, const std::string& device) {
    std::istringstream lines(answer.out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      std::string name, interface, before, after;
      cells >> name >> interface >> before >> after;
      if (name == device) return before + ">" + after;
    }
    return "";
  }
  std::string written(const std::string& text) {
    tree.write("printed.yaml", text);
    return tree.root() + "/printed.yaml";
  }

  config::Options options;
  fixture::SysfsTree tree;
};

const std::string k01 = "01-check-no-matching-node/";

TEST_F(MigrateFiles, ACheckForANodeThatNothingSelectsIsAnError) {
  const Answer labels = check(k01 + "policies.yaml", "host.txt", "worker-1");
  EXPECT_EQ(labels.status, kExitError);
  for (const char* text :
       {"no configuration is for node worker-1", "labels: kubernetes.io/hostname=worker-1",
        "requires label feature.node.kubernetes.io/network-sriov.capable=true", "--node-labels"})
    EXPECT_TRUE(labels.says(text)) << labels.err;
  EXPECT_EQ(check(k01 + "policies.yaml", "host.txt", "worker-1",
                  {{"feature.node.kubernetes.io/network-sriov.capable", "true"}})
                .status,
            kExitSame);
  const Answer name = check(k01 + "by-node.yaml", "host.txt", "worker-2");
  EXPECT_EQ(name.status, kExitError);
  EXPECT_TRUE(name.says("key worker-1 is for node worker-1")) << name.err;
  EXPECT_EQ(check(k01 + "by-node.yaml", "host.txt", "worker-1").status, kExitSame);
}

TEST_F(MigrateFiles, TheHostnameLabelIsTheNodesName) {
  const Answer same = check(k01 + "dra-policy.yaml", "host.txt", "worker-1");
  EXPECT_EQ(same.status, kExitSame);
  EXPECT_TRUE(same.says("4 devices, 0 differ")) << same.out;
  EXPECT_EQ(check(k01 + "dra-policy.yaml", "host.txt", "worker-2").status, kExitError);
}

TEST_F(MigrateFiles, ACheckWithoutLabelsThatAPolicyRequiresIsAnError) {
  const Answer unknown = check(k01 + "some.yaml");
  EXPECT_EQ(unknown.status, kExitError);
  EXPECT_TRUE(unknown.says("1 of 2 configurations are for labels that are not given")) << unknown.err;
  EXPECT_EQ(check(k01 + "some.yaml", "host.txt", "n", {{"zone", "b"}}).status, kExitSame);
}

// The driver at allocation decides (kubelet/plan.h): no class may ask for vfio-pci where some devices are not on it.
TEST_F(MigrateFiles, VfioNodesFollowTheDriver) {
  const Answer same = check("02-vfio-without-driver/config.json");
  EXPECT_EQ(same.status, kExitSame) << same.out << same.err;
  EXPECT_EQ(row(same, "0000:3b:02.2"), "intel.com/dpdk>intel.com/dpdk");
  EXPECT_EQ(row(same, "0000:3b:02.0"), "intel.com/any>intel.com/any");
  options.check = false;
  const Answer printed = run("02-vfio-without-driver/config.json");
  EXPECT_EQ(printed.status, kExitSame);
  EXPECT_FALSE(printed.says("driver: vfio-pci")) << printed.out;
}

TEST_F(MigrateFiles, SeveralPoliciesOfOneResourceAreObjectsOfTheirOwn) {
  const std::string file = "03-one-resource-several-policies/policies.yaml";
  const Answer rdma = run(file);
  EXPECT_EQ(rdma.status, kExitSame) << rdma.err;
  EXPECT_EQ(count(rdma.out, "kind: DeviceExposurePolicy"), 2u);
  EXPECT_EQ(count(rdma.out, "kind: DeviceClass\n"), 1u);
  EXPECT_TRUE(rdma.says("name: openshift.io-rdma-vf-shape-a\n"));
  EXPECT_TRUE(rdma.says("name: openshift.io-rdma-vf-shape-b\n"));
}

TEST_F(MigrateFiles, TheOnlyKeyOfAConfigMapIsTheFile) {
  const Answer same = check("04-key-is-a-file/only-key.yaml");
  EXPECT_EQ(same.status, kExitSame);
  EXPECT_TRUE(same.says("6 devices, 0 differ")) << same.out;
  EXPECT_TRUE(same.says("data[sriovdp-config] is the only key")) << same.err;
  const Answer files = run("04-key-is-a-file/two-files.yaml");
  EXPECT_EQ(files.status, kExitError);
  EXPECT_TRUE(files.says("data[intel.json] is named as a file")) << files.err;
}

TEST_F(MigrateFiles, WhatIsLostToADefaultRouteIsShown) {
  const Answer v6 = check("05-default-route-not-shown/config.json", "default-route-v6.txt");
  EXPECT_EQ(v6.status, kExitChanges);
  EXPECT_EQ(row(v6, "0000:3b:02.1"), "intel.com/net_a>-") << v6.out;
  const Answer v4 = check("05-default-route-not-shown/config.json", "default-route-v4.txt");
  EXPECT_EQ(v4.status, kExitChanges);
  EXPECT_EQ(row(v4, "0000:3b:0a.0"), "intel.com/net_a>-") << v4.out;
}

TEST_F(MigrateFiles, TheRemedyForNetFilterWorks) {
  const Answer error = run("06-net-filter/policy.yaml");
  EXPECT_EQ(error.status, kExitError);
  EXPECT_TRUE(error.says("give the ConfigMap device-plugin-config")) << error.err;
  const Answer followed = check("06-net-filter/device-plugin-config.yaml", "vm.txt", "vm-1");
  EXPECT_EQ(followed.status, kExitSame) << followed.err;
  EXPECT_EQ(row(followed, "0000:00:06.0"), "openshift.io/radio>openshift.io/radio") << followed.out;
}

TEST_F(MigrateFiles, PoliciesForDifferentNodesAreNotComparedAsOneNodes) {
  for (const char* file : {"other-fields.yaml", "rdma-on-one.yaml"}) {
    const Answer printed = run("07-disjoint-nodes/" + std::string(file));
    EXPECT_EQ(printed.status, kExitSame) << printed.err;
    EXPECT_EQ(count(printed.out, "kind: DeviceClass\n"), 1u);
    EXPECT_TRUE(printed.says("shape.a")) << printed.out;
    EXPECT_TRUE(printed.says("shape.b")) << printed.out;
  }
}

TEST_F(MigrateFiles, FunctionsWithoutAPfAreOffered) {
  const Answer same = check("08-in-a-vm/config.json", "vm.txt");
  EXPECT_EQ(same.status, kExitSame);
  EXPECT_EQ(row(same, "0000:00:06.0"), "intel.com/ena>intel.com/ena") << same.out;
  options.form = config::PolicyForm::kSriov;
  const Answer lost = check("08-in-a-vm/config.json", "vm.txt");
  EXPECT_EQ(lost.status, kExitChanges);
  EXPECT_TRUE(lost.says("--as exposure")) << lost.err;
}

TEST_F(MigrateFiles, FieldsThatTheOperatorDoesNotReadAreErrors) {
  const std::string k09 = "09-unknown-policy-fields/";
  const Answer name = run(k09 + "pfName.yaml");
  EXPECT_EQ(name.status, kExitError);
  EXPECT_TRUE(
      name.says("pfName.yaml:9: error: SriovNetworkNodePolicy a: spec.nicSelector.pfName is no field"))
      << name.err;
  EXPECT_TRUE(name.says("write pfNames")) << name.err;
  const Answer types = run(k09 + "wrong-types.yaml");
  EXPECT_EQ(types.status, kExitError);
  for (const char* text : {"vendor is a number, expected a string: put it in quotes", "deviceID is a number",
                           "pfNames is a string, expected a list of strings"})
    EXPECT_TRUE(types.says(text)) << types.err;
  const Answer places = run(k09 + "at-the-wrong-place.yaml");
  for (const char* text : {"spec.pfNames is no field", "move it to spec.nicSelector",
                           "spec.nicSelector.isRdma", "spec.priority is a string, expected an integer"})
    EXPECT_TRUE(places.says(text)) << places.err;
  EXPECT_TRUE(run(k09 + "selects-everything.yaml").says("spec.nicSelector is empty"));
}

TEST_F(MigrateFiles, AnErrorIsNotHiddenBehindWarnings) {
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += "apiVersion: v1\nkind: Service\nmetadata: {name: s" + std::to_string(i) + "}\n---\n";
  const Answer answer =
      run(written(text + "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"
                         "metadata: {name: bad}\nspec: {resourceName: a, nicSelector: {pfName: [x]}}\n"));
  EXPECT_EQ(answer.status, kExitError);
  EXPECT_LT(answer.err.find("error: SriovNetworkNodePolicy bad"), answer.err.find("warning: Service s0 "))
      << answer.err;
  EXPECT_TRUE(answer.says("and 150 more warnings")) << answer.err;
}

const std::string k11 = "11-unrecognized-kinds/";

TEST_F(MigrateFiles, KindsThatContainAConfigurationAreRead) {
  const Answer cluster = run(k11 + "nic-cluster-policy.yaml");
  EXPECT_EQ(cluster.status, kExitSame);
  EXPECT_TRUE(cluster.says("extendedResourceName: nvidia.com/hostdev")) << cluster.err;
  const Answer node = run(k11 + "nic-node-policy.yaml");
  EXPECT_EQ(node.status, kExitSame);
  EXPECT_TRUE(node.says("nodeSelector:\n    pool: a\n")) << node.out;
  const Answer affinity = run(k11 + "affinity.yaml");
  EXPECT_EQ(affinity.status, kExitSame);
  EXPECT_TRUE(affinity.says("pci-15b3.present")) << affinity.out;
  EXPECT_EQ(check(k11 + "affinity.yaml").status, kExitError) << "the node lacks the label";
  options.check = false;
  const Answer values = run(k11 + "chart-values.yaml");
  EXPECT_EQ(values.status, kExitSame);
  EXPECT_TRUE(values.says("extendedResourceName: intel.com/net_a")) << values.err;
}

TEST_F(MigrateFiles, OfKindsThatAreNotReadItSaysWhatToGive) {
  for (const auto& [file, text] :
       {std::pair("node-policy-of-another-group.yaml", "group sriovnetwork.k8s.cni.cncf.io is not known"),
        std::pair("acm-policy.yaml",
                  "object-templates[0].objectDefinition contains a SriovNetworkNodePolicy"),
        std::pair("nvidia-values.yaml", "give the output of helm template")}) {
    const Answer answer = run(k11 + file);
    EXPECT_EQ(answer.status, kExitError);
    EXPECT_TRUE(answer.says(text)) << answer.err;
  }
}

TEST_F(MigrateFiles, ValidateHasNoWarningsForWhatMigratePrints) {
  for (const char* file :
       {"03-one-resource-several-policies/policies.yaml", "07-disjoint-nodes/rdma-on-one.yaml",
        "08-in-a-vm/config.json", "11-unrecognized-kinds/nic-cluster-policy.yaml",
        "02-vfio-without-driver/config.json"}) {
    const Answer printed = run(file);
    ASSERT_EQ(printed.status, kExitSame) << file;
    const Answer judged = run(written(printed.out), &validate);
    EXPECT_EQ(judged.status, kExitSame);
    EXPECT_TRUE(judged.says(" 0 errors, 0 warnings")) << file << judged.out;
  }
}

TEST_F(MigrateFiles, TheOperatorsConfigMapHasTheOperatorsPrefix) {
  const Answer printed = run("13-operator-configmap/config-map.yaml");
  EXPECT_TRUE(printed.says("extendedResourceName: openshift.io/net_a")) << printed.out;
  EXPECT_FALSE(printed.out.find("intel.com") != std::string::npos);
  options.resource_prefix = "nvidia.com";
  EXPECT_TRUE(run("13-operator-configmap/config-map.yaml").says("extendedResourceName: nvidia.com/net_a"));
}

TEST_F(MigrateFiles, ObjectsGoToTheNamespaceWhereTheDaemonLooks) {
  for (const auto& [file, from] :
       {std::pair("filter.yaml", "dra-sriov-driver"), std::pair("policy.yaml", "elsewhere")}) {
    const Answer printed = run("14-old-namespace/" + std::string(file));
    EXPECT_EQ(printed.status, kExitSame);
    EXPECT_TRUE(printed.out.find("namespace: dra-driver-sriov\n") != std::string::npos) << printed.out;
    EXPECT_TRUE(printed.err.find("is in namespace " + std::string(from)) != std::string::npos) << printed.err;
  }
  const Answer judged = run("14-old-namespace/filter.yaml", &validate);
  EXPECT_TRUE(judged.says("sliced migrate FILE")) << judged.out;
  options.namespace_ = "elsewhere";
  EXPECT_EQ(run("14-old-namespace/policy.yaml").err, "");
}

TEST_F(MigrateFiles, AResourceIsAskedWhereItsFirstPolicyIs) {
  const Answer same = check("15-interleaved-priorities/policies.yaml");
  EXPECT_EQ(same.status, kExitSame) << same.out;
  EXPECT_EQ(row(same, "0000:3b:0a.0"), "openshift.io/res_a>openshift.io/res_a");
  options.check = false;
  const Answer by_node = run("15-interleaved-priorities/by-node.yaml");
  EXPECT_EQ(by_node.status, kExitError) << "in zone a the order is another than elsewhere";
  EXPECT_TRUE(by_node.says("SriovNetworkNodePolicy b1 comes between them by priority")) << by_node.err;
}

TEST_F(MigrateFiles, AFieldAtTheWrongPlaceIsMovedNotDeleted) {
  const Answer answer = run("16-fields-at-the-wrong-place/config.json");
  EXPECT_EQ(answer.status, kExitError);
  EXPECT_TRUE(answer.says("isRdma belongs into selectors")) << answer.err;
  EXPECT_TRUE(answer.says("write netDevice")) << answer.err;
}

TEST_F(MigrateFiles, AnErrorInJsonHasLineAndColumn) {
  const Answer comma = run("17-json-error-position/trailing-comma.yaml");
  EXPECT_EQ(comma.status, kExitError);
  EXPECT_TRUE(comma.says("trailing-comma.yaml:11: error: ")) << comma.err;
  EXPECT_TRUE(comma.says("column 32, ")) << comma.err;
  EXPECT_TRUE(comma.says("a comma before a closing bracket")) << comma.err;
  const Answer quoted = run("17-json-error-position/quoted.yaml");
  EXPECT_TRUE(quoted.says("line 1, column 73, ")) << quoted.err;
  EXPECT_TRUE(quoted.says("a comma before a closing bracket")) << quoted.err;
  EXPECT_TRUE(run("17-json-error-position/template.yaml").says("is this a template?"));
}

TEST_F(MigrateFiles, SupportedNicIdsThatAreGivenAreNotAskedFor) {
  const Answer answer = run("18-supported-nic-ids/policy.yaml");
  EXPECT_EQ(answer.status, kExitError);
  EXPECT_TRUE(answer.says("supported-nic-ids has no PF with this id, but VFs with it, of PF 1592"))
      << answer.err;
  EXPECT_FALSE(answer.says("as another FILE")) << answer.err;
}

TEST_F(MigrateFiles, RootDevicesOfAFilterAreNotThePfs) {
  const Answer answer = check("19-filter-rootdevices/filter.yaml");
  EXPECT_EQ(answer.status, kExitError);
  EXPECT_TRUE(answer.says("rootDevices of a SriovResourceFilter is the PCI bridge above the PF"))
      << answer.err;
}

}  // namespace
}  // namespace migrate_files_test
}  // namespace sliced::cli
