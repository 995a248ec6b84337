#include "kubectl/migrate/plugin_config.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/migrate/plugin_rules.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::migrate {
namespace plugin_config_test {
namespace {

struct Read {
  std::vector<Config> configs;
  Complaints complaints;
  std::string texts(bool errors) const {
    std::string out;
    for (const Complaint& complaint : complaints.all())
      if (complaint.is_error == errors) out += text_of(complaint) + "\n";
    return out;
  }
};

Read read_json(const std::string& json, const PluginSettings& settings = {}) {
  Read out;
  read_plugin_config("c.json", json, settings, out.configs, out.complaints);
  return out;
}

Read read_map(const std::string& yaml) {
  Read out;
  const auto documents = kube::decode_yaml(yaml);
  EXPECT_TRUE(documents.problems.empty());
  read_plugin_config_map(documents.documents.at(0), "m.yaml", split(yaml, '\n'), {}, out.configs,
                         out.complaints);
  check_one_config_a_node(out.configs, out.complaints);
  return out;
}

std::string resource(const std::string& selectors, const std::string& more = "") {
  return "{\"resourceList\": [{\"resourceName\": \"r\"" + more + ", \"selectors\": " + selectors + "}]}";
}

// Two PFs of Intel, one of Mellanox whose VFs have RDMA, a NIC and a PF without VFs.
hotplug::InventoryPtr host() {
  fixture::VfHost host;
  host.pf("0000:3b:00.0", "ens1f0", 8)
      .pf("0000:5e:00.0", "ens2f0", 4)
      .pf("0000:af:00.0", "ens3f0", 2, "15b3");
  for (const char* id : {"0000:3b:00.5", "0000:3b:00.6"}) {
    host.at(id).driver = "vfio-pci";
    host.at(id).netdev.reset();
  }
  for (const char* id : {"0000:af:00.1", "0000:af:00.2"}) {
    host.at(id).driver = "mlx5_core";
    host.at(id).product = "1018";
    host.at(id).rdma_device = "mlx5_2";
  }
  host.pf("0000:c1:00.0", "eno1", 0);
  return host.inventory();
}

// By resource, in the order of addresses: "intel.com/r: 0000:3b:00.1 ...".
std::string offered(const Config& config) {
  std::map<std::string, std::string> by_resource;
  const auto inventory = host();
  for (const auto& [id, device] : inventory->devices)
    if (const Resource* one = plugin_resource_of(config, device))
      by_resource[one->name] += " " + id.substr(5);
  std::string out;
  for (const auto& [name, devices] : by_resource) out += name + ":" + devices + "\n";
  return out;
}

struct Documented {
  const char* what;
  const char* json;
  const char* offered;  // or "" and
  const char* error;    // the expected text
};

// What the plugin's documentation shows, in our own words: each form and each selector once.
const Documented kDocumented[] = {
    {"vendors, devices, drivers",
     R"({"resourceList": [{"resourceName": "net", "selectors": [{"vendors": ["8086"], "devices": ["154c", "1889"],
        "drivers": ["i40evf", "iavf"]}]}]})",
     "intel.com/net: 3b:00.1 3b:00.2 3b:00.3 3b:00.4 3b:00.7 3b:01.0 5e:00.1 5e:00.2 5e:00.3 5e:00.4\n", ""},
    {"vfio-pci on two PFs, with a prefix and vhost",
     R"({"resourceList": [{"resourceName": "dpdk", "resourcePrefix": "example.com", "selectors": [{"vendors": ["8086"],
        "drivers": ["vfio-pci"], "pfNames": ["ens1f0", "ens2f0"], "needVhostNet": true}]}]})",
     "example.com/dpdk: 3b:00.5 3b:00.6\n", ""},
    {"isRdma",
     R"({"resourceList": [{"resourceName": "rdma", "selectors": [{"vendors": ["15b3"], "isRdma": true}]}]})",
     "intel.com/rdma: af:00.1 af:00.2\n", ""},
    {"linkTypes",
     R"({"resourceList": [{"resourceName": "ib", "selectors": [{"linkTypes": ["infiniband"]}]}]})", "", ""},
    {"ranges of VFs behind a name",
     R"({"resourceList": [{"resourceName": "some", "selectors": [{"pfNames": ["ens1f0#0,2-3,7"]}]}]})",
     "intel.com/some: 3b:00.1 3b:00.3 3b:00.4 3b:01.0\n", ""},
    {"ranges of VFs behind an address",
     R"({"resourceList": [{"resourceName": "some", "selectors": [{"rootDevices": ["0000:5E:00.0#0-1,3"]}]}]})",
     "intel.com/some: 5e:00.1 5e:00.2 5e:00.4\n", ""},
    {"pciAddresses",
     R"({"resourceList": [{"resourceName": "one", "selectors": [{"pciAddresses": ["0000:5e:00.2"]}]}]})",
     "intel.com/one: 5e:00.2\n", ""},
    {"one object in place of a list, as the operator writes it",
     R"({"resourceList": [{"resourceName": "old", "selectors": {"pfNames": ["ens2f0"], "IsRdma": false,
        "NeedVhostNet": false}, "SelectorObj": null}]})",
     "openshift.io/old: 5e:00.1 5e:00.2 5e:00.3 5e:00.4\n", ""},
    {"a device belongs to the first that takes it",
     R"({"resourceList": [{"resourceName": "a", "selectors": [{"pfNames": ["ens2f0#2-3"]}, {"vendors": ["15b3"]}]},
        {"resourceName": "b", "excludeTopology": true, "selectors": [{"pfNames": ["ens2f0"]}, {"devices": ["1592"]}]}]})",
     "intel.com/a: 5e:00.3 5e:00.4 af:00.1 af:00.2\nintel.com/b: 5e:00.1 5e:00.2 c1:00.0\n", ""},
    {"vDPA", R"({"resourceList": [{"resourceName": "v", "selectors": [{"vdpaType": "vhost"}]}]})", "",
     "c.json:1: error: resource intel.com/v: vdpaType is not a field of a SriovResourcePolicy. Select by the attribute vdpa "
     "in a DeviceClass, or leave the resource to the device plugin. If no other resource selects its devices, delete it from this file to carry over the others\n"},
    {"accelerators",
     R"({"resourceList": [{"resourceName": "fpga", "deviceType": "accelerator", "selectors": [{"devices": ["0d90"]}]}]})",
     "",
     "c.json:1: error: resource intel.com/fpga: deviceType is accelerator, and sliced offers network functions alone: leave "
     "the resource to the device plugin, and delete it from this file to carry over the others\n"},
    {"subfunctions",
     R"({"resourceList": [{"resourceName": "sf", "deviceType": "auxNetDevice", "selectors": [{"auxTypes": ["sf"]}]}]})",
     "", ""},
    {"subfunctions by what is not known of them",
     R"({"resourceList": [{"resourceName": "sf", "deviceType": "auxNetDevice", "selectors": [{"auxTypes": ["eth"]}, {"drivers": ["mlx5_core"]}, {"pfNames": ["ens1f0#1-5"]}]}]})",
     "",
     "c.json:1: error: resource intel.com/sf: auxTypes has \"eth\", expected \"sf\": sliced offers scalable functions alone\n"
     "c.json:1: error: resource intel.com/sf: drivers is not known of scalable functions: name their PFs by pfNames or "
     "rootDevices, and delete it\n"
     "c.json:1: error: resource intel.com/sf: selectors have ens1f0 with numbers, which the plugin compares with the numbers "
     "of the auxiliary bus: these change when the host restarts. Delete #...; a selector of a DeviceClass may use the "
     "attribute sfNumber\n"},
    {"DDP profiles", R"({"resourceList": [{"resourceName": "d", "selectors": [{"ddpProfiles": ["GTP"]}]}]})",
     "",
     "c.json:1: error: resource intel.com/d: ddpProfiles is not known of devices: name the PFs with that profile by pfNames "
     "or rootDevices\n"},
    {"partition keys", R"({"resourceList": [{"resourceName": "p", "selectors": [{"pKeys": ["0x1"]}]}]})", "",
     "c.json:1: error: resource intel.com/p: pKeys is not a field of a SriovResourcePolicy: name the functions with "
     "that key by pciAddresses, or by pfNames and VFs; or select by the attribute pKeys in the DeviceClass\n"},
    {"ACPI indexes", R"({"resourceList": [{"resourceName": "p", "selectors": [{"acpiIndexes": ["101"]}]}]})",
     "",
     "c.json:1: error: resource intel.com/p: acpiIndexes is not known of devices: name them by pciAddresses or pfNames\n"},
    {"variables for containers",
     R"({"resourceList": [{"resourceName": "e", "selectors": [{}], "additionalInfo": {"*": {"token": "x"}}}]})",
     "",
     "c.json:1: error: resource intel.com/e: additionalInfo is not carried over: give the pods its content in a ConfigMap "
     "of their own, and delete it here\n"},
};

