// Files of the kinds that real installations have, each with its right answer: `migrated/` has them by kind.
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "config/options.h"
#include "daemon/process.h"
#include "kubectl/commands.h"
#include "t/fixture/sysfs_tree.h"
#include "t/unit/kubectl/migrate/captured.h"

namespace sliced::kubectl {
namespace migrate_files_test {
namespace {

const std::string kFiles = std::string(SLICED_MIGRATED) + "/";

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

struct MigrateFiles : testing::Test {
  MigrateFiles() { options.command = config::Command::kMigrate; }

  Answer run(const std::string& file, int (*command)(const config::Options&) = &migrate) {
    options.arguments = {file.starts_with('/') ? file : kFiles + file};
    for (const std::string& one : more_files)
      options.arguments.push_back(one.starts_with('/') ? one : kFiles + one);
    return captured(command, options);
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
  std::string written(const std::string& text, const std::string& name = "printed.yaml") {
    tree.write(name, text);
    return tree.root() + "/" + name;
  }
  // The plugin's JSON with one resource.
  Answer run_resource(const std::string& fields) {
    return run(written("{\"resourceList\": [{\"resourceName\": \"a\", " + fields + "}]}"));
  }
  Answer run_policy(const std::string& spec) { return run(written(policy(spec))); }
  static std::string policy(const std::string& spec, const std::string& name = "p") {
    return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: " +
           name + "}\nspec: {resourceName: a, numVfs: 4, " + spec + "}\n---\n";
  }

  config::Options options;
  std::vector<std::string> more_files;
  fixture::SysfsTree tree;
};

const std::string k01 = "01-check-no-matching-node/";

TEST_F(MigrateFiles, ReportsACheckForANodeThatNothingSelects) {
  const Answer labels = check(k01 + "policies.yaml", "host.txt", "worker-1");
  EXPECT_EQ(labels.status, daemon::kExitError);
  for (const char* text :
       {"no configuration is for node worker-1", "labels: kubernetes.io/hostname=worker-1",
        "requires label feature.node.kubernetes.io/network-sriov.capable=true", "--node-labels"})
    EXPECT_TRUE(labels.says(text)) << labels.err;
  EXPECT_EQ(check(k01 + "policies.yaml", "host.txt", "worker-1",
                  {{"feature.node.kubernetes.io/network-sriov.capable", "true"}})
                .status,
            daemon::kExitSame);
  const Answer name = check(k01 + "by-node.yaml", "host.txt", "worker-2");
  EXPECT_EQ(name.status, daemon::kExitError);
  EXPECT_TRUE(name.says("key worker-1 is for node worker-1")) << name.err;
  EXPECT_EQ(check(k01 + "by-node.yaml", "host.txt", "worker-1").status, daemon::kExitSame);
}

TEST_F(MigrateFiles, TreatsTheHostnameLabelAsTheNodesName) {
  const Answer same = check(k01 + "dra-policy.yaml", "host.txt", "worker-1");
  EXPECT_EQ(same.status, daemon::kExitSame);
  EXPECT_TRUE(same.says("4 devices, 0 differ")) << same.out;
  EXPECT_EQ(check(k01 + "dra-policy.yaml", "host.txt", "worker-2").status, daemon::kExitError);
}

TEST_F(MigrateFiles, ReportsACheckWithoutRequiredLabels) {
  const Answer unknown = check(k01 + "some.yaml");
  EXPECT_EQ(unknown.status, daemon::kExitError);
  EXPECT_TRUE(unknown.says("1 of 2 configurations are for labels that are not given")) << unknown.err;
  EXPECT_EQ(check(k01 + "some.yaml", "host.txt", "n", {{"zone", "b"}}).status, daemon::kExitSame);
}

// The driver at allocation decides (kubelet/plan.h): no class may ask for vfio-pci where some devices are not on it.
TEST_F(MigrateFiles, VfioNodesFollowTheDriver) {
  const Answer same = check("02-vfio-without-driver/config.json");
  EXPECT_EQ(same.status, daemon::kExitSame) << same.out << same.err;
  EXPECT_EQ(row(same, "0000:3b:02.2"), "intel.com/dpdk>intel.com/dpdk");
  EXPECT_EQ(row(same, "0000:3b:02.0"), "intel.com/any>intel.com/any");
  options.check = false;
  const Answer printed = run("02-vfio-without-driver/config.json");
  EXPECT_EQ(printed.status, daemon::kExitSame);
  EXPECT_FALSE(printed.says("driver: vfio-pci")) << printed.out;
}

TEST_F(MigrateFiles, PrintsSeveralPoliciesOfOneResourceSeparately) {
  const std::string file = "03-one-resource-several-policies/policies.yaml";
  const Answer rdma = run(file);
  EXPECT_EQ(rdma.status, daemon::kExitSame) << rdma.err;
  EXPECT_EQ(count(rdma.out, "kind: DeviceExposurePolicy"), 2u);
  EXPECT_EQ(count(rdma.out, "kind: DeviceClass\n"), 1u);
  EXPECT_TRUE(rdma.says("name: openshift.io-rdma-vf-shape-a\n"));
  EXPECT_TRUE(rdma.says("name: openshift.io-rdma-vf-shape-b\n"));
}

TEST_F(MigrateFiles, TheOnlyKeyOfAConfigMapIsTheFile) {
  const Answer same = check("04-key-is-a-file/only-key.yaml");
  EXPECT_EQ(same.status, daemon::kExitSame);
  EXPECT_TRUE(same.says("6 devices, 0 differ")) << same.out;
  EXPECT_TRUE(same.says("data[sriovdp-config] is the only key")) << same.err;
  const Answer files = run("04-key-is-a-file/two-files.yaml");
  EXPECT_EQ(files.status, daemon::kExitError);
  EXPECT_TRUE(files.says("data[intel.json] is named as a file")) << files.err;
}

TEST_F(MigrateFiles, ShowsDevicesLostToADefaultRoute) {
  const Answer v6 = check("05-default-route-not-shown/config.json", "default-route-v6.txt");
  EXPECT_EQ(v6.status, daemon::kExitChanges);
  EXPECT_EQ(row(v6, "0000:3b:02.1"), "intel.com/net_a>-") << v6.out;
  const Answer v4 = check("05-default-route-not-shown/config.json", "default-route-v4.txt");
  EXPECT_EQ(v4.status, daemon::kExitChanges);
  EXPECT_EQ(row(v4, "0000:3b:0a.0"), "intel.com/net_a>-") << v4.out;
}

TEST_F(MigrateFiles, PrintsAWorkingRemedyForNetFilter) {
  const Answer error = run("06-net-filter/policy.yaml");
  EXPECT_EQ(error.status, daemon::kExitError);
  EXPECT_TRUE(error.says("give the ConfigMap device-plugin-config")) << error.err;
  const Answer followed = check("06-net-filter/device-plugin-config.yaml", "vm.txt", "vm-1");
  EXPECT_EQ(followed.status, daemon::kExitSame) << followed.err;
  EXPECT_EQ(row(followed, "0000:00:06.0"), "openshift.io/radio>openshift.io/radio") << followed.out;
}

const std::string kStates = "06-net-filter/states.yaml";

// 06: the operator resolves netFilter by the states of its nodes, and so does migrate.
TEST_F(MigrateFiles, ResolvesANetFilterByTheNodeState) {
  more_files = {kStates};
  const Answer printed = run("06-net-filter/by-network.yaml");
  EXPECT_EQ(printed.status, daemon::kExitSame) << printed.err;
  EXPECT_EQ(count(printed.out, "kind: DeviceExposurePolicy"), 1u) << printed.out;
  EXPECT_TRUE(printed.says(R"(pciAddress == \"0000:00:06.0\")")) << printed.out;
  EXPECT_TRUE(printed.says("- vm-1\n")) << printed.out;
  EXPECT_TRUE(printed.says("key: zone")) << "the policy selects by it, too: " << printed.out;
  EXPECT_TRUE(printed.says("no interface of SriovNetworkNodeState vm-2 has its netFilter")) << printed.err;
  EXPECT_TRUE(printed.says("printed for 2 nodes, whose SriovNetworkNodeState was given")) << printed.err;
  const Answer same = check("06-net-filter/by-network.yaml", "vm.txt", "vm-1", {{"zone", "a"}});
  EXPECT_EQ(same.status, daemon::kExitSame) << same.err;
  EXPECT_EQ(row(same, "0000:00:06.0"), "openshift.io/radio>openshift.io/radio") << same.out;
  EXPECT_TRUE(same.says("1 device, 0 differ")) << same.out;
  EXPECT_EQ(check("06-net-filter/by-network.yaml", "vm.txt", "vm-1", {{"zone", "b"}}).status,
            daemon::kExitError);
}

TEST_F(MigrateFiles, ResolvesAlternativeNamesByTheNodeState) {
  const std::string long_name = written(policy("nicSelector: {pfNames: ['enp59s0f0-uplink-a#1-2']}"));
  const Answer error = run(long_name);
  EXPECT_EQ(error.status, daemon::kExitError);
  EXPECT_TRUE(error.says("if it is an alternative name, give the SriovNetworkNodeStates")) << error.err;
  more_files = {kStates};
  const Answer same = check(long_name, "host.txt", "vm-1");
  EXPECT_EQ(same.status, daemon::kExitSame) << same.err;
  EXPECT_TRUE(same.says("2 devices, 0 differ")) << same.out;
  EXPECT_EQ(row(same, "0000:3b:02.1"), "openshift.io/a>openshift.io/a");
  EXPECT_TRUE(same.says("printed for 1 node, whose SriovNetworkNodeState was given")) << same.err;
  options.check = false;
  // Two names, of which one is of no node: an error, and no policy without it.
  const Answer half =
      run(written(policy("nicSelector: {pfNames: [enp59s0f0-uplink-a, enp59s0f0-uplink-b]}")));
  EXPECT_EQ(half.status, daemon::kExitError);
  EXPECT_TRUE(half.says("\"enp59s0f0-uplink-b\", longer than")) << half.err;
}

TEST_F(MigrateFiles, ReadsTheIdsOfVfsFromNodeStates) {
  more_files = {kStates};
  const Answer same = check(written(policy("nicSelector: {vendor: '8086', deviceID: '1572'}")));
  EXPECT_EQ(same.status, daemon::kExitSame) << same.err;
  EXPECT_TRUE(same.says("its VFs have the device id 154c according to the SriovNetworkNodeStates"))
      << same.err;
  EXPECT_TRUE(same.says("6 devices, 0 differ")) << same.out;
  options.check = false;
  const Answer in_vm = run(written(policy("nicSelector: {vendor: '1d0f', deviceID: ec20}")));
  EXPECT_EQ(in_vm.status, daemon::kExitSame) << in_vm.err;
  EXPECT_FALSE(in_vm.says("product ==")) << in_vm.out;
  const Answer other = run(written(policy("nicSelector: {vendor: '8086', deviceID: '1592'}")));
  EXPECT_EQ(other.status, daemon::kExitError);
  EXPECT_TRUE(other.says("no SriovNetworkNodeState has VFs of a PF with this id")) << other.err;
}

TEST_F(MigrateFiles, ReportsMissingPoliciesOfANodeState) {
  const Answer alone = run(kStates);
  EXPECT_EQ(alone.status, daemon::kExitError);
  EXPECT_TRUE(alone.says("serves to read SriovNetworkNodePolicies, and none is given")) << alone.err;
  more_files = {kStates};
  const Answer twice = run(kStates);
  EXPECT_TRUE(twice.says("SriovNetworkNodeState vm-1 is also in")) << twice.err;
}

TEST_F(MigrateFiles, ComparesPoliciesForDifferentNodesSeparately) {
  for (const char* file : {"other-fields.yaml", "rdma-on-one.yaml"}) {
    const Answer printed = run("07-disjoint-nodes/" + std::string(file));
    EXPECT_EQ(printed.status, daemon::kExitSame) << printed.err;
    EXPECT_EQ(count(printed.out, "kind: DeviceClass\n"), 1u);
    EXPECT_TRUE(printed.says("shape.a")) << printed.out;
    EXPECT_TRUE(printed.says("shape.b")) << printed.out;
  }
}

TEST_F(MigrateFiles, OffersFunctionsWithoutAPf) {
  const Answer same = check("08-in-a-vm/config.json", "vm.txt");
  EXPECT_EQ(same.status, daemon::kExitSame);
  EXPECT_EQ(row(same, "0000:00:06.0"), "intel.com/ena>intel.com/ena") << same.out;
  options.form = config::PolicyForm::kSriov;
  const Answer lost = check("08-in-a-vm/config.json", "vm.txt");
  EXPECT_EQ(lost.status, daemon::kExitChanges);
  EXPECT_TRUE(lost.says("--as exposure")) << lost.err;
}

// 08: ids and drivers are the same for a function in a VM and a VF of a host.
TEST_F(MigrateFiles, WarnsAboutDevicesThatMayLackAPf) {
  const Answer ids = run_resource(R"("selectors": {"vendors": ["8086"], "devices": ["154c"]})");
  EXPECT_EQ(ids.status, daemon::kExitSame);
  EXPECT_TRUE(ids.says("kind: SriovResourcePolicy")) << ids.out;
  EXPECT_TRUE(ids.says("warning: intel.com/a selects by neither pfNames nor rootDevices")) << ids.err;
  EXPECT_TRUE(run_resource(R"("selectors": [{"pfNames": ["ens1f0"]}, {"drivers": ["iavf"]}])")
                  .says("intel.com/a selects"));
  EXPECT_TRUE(run_resource(R"("selectors": {"linkTypes": ["ether"]})").says("intel.com/a selects"));
  EXPECT_TRUE(run_resource(R"("selectors": {})").says("intel.com/a selects"));
  // The device plugin knows no PF of another function than a VF.
  EXPECT_FALSE(run_resource(R"("selectors": {"pfNames": ["ens1f0"], "vendors": ["8086"]})")
                   .says("intel.com/a selects"));
  EXPECT_FALSE(run_resource(R"("selectors": {"rootDevices": ["0000:3b:00.0"]})").says("intel.com/a selects"));
  options.form = config::PolicyForm::kSriov;
  EXPECT_FALSE(run_resource(R"("selectors": {"vendors": ["8086"]})").says("intel.com/a selects"))
      << "the user said that VFs are meant";
  options.form = config::PolicyForm::kAuto;
  // numVfs: 0 is about the PF itself, which a SriovResourcePolicy never offers.
  for (const char* vfs : {"numVfs: 0", "numVfs: null"}) {
    const Answer pf = run(written(
        "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: p}\n"
        "spec: {resourceName: a, " +
        std::string(vfs) + ", nicSelector: {vendor: '8086', deviceID: '1572'}}\n"));
    EXPECT_TRUE(pf.says("kind: DeviceExposurePolicy")) << pf.out << pf.err;
  }
}

TEST_F(MigrateFiles, ComparesNothingWithoutMatchingDevices) {
  const Answer none =
      check(written(R"({"resourceList": [{"resourceName": "a", "selectors": {"vendors": ["15b3"]}}]})"));
  EXPECT_EQ(none.status, daemon::kExitSame);
  EXPECT_TRUE(none.says("nothing was compared")) << none.err;
}

// 02: the plugin hands out device nodes by the driver; of UIO drivers sliced has none.
TEST_F(MigrateFiles, ReportsPodsThatLoseUioNodes) {
  fixture::SysfsTree host;
  host.load(kFiles + "host.txt");
  host.pci("0000:3b:02.2").driver("igb_uio");
  options.check = true;
  options.host_root = host.root();
  options.node_name = "n";
  const Answer lost =
      run(written(R"({"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["ens1f0"]}}]})"));
  EXPECT_EQ(lost.status, daemon::kExitChanges) << lost.out;
  EXPECT_TRUE(lost.says("4 devices, 1 differ")) << lost.out;
  EXPECT_TRUE(lost.says("the plugin gives pods its /dev/uio node (driver igb_uio)")) << lost.out;
}

// 09 and 16: fields that the plugin reads differently from their meaning.
TEST_F(MigrateFiles, ReportsFieldsThatThePluginReadsDifferently) {
  const std::string fields = R"("selectors": {"pfNames": ["ens1f0"]})";
  for (const auto& [resource, error] : std::vector<std::pair<std::string, std::string>>{
           {fields + R"(, "resourcePrefix": 5)", "resourcePrefix is a number, expected a string"},
           {fields + R"(, "resourcePrefix": ["x"])", "resourcePrefix is a list, expected a string"},
           {fields + R"(, "excludeTopology": "true")", "excludeTopology is a string, expected true or false"},
           {fields + R"(, "additionalInfo": {"*": {"token": "x"}})", "additionalInfo is not carried over"},
           {fields + R"(, "pfNames": ["ens1f1"])", "pfNames belongs into selectors"},
           {R"("selectors": "vendors")", "selectors is a string, expected a map or a list of maps"},
           {R"("selectors": [])", "so that the plugin offers nothing"},
           {R"("selectors": null)", "selectors is missing, with which the plugin ends"},
           {R"("selectors": [null])", "selectors has a null, expected a map"},
           {R"("selectors": {"vendors": [null]})", "vendors has a null, which the plugin reads as"},
           {R"("selectors": {"vendors": "8086"})", "vendors is a string, expected a list"},
           {R"("selectors": {"vendors": [8086]})", "vendors is a number, expected a string"},
           {R"("selectors": {"Vendors": ["8086"], "vendors": ["15b3"]})",
            "is there twice in different cases"},
           {R"("selectors": {"needVhostNet": "true"})", "needVhostNet is a string"},
           {R"("selectors": [{"needVhostNet": true}, {}])", "selectors differ in needVhostNet"},
           {R"("selectors": {"pciAddresses": ["0000:3B:02.0"]})", "in lower case"},
           {R"("selectors": {"rootDevices": ["0000:3b:00.*"]})", "expected the PCI address of a PF"},
           {R"("selectors": {"rootDevices": ["3b:00.0"]})", "expected the PCI address of a PF"},
           {R"("selectors": {"pfNames": ["ens1f0#"]})", "optionally with VFs such as #0,2-7"},
           {R"("selectors": {"pfNames": ["ens1f0#3-1"]})", "optionally with VFs such as #0,2-7"},
           {R"("selectors": {"linkTypes": ["eth"]})", "expected \"ether\" or \"infiniband\""},
           {R"("selectors": {"acpiIndexes": ["101"]})", "name them by pciAddresses or pfNames"},
           {R"("selectors": {"ddpProfiles": ["GTPv1-C/U"]})", "name the PFs with that profile"},
           {R"("selectors": {"auxTypes": ["sf"]})", "is for deviceType auxNetDevice"},
           {R"("selectors": {"vdpaType": "virtio"})", "If no other resource selects its devices"},
           {R"("selectors": {"resourcePrefix": "x.io"})", "is a field of the resource, beside selectors"}}) {
    const Answer answer = run_resource(resource);
    EXPECT_EQ(answer.status, daemon::kExitError) << resource;
    EXPECT_TRUE(answer.says(error)) << resource << answer.err;
  }
  const std::string list = R"("resourceList": [{"resourceName": "a", )" + fields + "}]";
  for (const auto& [json, error] : std::vector<std::pair<std::string, std::string>>{
           {"{" + list + R"(, "resourcePrefix": "x.io"})", "write resourcePrefix in each resource"},
           {"{" + list + R"(, "ResourceList": []})", "resourceList is there twice in different cases"},
           {"\xef\xbb\xbf{" + list + "}", "begins with a byte order mark"},
           {"resourceList:\n- resourceName: a\n  selectors: {}\n",
            "it is YAML, and the plugin reads JSON alone"},
           {R"({"resourceList": [null]})", "an entry without a resourceName"},
           {R"({"resourceList": {"resourceName": "a"}})", "resourceList is a map, expected a list"}}) {
    const Answer answer = run(written(json));
    EXPECT_EQ(answer.status, daemon::kExitError) << json;
    EXPECT_TRUE(answer.says(error)) << json << answer.err;
  }
}

TEST_F(MigrateFiles, IgnoresTheLayoutOfTheText) {
  const std::string pretty =
      "{\r\n\t\"resourceList\": [\r\n\t\t{\"RESOURCENAME\": \"a\", \"resourcePrefix\": null,\r\n"
      "\t\t \"Selectors\": [{\"PFNames\": [\"ens1f0#0-1\"], \"acpiIndexes\": [], \"ddpProfiles\": null}]}\r\n\t]\r\n}\r\n";
  const std::string one_line =
      R"({"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["ens1f0#0-1"]}}]})";
  std::string quoted = "\"";
  for (const char c : one_line) quoted += c == '"' ? "\\\"" : std::string(1, c);
  quoted += "\"";
  for (
      const std::string& text :
      {pretty, one_line,
       "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: m}\r\ndata:\r\n  config.json: &x |\r\n    " +
           one_line + "\r\n",
       "kind: ConfigMap # of the plugin\nmetadata: {name: m}\ndata: {config.json: '" + one_line + "'}\n",
       "{\"kind\": \"List\", \"items\": [{\"kind\": \"List\", \"items\": [{\"kind\": \"ConfigMap\", \"metadata\": "
       "{\"name\": \"m\"}, \"data\": {\"config.json\": " +
           quoted + "}}]}]}",
       "{\"kind\": \"ConfigMapList\", \"apiVersion\": \"v1\", \"items\": [{\"metadata\": {\"name\": \"m\"}, "
       "\"data\": {\"config.json\": " +
           quoted + "}}]}"}) {
    const Answer same = check(written(text));
    EXPECT_EQ(same.status, daemon::kExitSame) << text << same.err;
    EXPECT_TRUE(same.says("2 devices, 0 differ")) << text << same.out;
    EXPECT_EQ(row(same, "0000:3b:02.1"), "intel.com/a>intel.com/a") << same.out;
  }
}

TEST_F(MigrateFiles, DistinguishesNamesByCaseAndPrefix) {
  const Answer same = check(written(
      R"({"resourceList": [{"resourceName": "Net", "selectors": {"pfNames": ["ens1f0#0"]}},
          {"resourceName": "net", "selectors": {"pfNames": ["ens1f0#1"]}},
          {"resourceName": "net_a", "selectors": {"pfNames": ["ens1f0#2"]}},
          {"resourceName": "net-a", "selectors": {"rootDevices": ["0000:3B:00.0#3"]}},
          {"resourceName": "net", "resourcePrefix": "x.io", "selectors": {"pfNames": ["ens1f1"]}}]})"));
  EXPECT_EQ(same.status, daemon::kExitSame) << same.out;
  EXPECT_TRUE(same.says("6 devices, 0 differ")) << same.out;
  for (const auto& [device, name] : {std::pair("2.0", "intel.com/Net"), std::pair("2.1", "intel.com/net"),
                                     std::pair("2.2", "intel.com/net_a"), std::pair("2.3", "intel.com/net-a"),
                                     std::pair("a.1", "x.io/net")})
    EXPECT_EQ(row(same, "0000:3b:0" + std::string(device)), std::string(name) + ">" + name) << same.out;
}

// 04: keys of a ConfigMap.
TEST_F(MigrateFiles, WarnsAboutAmbiguousKeys) {
  const std::string json =
      R"('{"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["ens1f0"]}}]}')";
  const std::string head = "kind: ConfigMap\nmetadata: {name: m}\ndata:\n";
  const Answer nodes = run(written(head + "  intel: " + json + "\n  mellanox: " + json + "\n"));
  EXPECT_EQ(nodes.status, daemon::kExitSame);
  EXPECT_EQ(count(nodes.err, "are taken for names of nodes"), 1u) << nodes.err;
  const Answer notes = run(written(head + "  config.cfg: " + json + "\n  notes: read me\n"));
  EXPECT_EQ(notes.status, daemon::kExitError);
  EXPECT_TRUE(notes.says("data[notes] is not a configuration of the device plugin")) << notes.err;
  const Answer map = run(written(head + "  config.json: {resourceList: []}\n"));
  EXPECT_TRUE(map.says("data[config.json] is a map, expected a string with JSON")) << map.err;
  const Answer binary =
      run(written("kind: ConfigMap\nmetadata: {name: m}\nbinaryData: {config.json: e30=}\n"));
  EXPECT_TRUE(binary.says("its binaryData is not read")) << binary.err;
}