TEST(PluginConfig, ConvertsTheDocumentedExamples) {
  for (const Documented& row : kDocumented) {
    SCOPED_TRACE(row.what);
    const Read read = read_json(row.json);
    EXPECT_EQ(read.texts(true), row.error);
    ASSERT_EQ(read.configs.size(), 1u);
    if (read.texts(true).empty()) {
      EXPECT_EQ(offered(read.configs[0]), row.offered);
    }
  }
}

TEST(PluginConfig, ReportsDifferencesOfMeaningWithARemedy) {
  const std::pair<std::string, std::string> rows[] = {
      {resource(R"([{"vendors": ["0x8086"]}])"),
       "resource intel.com/r: vendors has \"0x8086\", expected four hexadecimal digits in lower case, such as \"8086\"; the "
       "plugin compares it as text with the kernel's value"},
      {resource(R"([{"vendors": "8086"}])"),
       "resource intel.com/r: vendors is a string, expected a list, so that the plugin ignores the resource"},
      {resource(R"([{"pciAddresses": ["0000:3B:00.1"]}])"),
       "resource intel.com/r: pciAddresses has \"0000:3B:00.1\", expected PCI addresses such as \"0000:3b:02.0\" in lower case; "
       "the plugin compares it as text with the kernel's value"},
      {resource(R"([{"pfNames": ["ens1f0#3-1"]}])"),
       "resource intel.com/r: pfNames has \"ens1f0#3-1\", expected the name of a PF's interface, optionally with VFs such as "
       "#0,2-7"},
      {resource(R"([{"linkTypes": ["ethernet"]}])"),
       "resource intel.com/r: linkTypes has \"ethernet\", expected \"ether\" or \"infiniband\"; policies know no other type"},
      {resource(R"([{"pfPciAddresses": ["0000:3b:00.0"]}])"),
       "resource intel.com/r: pfPciAddresses is a field that the plugin ignores, so that it narrows nothing: delete it, "
       "or write pciAddresses if that is meant"},
      {resource(R"([{"drivers": ["igb_uio"]}])"),
       "resource intel.com/r: drivers has \"igb_uio\": pods get no /dev/uio node from sliced; bind the VFs to vfio-pci, and "
       "write that"},
      {resource(R"([{"needVhostNet": true}, {}])"),
       "resource intel.com/r: selectors differ in needVhostNet: a DeviceClass says that for all its devices; make two "
       "resources of it"},
      {resource("[]"),
       "resource intel.com/r: selectors has none, so that the plugin offers nothing: write {} for every "
       "device, or delete the resource"},
      {resource(R"([{"isRdma": true, "IsRdma": false}])"),
       "resource intel.com/r: IsRdma is there twice in different cases of letters: keep one"},
      {R"({"resourceList": [{"resourceName": "r"}]})",
       "resource intel.com/r: selectors is missing, with which the plugin ends: write {} for every device"},
      {R"({"resourceList": [{"selectors": [{}]}]})",
       "resourceList has an entry without a resourceName, with which the plugin does not start"},
      {R"({"resourceList": [{"resourceName": "r", "selectors": {}}, {"resourceName": "r", "selectors": {}}]})",
       "resource intel.com/r is there twice, so that the plugin does not start: give one another name, or one list of "
       "selectors to both"},
      {resource("{}", R"(, "resourcePrefix": "node.kubernetes.io")"),
       "resource node.kubernetes.io/r: resourceName must have a prefix that is a domain name, and not one of kubernetes.io"},
      {resource("{}", R"(, "deviceTpye": "netDevice")"),
       "resource intel.com/r: deviceTpye is a field that the plugin ignores: write deviceType if that is meant, or "
       "delete it"},
      {resource("{}", R"(, "pfNames": ["ens1f0"])"),
       "resource intel.com/r: pfNames belongs into selectors: the plugin ignores it here, beside selectors; move it into "
       "selectors if it is meant, or delete it"},
      {resource(R"({"resourcePrefix": "a.b"})"),
       "resource intel.com/r: resourcePrefix is a field of the resource, beside selectors: the plugin ignores it here; "
       "move it there if it is meant, or delete it"},
  };
  for (const auto& [json, error] : rows) {
    const Read read = read_json(json);
    EXPECT_EQ(read.texts(true), "c.json:1: error: " + error + "\n") << json;
  }
}

TEST(PluginConfig, ParsesJsonAsStrictlyAsThePlugin) {
  const Read read = read_json("{\"resourceList\": [\n  {\"resourceName\": \"r\", \"selectors\": {}},\n]}");
  EXPECT_TRUE(read.complaints.has_errors());  // of a list with a comma at its end the plugin reads nothing
  EXPECT_TRUE(read.configs.empty());
}

TEST(PluginConfig, UsesTheFirstEntryOfAPfNamedTwice) {
  const Read read = read_json(resource(R"([{"pfNames": ["ens2f0#0", "ens2f0#1-3"]}])"));
  EXPECT_EQ(read.texts(true), "");
  EXPECT_EQ(
      read.texts(false),
      "c.json:1: warning: resource intel.com/r: pfNames has ens2f0 twice: the plugin uses the first alone, and so does the "
      "result\n");
  EXPECT_EQ(offered(read.configs.at(0)), "intel.com/r: 5e:00.1\n");
}

TEST(PluginConfig, AppliesTheCommandLinePrefixToResourcesWithoutOne) {
  const Read read = read_json(resource("{}"), {.resource_prefix = "example.com"});
  EXPECT_EQ(read.configs.at(0).resources.at(0).name, "example.com/r");
}

TEST(PluginConfig, MapsConfigMapKeysToNodesAndLines) {
  const Read read = read_map(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sriovdp-config\n  namespace: kube-system\ndata:\n"
      "  node-a: |\n    {\"resourceList\": [\n      {\"resourceName\": \"a\",\n       \"selectors\": {\"pfNames\": "
      "[\"ens1f0\"]}}]}\n"
      "  node-b: '{\"resourceList\": [{\"resourceName\": \"b\", \"selectors\": {\"vendors\": [\"x\"]}}]}'\n"
      "  node-c: '{\"resourceList\": null}'\n");
  EXPECT_EQ(
      read.texts(true),
      "m.yaml:11: error: resource intel.com/b: vendors has \"x\", expected four hexadecimal digits in lower case, such as "
      "\"8086\"; the plugin compares it as text with the kernel's value\n");
  ASSERT_EQ(read.configs.size(), 3u);
  EXPECT_TRUE(read.configs[2].resources.empty());
  EXPECT_EQ(read.configs[0].nodes, (Nodes{"node-a", {}}));
  EXPECT_EQ(read.configs[0].name, "sriovdp-config-node-a");
  EXPECT_EQ(read.configs[0].origin, "ConfigMap kube-system/sriovdp-config, key node-a");
  EXPECT_EQ(read.configs[0].resources.at(0).place, (Place{"m.yaml", 9}));
  EXPECT_EQ(read.configs[0].resources.at(0).selectors.at(0).place.line, 10);
}

// The driver at allocation decides which nodes pods get (kubelet/plan.h).
TEST(PluginConfig, RequestsVfioIfAllSelectorsDo) {
  const auto gives_vfio = [](const std::string& selectors) {
    return read_json(resource(selectors)).configs.at(0).resources.at(0).gives_vfio;
  };
  EXPECT_TRUE(gives_vfio(R"([{"drivers": ["vfio-pci"]}, {"drivers": ["vfio-pci"], "vendors": ["8086"]}])"));
  EXPECT_FALSE(gives_vfio(R"([{"drivers": ["vfio-pci", "iavf"]}])"));
  EXPECT_FALSE(gives_vfio(R"([{"drivers": ["vfio-pci"]}, {"drivers": ["iavf"]}])"));
  EXPECT_FALSE(gives_vfio(R"([{"vendors": ["8086"]}])"));
}

TEST(PluginConfig, RefusesTwoConfigurationsForANode) {
  const std::string one = "{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": {}}]}";
  Read read = read_map("metadata: {name: m}\ndata:\n  config.json: '" + one + "'\n  node-a: '" + one + "'\n");
  fixture::expect_golden(read.texts(true));
  std::vector<Config> twice = {read.configs.at(1), read.configs.at(1)};
  Complaints complaints;
  check_one_config_a_node(twice, complaints);
  EXPECT_TRUE(complaints.has_errors());
}

// What is compared with all before it takes minutes of 3 MiB of keys: each of these ends in a moment.
TEST(PluginConfig, TimeIsLinear) {
  constexpr int kKeys = 200'000;
  std::string keys, lines;
  for (int i = 0; i < kKeys; ++i) keys += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  Read got = read_json(resource("[{" + keys + "}]"));
  EXPECT_EQ(got.complaints.all().size() + got.complaints.more_errors(), size_t{kKeys});
  got = read_json(resource("[{}]", "," + keys));
  EXPECT_EQ(got.complaints.all().size() + got.complaints.more_errors(), size_t{kKeys});
  for (int i = 0; i < kKeys / 2; ++i) lines += " k" + std::to_string(i) + ": '{\"resourceList\": 1}'\n";
  got = read_map("metadata: {name: c}\ndata:\n" + lines);
  EXPECT_TRUE(got.configs.empty());
}

}  // namespace
}  // namespace plugin_config_test
}  // namespace sliced::migrate