// 01 and 13: the operator writes an empty list for a node without resources, which then offers nothing before and after.
TEST_F(MigrateFiles, ComparesANodeWithoutResources) {
  const std::string text =
      "kind: ConfigMap\nmetadata: {name: device-plugin-config}\ndata:\n"
      "  worker-1: '{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": {\"pfNames\": [\"ens1f0\"]}}]}'\n"
      "  worker-2: '{\"resourceList\": []}'\n  worker-3: '{\"resourceList\": null}'\n";
  for (const char* node : {"worker-2", "worker-3"}) {
    const Answer empty = check(written(text), "host.txt", node);
    EXPECT_EQ(empty.status, daemon::kExitSame) << empty.err;
    EXPECT_TRUE(empty.says("0 devices, 0 differ")) << empty.out;
  }
  EXPECT_EQ(check(written(text), "host.txt", "worker-4").status, daemon::kExitError);
  EXPECT_EQ(
      count(check(written(text), "host.txt", "worker-1").err, "is written by the SR-IOV network operator"),
      1u)
      << "once for the file, not for each node";
}

TEST_F(MigrateFiles, RefusesEmptyAndInvalidSelectors) {
  for (const auto& [nics, error] : std::vector<std::pair<std::string, std::string>>{
           {"{vendor: ''}", "spec.nicSelector has no value in any field"},
           {"{vendor: null}", "spec.nicSelector has no value in any field"},
           {"{pfNames: [], rootDevices: [], netFilter: ''}", "spec.nicSelector has no value in any field"},
           {"{}", "spec.nicSelector is empty"},
           {"{pfNames: [5]}", "spec.nicSelector.pfNames has an entry that is a number, expected a string"},
           {"{pfNames: [ens1f0, null]}", "spec.nicSelector.pfNames has an entry that is a null"},
           {"{Vendor: '8086'}", "write vendor if that is meant"},
           {"{vendor: '0x8086'}", "expected four hexadecimal digits"},
           {"{rootDevices: ['0000:3b:00.*']}", "expected the PCI address of a PF"},
           {"[{vendor: '8086'}]", "spec.nicSelector is a list, expected a map"}}) {
    const Answer answer = run_policy("nicSelector: " + nics);
    EXPECT_EQ(answer.status, daemon::kExitError) << nics;
    EXPECT_TRUE(answer.says(error)) << nics << answer.err;
  }
}

// 11: items of a list of one kind have no kind where the API server writes it itself.
TEST_F(MigrateFiles, ItemsOfATypedListInheritItsKind) {
  const Answer same = check(written(
      R"({"kind": "SriovNetworkNodePolicyList", "apiVersion": "sriovnetwork.openshift.io/v1", "items": [
          {"metadata": {"name": "p"}, "spec": {"resourceName": "a", "numVfs": 1, "nicSelector": {"pfNames": ["ens1f0"]}}}]})"));
  EXPECT_EQ(same.status, daemon::kExitSame) << same.err;
  EXPECT_TRUE(same.says("4 devices, 0 differ")) << same.out;
  options.check = false;
  const Answer nodes = run(written(
      R"({"kind": "ConfigMapList", "apiVersion": "v1", "items": [{"metadata": {"name": "device-plugin-config"}, "data":
          {"worker-1": "{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": {\"pfNames\": [\"x\"]}}]}"}}]})"));
  EXPECT_TRUE(nodes.says("- worker-1\n")) << nodes.out << nodes.err;
}

TEST_F(MigrateFiles, NamesAConfigurationOfTheRdmaSharedPlugin) {
  const std::string shared =
      R"('{"configList": [{"resourceName": "r", "rdmaHcaMax": 63, "selectors": {"vendors": ["15b3"]}}]}')";
  const Answer map =
      run(written("kind: ConfigMap\nmetadata: {name: rdma-devices}\ndata: {config.json: " + shared + "}\n"));
  EXPECT_EQ(map.status, daemon::kExitError);
  EXPECT_TRUE(map.says("ConfigMap rdma-devices contains a configuration of the RDMA shared device plugin"))
      << map.err;
  EXPECT_FALSE(map.says("it contains no configuration of devices")) << map.err;
  const Answer both = run(written(
      "apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\nmetadata: {name: p}\nspec:\n"
      "  rdmaSharedDevicePlugin: {config: " +
      shared +
      "}\n"
      "  sriovDevicePlugin: {config: '{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": {\"pfNames\": [\"x\"]}}]}'}\n"));
  EXPECT_EQ(both.status, daemon::kExitSame) << both.err;
  EXPECT_TRUE(both.says("configuration of the RDMA shared device plugin")) << both.err;
}

TEST_F(MigrateFiles, WarnsAboutFieldsThatDraDriverSriovIgnores) {
  const std::string head =
      "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n"
      "metadata: {name: p, namespace: dra-driver-sriov}\nspec: {configs: [{";
  for (const auto& [config, field] :
       {std::pair("resourceFilters: [{rootDevices: ['0000:3b:00.0']}]", "rootDevices"),
        std::pair("resourceFilters: [{numaNodes: ['1']}]", "numaNodes"),
        std::pair("resourceName: a, resourceFilters: [{pfNames: [ens1f0]}]", "resourceName")}) {
    const Answer differs = check(written(head + config + "}]}\n"));
    EXPECT_TRUE(differs.says(std::string(field) + " is not a field of dra-driver-sriov, which ignores it"))
        << differs.err;
    EXPECT_EQ(differs.status, daemon::kExitChanges) << differs.out;
    EXPECT_EQ(row(differs, "0000:3b:02.0").substr(0, 3), "(no")
        << "that driver offers it without a name: " << differs.out;
  }
}

TEST_F(MigrateFiles, RefusesFieldsThatTheOperatorDoesNotRead) {
  const std::string k09 = "09-unknown-policy-fields/";
  const Answer name = run(k09 + "pfName.yaml");
  EXPECT_EQ(name.status, daemon::kExitError);
  EXPECT_TRUE(
      name.says("pfName.yaml:9: error: SriovNetworkNodePolicy a: spec.nicSelector.pfName is not a field"))
      << name.err;
  EXPECT_TRUE(name.says("write pfNames")) << name.err;
  const Answer types = run(k09 + "wrong-types.yaml");
  EXPECT_EQ(types.status, daemon::kExitError);
  for (const char* text : {"vendor is a number, expected a string: put it in quotes", "deviceID is a number",
                           "pfNames is a string, expected a list of strings"})
    EXPECT_TRUE(types.says(text)) << types.err;
  const Answer places = run(k09 + "at-the-wrong-place.yaml");
  for (const char* text : {"spec.pfNames is not a field", "move it to spec.nicSelector",
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
  EXPECT_EQ(answer.status, daemon::kExitError);
  EXPECT_LT(answer.err.find("error: SriovNetworkNodePolicy bad"), answer.err.find("warning: Service s0 "))
      << answer.err;
  EXPECT_TRUE(answer.says("and 150 more warnings")) << answer.err;
}

const std::string k11 = "11-unrecognized-kinds/";

TEST_F(MigrateFiles, ReadsKindsThatContainAConfiguration) {
  const Answer cluster = run(k11 + "nic-cluster-policy.yaml");
  EXPECT_EQ(cluster.status, daemon::kExitSame);
  EXPECT_TRUE(cluster.says("extendedResourceName: nvidia.com/hostdev")) << cluster.err;
  const Answer node = run(k11 + "nic-node-policy.yaml");
  EXPECT_EQ(node.status, daemon::kExitSame);
  EXPECT_TRUE(node.says("nodeSelector:\n    pool: a\n")) << node.out;
  const Answer affinity = run(k11 + "affinity.yaml");
  EXPECT_EQ(affinity.status, daemon::kExitSame);
  EXPECT_TRUE(affinity.says("pci-15b3.present")) << affinity.out;
  EXPECT_EQ(check(k11 + "affinity.yaml").status, daemon::kExitError) << "the node lacks the label";
  options.check = false;
  const Answer values = run(k11 + "chart-values.yaml");
  EXPECT_EQ(values.status, daemon::kExitSame);
  EXPECT_TRUE(values.says("extendedResourceName: intel.com/net_a")) << values.err;
}

TEST_F(MigrateFiles, NamesTheInputForKindsThatAreNotRead) {
  for (const auto& [file, text] :
       {std::pair("node-policy-of-another-group.yaml", "group sriovnetwork.k8s.cni.cncf.io is not known"),
        std::pair("acm-policy.yaml",
                  "object-templates[0].objectDefinition contains a SriovNetworkNodePolicy"),
        std::pair("nvidia-values.yaml", "give the output of helm template")}) {
    const Answer answer = run(k11 + file);
    EXPECT_EQ(answer.status, daemon::kExitError);
    EXPECT_TRUE(answer.says(text)) << answer.err;
  }
}

// What refers to a policy contains none: a dump of a cluster has these beside the policy.
TEST_F(MigrateFiles, IgnoresAReferenceToANodePolicy) {
  const Answer answer = run(written(
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"
      "spec: {names: {kind: SriovNetworkNodePolicy}}\n"
      "---\napiVersion: v1\nkind: Event\nmetadata: {name: e}\ninvolvedObject: {kind: SriovNetworkNodePolicy, name: p}\n"
      "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, ownerReferences: [{kind: SriovNetworkNodePolicy, name: "
      "default}]}\n"
      "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: o, annotations: {alm-examples: "
      "'[{\"kind\": \"SriovNetworkNodePolicy\", \"spec\": {\"nicSelector\": {}}}]'}}\n"
      "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: p}\n"
      "spec: {resourceName: a, numVfs: 1, nicSelector: {pfNames: [ens1f0]}}\n"));
  EXPECT_EQ(answer.status, daemon::kExitSame) << answer.err;
  EXPECT_TRUE(answer.says("extendedResourceName: openshift.io/a")) << answer.out;
}

TEST_F(MigrateFiles, ReportsANodePolicyWithinTextOrAGenerator) {
  const Answer answer = run(written(
      "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: net}\nspec:\n  source:\n    helm:\n      values: |\n"
      "        extraObjects:\n        - kind: SriovNetworkNodePolicy\n          spec: {nicSelector: {vendor: '8086'}}\n"
      "---\napiVersion: ran.openshift.io/v1\nkind: PolicyGenTemplate\nmetadata: {name: t}\nspec:\n  sourceFiles:\n"
      "  - {fileName: SriovNetwork.yaml, spec: {vlan: 1}}\n"
      "  - {fileName: SriovNetworkNodePolicy.yaml, spec: {resourceName: a}}\n"
      "---\napiVersion: policy.open-cluster-management.io/v1\nkind: PolicyGenerator\nmetadata: {name: g}\npolicies:\n- manifests:\n"
      "  - {path: source-crs/SriovNetworkNodePolicy-SetSelector.yaml, patches: [{spec: {resourceName: a}}]}\n"));
  EXPECT_EQ(answer.status, daemon::kExitError);
  for (const char* text : {"Application net: spec.source.helm.values contains a SriovNetworkNodePolicy",
                           "PolicyGenTemplate t: spec.sourceFiles[1] contains a SriovNetworkNodePolicy",
                           "PolicyGenerator g: policies[0].manifests[0] contains a SriovNetworkNodePolicy"})
    EXPECT_TRUE(answer.says(text)) << text << '\n' << answer.err;
}

// The warning of a resource without a network names NetworkAttachmentDefinitions, and these objects are their sources.
TEST_F(MigrateFiles, NamesTheDefinitionOfAnOperatorNetwork) {
  const Answer answer = run(written(
      "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {name: a, namespace: o}\nspec: {networkNamespace: apps}\n"
      "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovIBNetwork\nmetadata: {name: b, namespace: o}\nspec: {}\n"
      "---\napiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nmetadata: {name: c}\nspec: {}\n"));
  for (const char* text :
       {"SriovNetwork a is ignored: its operator makes a NetworkAttachmentDefinition of it; give that as "
        "another FILE (kubectl -n apps get network-attachment-definitions a -o yaml)",
        "kubectl -n o get network-attachment-definitions b -o yaml",
        "kubectl -n default get network-attachment-definitions c -o yaml"})
    EXPECT_TRUE(answer.says(text)) << text << '\n' << answer.err;
}

// A definition that is given needs no request for it; its mistakes are found before pods are.
TEST_F(MigrateFiles, ChecksAGivenDefinitionAndDoesNotAskForIt) {
  const Answer answer = run(written(
      "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {name: a, namespace: o}\n"
      "spec: {networkNamespace: apps, resourceName: r}\n"
      "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: a, namespace: apps, "
      "annotations: {k8s.v1.cni.cncf.io/resourceName: openshift.io/r}}\n"
      "spec: {config: '{\"cniVersion\": \"1.0.0\", \"type\": \"ovs\", \"bridge\": \"br-ex\"}'}\n"
      "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: p}\n"
      "spec: {resourceName: r, numVfs: 1, nodeSelector: {}, nicSelector: {pfNames: [ens1f0]}}\n"));
  EXPECT_EQ(answer.status, daemon::kExitSame) << answer.err;
  EXPECT_FALSE(answer.says("SriovNetwork a is ignored")) << answer.err;
  EXPECT_TRUE(
      answer.says("NetworkAttachmentDefinition apps/a: spec.config has \"ovs\", which runs only when listed"))
      << answer.err;
  EXPECT_TRUE(answer.says("pods with openshift.io/r do not start with it")) << answer.err;
}

TEST_F(MigrateFiles, NamesAJinjaTemplate) {
  const Answer answer = run(written("kind: ConfigMap\ndata:\n{% if x %}\n  a: b\n{% endif %}\n"));
  EXPECT_TRUE(answer.says("has {%: is this a template?")) << answer.err;
}

// Red when unchanged pods would run without an interface, without a warning.
TEST_F(MigrateFiles, NamesClassesByTheDefinitionsOfTheirResources) {
  const auto definition = [](const std::string& space, const std::string& name, const std::string& resource) {
    return "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: " +
           name + ", namespace: " + space + ", annotations: {k8s.v1.cni.cncf.io/resourceName: " + resource +
           "}}\nspec: {config: '{\"cniVersion\": \"1.0.0\", \"type\": \"sriov\"}'}\n";
  };
  const std::string config = written(
      R"({"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["ens1f0"]}},
                           {"resourceName": "b", "selectors": {"pfNames": ["ens1f1"]}},
                           {"resourceName": "c", "selectors": {"pfNames": ["ens2f0"]}},
                           {"resourceName": "v", "selectors": {"pfNames": ["ens3f0"], "drivers": ["vfio-pci"]}}]})",
      "config.json");
  const Answer without = run(config);
  EXPECT_EQ(without.status, daemon::kExitSame) << without.err;
  EXPECT_EQ(count(without.err, "pods with these extended resources run without an interface"), 1u)
      << without.err;
  EXPECT_EQ(count(without.out, "# Without Multus they get no interface before spec.config has a VfConfig"),
            3u)
      << "of a, b and c; v has none in any case: " << without.out;
  more_files = {
      written(definition("apps", "net-a", "intel.com/a") + definition("apps", "net-b", "intel.com/b") +
                  definition("lab", "net-b", "intel.com/b") + definition("apps", "net-c", "intel.com/c") +
                  definition("apps", "other-c", "intel.com/c") + definition("apps", "net-d", "intel.com/d"),
              "definitions.yaml")};
  const Answer with = run(config);
  EXPECT_EQ(with.status, daemon::kExitSame) << with.err;
  EXPECT_TRUE(with.says("netAttachDefName: net-a\n          netAttachDefNamespace: apps\n") ||
              with.says("netAttachDefName: net-a\n        netAttachDefNamespace: apps\n"))
      << with.out;
  EXPECT_EQ(count(with.out, "netAttachDefName: net-b"), 1u);
  EXPECT_EQ(count(with.out, "netAttachDefNamespace"), 1u)
      << "of one in several namespaces each pod has its own";
  EXPECT_FALSE(with.says("netAttachDefName: net-c"));
  EXPECT_TRUE(with.says(
      "warning: resource intel.com/c has several NetworkAttachmentDefinitions (apps/net-c, apps/other-c)"))
      << with.err;
  EXPECT_TRUE(
      with.says("warning: NetworkAttachmentDefinition apps/net-d names resource intel.com/d, which no "
                "configuration here has"))
      << with.err;
  EXPECT_FALSE(with.says("pods with these extended resources run without an interface")) << with.err;
  more_files.clear();
  const Answer judged = run(written(with.out), &cli::validate);
  EXPECT_TRUE(judged.says(" 0 errors, 0 warnings")) << judged.out;
}

TEST_F(MigrateFiles, ACheckNamesResourcesWithoutADeviceOnTheHost) {
  const Answer answer = check(written(
      R"({"resourceList": [{"resourceName": "a", "selectors": {"isRdma": false}},
                           {"resourceName": "dpdk", "selectors": {"pfNames": ["none0"]}}]})",
      "config.json"));
  EXPECT_TRUE(answer.says("no device of this host is or was offered as intel.com/dpdk"))
      << answer.out << answer.err;
}

TEST_F(MigrateFiles, PrintsObjectsWithoutWarningsOfValidate) {
  for (const char* file :
       {"03-one-resource-several-policies/policies.yaml", "07-disjoint-nodes/rdma-on-one.yaml",
        "08-in-a-vm/config.json", "11-unrecognized-kinds/nic-cluster-policy.yaml",
        "02-vfio-without-driver/config.json"}) {
    const Answer printed = run(file);
    ASSERT_EQ(printed.status, daemon::kExitSame) << file;
    const Answer judged = run(written(printed.out), &cli::validate);
    EXPECT_EQ(judged.status, daemon::kExitSame);
    EXPECT_TRUE(judged.says(" 0 errors, 0 warnings")) << file << judged.out;
  }
}

TEST_F(MigrateFiles, UsesTheOperatorsPrefixForItsConfigMap) {
  const Answer printed = run("13-operator-configmap/config-map.yaml");
  EXPECT_TRUE(printed.says("extendedResourceName: openshift.io/net_a")) << printed.out;
  EXPECT_FALSE(printed.out.find("intel.com") != std::string::npos);
  EXPECT_TRUE(printed.says("(NVIDIA: nvidia.com), give it to migrate by its option --resource-prefix"))
      << printed.err;
  options.resource_prefix = "nvidia.com";
  EXPECT_TRUE(run("13-operator-configmap/config-map.yaml").says("extendedResourceName: nvidia.com/net_a"));
}

// Red when resources get the default prefix although the plugin's own option is in the files.
TEST_F(MigrateFiles, UsesThePrefixOfThePluginsDaemonSet) {
  const std::string config =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sriovdp-config}\ndata: {config.json: "
      "'{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": {\"pfNames\": [\"ens1f0\"]}}, "
      "{\"resourceName\": \"b\", \"resourcePrefix\": \"own.com\", \"selectors\": {\"pfNames\": [\"ens1f1\"]}}]}'}\n";
  const auto daemon_set = [](const std::string& words, const std::string& labels = "",
                             const std::string& name = "dp") {
    return "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: " + name +
           "}\nspec: {template: {spec: {nodeSelector: {" + labels + "}, containers: [{name: dp, " + words +
           "}]}}}\n";
  };
  for (const char* words :
       {"args: [--log-level=10, --resource-prefix=mellanox.com, --use-cdi]",
        "args: [-resource-prefix, mellanox.com]", "command: [sriovdp, --resource-prefix=mellanox.com]",
        "command: [sh, -c, 'sriovdp --resource-prefix=mellanox.com --log-level=10']",
        "command: [sh, -c, 'sriovdp --resource-prefix=\"mellanox.com\" --log-level=10']"}) {
    const Answer printed = run(written(config + daemon_set(words, "kubernetes.io/arch: amd64")));
    EXPECT_TRUE(printed.says("extendedResourceName: mellanox.com/a")) << words << printed.out << printed.err;
    EXPECT_TRUE(printed.says("extendedResourceName: own.com/b")) << printed.out;
    EXPECT_FALSE(printed.out.find("intel.com") != std::string::npos) << printed.out;
    EXPECT_EQ(printed.err.find("DaemonSet"), std::string::npos) << printed.err;
  }
  // Also from another file, before the ConfigMap.
  more_files = {written(config, "map.yaml")};
  EXPECT_TRUE(run(written(daemon_set("args: [--resource-prefix=mellanox.com]"), "set.yaml"))
                  .says("extendedResourceName: mellanox.com/a"));
  more_files.clear();
  // The nodes of the DaemonSet are not those of the policies.
  const Answer nodes =
      run(written(config + daemon_set("args: [--resource-prefix=x.io]", "sriov: 'yes', zone: ''")));
  EXPECT_TRUE(
      nodes.says("warning: DaemonSet dp runs on nodes with sriov=yes, zone alone, and the printed policies "
                 "are for every node"))
      << nodes.err;
  const Answer by_operator = run(written(policy("nodeSelector: {zone: a}, nicSelector: {pfNames: [ens1f0]}") +
                                         daemon_set("args: [--resource-prefix=x.io]", "sriov: 'yes'")));
  EXPECT_TRUE(by_operator.says("extendedResourceName: x.io/a")) << by_operator.out << by_operator.err;
  EXPECT_FALSE(by_operator.says("for every node"))
      << "the policies have their own nodes: " << by_operator.err;
  const Answer two = run(written(config + daemon_set("args: [--resource-prefix=x.io]") +
                                 daemon_set("args: [--resource-prefix=y.io]", "", "dp2")));
  EXPECT_EQ(two.status, daemon::kExitError);
  EXPECT_TRUE(two.says("error: DaemonSet dp2 has --resource-prefix \"y.io\", and DaemonSet dp has \"x.io\""))
      << two.err;
  const Answer variable = run(written(config + daemon_set("args: [--resource-prefix=$(PREFIX)]")));
  EXPECT_EQ(variable.status, daemon::kExitError);
  EXPECT_TRUE(
      variable.says("error: DaemonSet dp has --resource-prefix \"$(PREFIX)\", expected a domain name"))
      << variable.err;
  options.resource_prefix = "mine.io";
  EXPECT_TRUE(run(written(config + daemon_set("args: [--resource-prefix=x.io]")))
                  .says("extendedResourceName: mine.io/a"));
}

// Red when a part of another option is taken for the plugin's.
TEST_F(MigrateFiles, TakesNoOtherOptionForThePluginsPrefix) {
  const std::string config =
      "kind: ConfigMap\nmetadata: {name: c}\ndata: {config.json: '{\"resourceList\": [{\"resourceName\": "
      "\"a\", \"selectors\": {\"pfNames\": [\"ens1f0\"]}}]}'}\n---\n";
  for (const char* words : {"--default-resource-prefix=x.io", "--resource-prefix-file=x.io",
                            "'exporter --no-resource-prefix=x.io'", "--no-resource-prefix, x.io"}) {
    const Answer printed = run(written(
        config + "kind: DaemonSet\nmetadata: {name: dp}\nspec: {template: {spec: {containers: [{args: [" +
        words + "]}]}}}\n"));
    EXPECT_TRUE(printed.says("extendedResourceName: intel.com/a")) << words << printed.out << printed.err;
  }
}

// Red when the nodes of the plugin are lost: policies for all nodes would offer devices of other nodes.
TEST_F(MigrateFiles, ReportsTheNodesOfThePluginsPods) {
  const std::string config =
      "kind: ConfigMap\nmetadata: {name: c}\ndata: {config.json: '{\"resourceList\": [{\"resourceName\": "
      "\"a\", \"selectors\": {\"pfNames\": [\"ens1f0\"]}}]}'}\n---\n";
  const auto daemon_set = [](const std::string& spec, const std::string& container) {
    return "kind: DaemonSet\nmetadata: {name: dp}\nspec: {template: {spec: {" + spec + ", containers: [{" +
           container + "}]}}}\n";
  };
  const auto affinity = [](const std::string& strength, const std::string& key) {
    return "affinity: {nodeAffinity: {" + strength +
           "IgnoredDuringExecution: {nodeSelectorTerms: "
           "[{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}, {key: " +
           key + ", operator: In, values: [a]}]}]}}}";
  };
  for (const char* container :
       {"image: 'ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v3.9.0'",
        "image: nfvpe/sriov-device-plugin", "image: 'rancher/hardened-sriov-network-device-plugin@sha256:0'",
        "image: x, args: [--resource-prefix=intel.com]"}) {
    const Answer by_label = run(written(config + daemon_set("nodeSelector: {sriov: 'yes'}", container)));
    EXPECT_TRUE(by_label.says("DaemonSet dp runs on nodes with sriov=yes alone"))
        << container << by_label.err;
    const Answer by_terms =
        run(written(config + daemon_set(affinity("requiredDuringScheduling", "zone"), container)));
    EXPECT_TRUE(
        by_terms.says("warning: DaemonSet dp runs on the nodes of its node affinity (zone) alone, and the "
                      "printed policies are for every node: "))
        << container << by_terms.err;
    EXPECT_TRUE(by_terms.says("extendedResourceName: intel.com/a")) << by_terms.out;
  }
  const std::string image = "image: sriov-network-device-plugin";
  EXPECT_EQ(run(written(config + daemon_set(affinity("preferredDuringScheduling", "zone"), image)))
                .err.find("DaemonSet"),
            std::string::npos)
      << "a preference excludes no node";
  EXPECT_EQ(
      run(written(config + daemon_set(affinity("requiredDuringScheduling", "kubernetes.io/arch"), image)))
          .err.find("DaemonSet"),
      std::string::npos);
}

// Red when the error only states that the structure is wrong.
TEST_F(MigrateFiles, NamesCommonFaultsOfJson) {
  const auto map = [](const std::string& rows) {
    return "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  config.json: |\n" + rows;
  };
  const std::string indent = "    ";
  const std::tuple<std::string, const char*, const char*> cases[] = {
      {map(indent + "{\n" + indent + "  // a comment\n" + indent + "\"resourceList\": []}\n"),
       ":6: error: ", "column 7, at \"// a comment\": a comment, which JSON does not have: delete it"},
      {map(indent + "{\"resourceList\": [ # a\n" + indent + "]}\n"),
       ":5: error: ", "column 24, at \"{\\x22resourceList\\x22: [ # a\": a comment"},
      {"{\"resourceList\": [\n  /* a */ {\"resourceName\": \"a\"}]}\n", ":2: error: ", "column 3, at "},
      {"{\"resourceList\": [\n  // a: b\n {\"resourceName\": \"a\"}]}\n",
       ":2: error: ", ": a comment, which JSON"},
      {map(indent + "{\"resourceList\": [{\n" + indent + "  \"resourceName\": \"http://a\"\n" + indent +
           "}]\n\n"),
       ":7: error: ", "the text ends, and { of line 5 is not closed"},
      {map(indent + "{\"resourceList\": [{\n" + indent + "  \"resourceName\": \"a\"\n" + indent + "]}\n"),
       ":7: error: ", "] closes { of line 5"},
      {map(indent + "{\"resourceList\": [{\n" + indent + "  \"resourceName\": \"a\n" + indent + "}]}\n"),
       ":6: error: ", "a string that has no closing quote in its line"},
  };
  for (const auto& [text, place, what] : cases) {
    const Answer answer = run(written(text));
    EXPECT_EQ(answer.status, daemon::kExitError);
    EXPECT_TRUE(answer.says(place) && answer.says(what)) << text << answer.err;
  }
}

// Red when the message is that of the YAML reader, without the file.
TEST_F(MigrateFiles, NamesFilesThatAreWrittenOtherwise) {
  const Answer described =
      run(written("Name:         sriovdp-config\nLabels:       <none>\n\nData\n====\nconfig.json:\n----\n"
                  "{\n  \"resourceList\": []\n}\n"));
  EXPECT_TRUE(described.says("is this the output of kubectl describe? Give that of kubectl get -o yaml"))
      << described.err;
  const Answer wide = run(written(std::string("\xFF\xFE{\0}\0", 6)));
  EXPECT_TRUE(wide.says("the text is UTF-16, expected UTF-8 (in Windows PowerShell")) << wide.err;
  EXPECT_TRUE(
      run_resource("\"selectors\": {\"devices\": [1889]}").says("expected a string: put it in quotes"));
  EXPECT_TRUE(
      run_policy("nodeSelector: {worker: }, nicSelector: {pfNames: [a]}")
          .says(
              "spec.nodeSelector has a null for worker, expected a string: write \"\" if the label has no value"));
}

// Red when the fields that differ are not named.
TEST_F(MigrateFiles, NamesTheFieldsThatOnePolicyOfAResourceHasAlone) {
  const Answer answer = run(written(policy("nicSelector: {pfNames: [a]}, linkType: eth", "one") +
                                    policy("nicSelector: {rootDevices: ['0000:3b:00.0']}", "two")));
  EXPECT_TRUE(answer.says(
      "SriovNetworkNodePolicy two: resource openshift.io/a is also that of SriovNetworkNodePolicy one: "
      "spec.nicSelector.pfNames and spec.linkType are only in SriovNetworkNodePolicy one, "
      "spec.nicSelector.rootDevices only in SriovNetworkNodePolicy two. On a node"))
      << answer.err;
}

TEST_F(MigrateFiles, PrintsObjectsInTheDaemonsNamespace) {
  for (const auto& [file, from] :
       {std::pair("filter.yaml", "dra-sriov-driver"), std::pair("policy.yaml", "elsewhere")}) {
    const Answer printed = run("14-old-namespace/" + std::string(file));
    EXPECT_EQ(printed.status, daemon::kExitSame);
    EXPECT_TRUE(printed.out.find("namespace: dra-driver-sriov\n") != std::string::npos) << printed.out;
    EXPECT_TRUE(printed.err.find("is in namespace " + std::string(from)) != std::string::npos) << printed.err;
  }
  const Answer judged = run("14-old-namespace/filter.yaml", &cli::validate);
  EXPECT_TRUE(judged.says("sliced migrate FILE")) << judged.out;
  options.namespace_ = "elsewhere";
  EXPECT_EQ(run("14-old-namespace/policy.yaml").err, "");
}

TEST_F(MigrateFiles, ResolvesAResourceInTheNamespaceOfItsFirstPolicy) {
  const Answer same = check("15-interleaved-priorities/policies.yaml");
  EXPECT_EQ(same.status, daemon::kExitSame) << same.out;
  EXPECT_EQ(row(same, "0000:3b:0a.0"), "openshift.io/res_a>openshift.io/res_a");
  options.check = false;
  const Answer by_node = run("15-interleaved-priorities/by-node.yaml");
  EXPECT_EQ(by_node.status, daemon::kExitError) << "in zone a the order is another than elsewhere";
  EXPECT_TRUE(by_node.says("SriovNetworkNodePolicy b1 comes between them by priority")) << by_node.err;
}

TEST_F(MigrateFiles, MovesAMisplacedField) {
  const Answer answer = run("16-fields-at-the-wrong-place/config.json");
  EXPECT_EQ(answer.status, daemon::kExitError);
  EXPECT_TRUE(answer.says("isRdma belongs into selectors")) << answer.err;
  EXPECT_TRUE(answer.says("write netDevice")) << answer.err;
}

TEST_F(MigrateFiles, JsonErrorsHaveLineAndColumn) {
  const Answer comma = run("17-json-error-position/trailing-comma.yaml");
  EXPECT_EQ(comma.status, daemon::kExitError);
  EXPECT_TRUE(comma.says("trailing-comma.yaml:11: error: ")) << comma.err;
  EXPECT_TRUE(comma.says("column 32, ")) << comma.err;
  EXPECT_TRUE(comma.says("a comma before a closing bracket")) << comma.err;
  const Answer quoted = run("17-json-error-position/quoted.yaml");
  EXPECT_TRUE(quoted.says("line 1, column 73, ")) << quoted.err;
  EXPECT_TRUE(quoted.says("a comma before a closing bracket")) << quoted.err;
  EXPECT_TRUE(run("17-json-error-position/template.yaml").says("is this a template?"));
}

TEST_F(MigrateFiles, AcceptsGivenSupportedNicIds) {
  const Answer answer = run("18-supported-nic-ids/policy.yaml");
  EXPECT_EQ(answer.status, daemon::kExitError);
  EXPECT_TRUE(answer.says("supported-nic-ids has no PF with this id, but VFs with it, of PF 1592"))
      << answer.err;
  EXPECT_FALSE(answer.says("as another FILE")) << answer.err;
}

TEST_F(MigrateFiles, DistinguishesRootDevicesFromPfs) {
  const Answer answer = check("19-filter-rootdevices/filter.yaml");
  EXPECT_EQ(answer.status, daemon::kExitError);
  EXPECT_TRUE(answer.says("rootDevices of a SriovResourceFilter is the PCI bridge above the PF"))
      << answer.err;
}

}  // namespace
}  // namespace migrate_files_test
}  // namespace sliced::kubectl
