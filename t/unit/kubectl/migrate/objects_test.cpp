#include "kubectl/migrate/objects.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/migrate/plugin_config.h"
#include "kubectl/migrate/plugin_rules.h"
#include "t/fixture/growth.h"

namespace sliced::migrate {
namespace objects_test {
namespace {

std::string made_of(const std::string& json, Complaints& complaints, const Target& target = {},
                    Nodes nodes = {}) {
  std::vector<Config> configs;
  read_plugin_config("c.json", json, {}, configs, complaints);
  for (Config& config : configs) config.nodes = nodes;
  std::string out;
  for (const ConvertedObject& made : objects_of(configs, target, complaints)) {
    for (const std::string& comment : made.comments) out += "# " + comment + "\n";
    out += kube::encode_yaml(made.object);
  }
  return out;
}

TEST(Objects, ContainAllSelectorsOfOneResource) {
  Complaints complaints;
  const std::string text = made_of(R"({"resourceList": [
  {"resourceName": "sriov_dpdk", "selectors": [{"drivers": ["vfio-pci"], "rootDevices": ["0000:3b:00.0#0-3,7"],
   "linkTypes": ["ether", "infiniband"], "needVhostNet": true}]}]})",
                                   complaints, {}, {"node-a", {}});
  EXPECT_TRUE(complaints.all().empty());
  EXPECT_EQ(text, R"(# From c.json:1, the device plugin's configuration.
# configs[0]: intel.com/sriov_dpdk, c.json:2
# It offers VFs alone; --as exposure offers PFs without VFs and NICs, too.
apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
kind: SriovResourcePolicy
metadata:
  name: device-plugin
  namespace: dra-driver-sriov
spec:
  nodeSelector:
    nodeSelectorTerms:
    - matchFields:
      - key: metadata.name
        operator: In
        values:
        - node-a
  configs:
  - deviceAttributesSelector:
      matchLabels:
        sriovnetwork.k8snetworkplumbingwg.io/resource: intel.com-sriov-dpdk
    resourceFilters:
    - drivers:
      - vfio-pci
      pfPciAddresses:
      - "0000:3b:00.0#0-3,7"
      linkType: ethernet
    - drivers:
      - vfio-pci
      pfPciAddresses:
      - "0000:3b:00.0#0-3,7"
      linkType: infiniband
# From c.json:2, resource intel.com/sriov_dpdk
apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
kind: DeviceAttributes
metadata:
  name: intel.com-sriov-dpdk
  namespace: dra-driver-sriov
  labels:
    sriovnetwork.k8snetworkplumbingwg.io/resource: intel.com-sriov-dpdk
spec:
  attributes:
    resourceName:
      string: intel.com/sriov_dpdk
    k8s.cni.cncf.io/resourceName:
      string: intel.com/sriov_dpdk
# From c.json:2, resource intel.com/sriov_dpdk
# Pods that ask for intel.com/sriov_dpdk in their resources get such a device.
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: intel.com-sriov-dpdk
spec:
  selectors:
  - cel:
      expression: "device.driver == \"sriovnetwork.k8snetworkplumbingwg.io\" && \"resourceName\" in device.attributes[\"sriovnetwork.k8snetworkplumbingwg.io\"] && device.attributes[\"sriovnetwork.k8snetworkplumbingwg.io\"].resourceName == \"intel.com/sriov_dpdk\""
  extendedResourceName: intel.com/sriov_dpdk
  config:
  - opaque:
      driver: sriovnetwork.k8snetworkplumbingwg.io
      parameters:
        apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
        kind: VfConfig
        driver: vfio-pci
        addVhostMount: true
# From c.json:2, resource intel.com/sriov_dpdk
# For pods with a claim in place of the extended resource; it belongs into their namespace.
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: intel.com-sriov-dpdk
spec:
  spec:
    devices:
      requests:
      - name: vf
        exactly:
          deviceClassName: intel.com-sriov-dpdk
)");
}

TEST(Objects, UsesCelWherePoliciesLackAField) {
  Complaints complaints;
  const std::string text = made_of(
      R"({"resourceList": [{"resourceName": "a", "selectors": [{"isRdma": true, "pfNames": ["p0#1,3-4"]}]},
                           {"resourceName": "b", "selectors": {}}]})",
      complaints);
  EXPECT_FALSE(complaints.has_errors());
  EXPECT_NE(text.find("priority: 1000"), std::string::npos);
  EXPECT_NE(text.find("priority: 999"), std::string::npos);
  std::string unquoted = text;
  std::erase(unquoted, '\\');
  EXPECT_NE(
      unquoted.find(
          R"((device.attributes["dra.networking"].pfName == "p0" && (device.attributes["dra.networking"].vfIndex == 1 || (device.attributes["dra.networking"].vfIndex >= 3 && device.attributes["dra.networking"].vfIndex <= 4))) && device.attributes["dra.networking"].rdma)"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("SriovResourcePolicy"),
            std::string::npos);  // of the two kinds only one: they have no common order
}

TEST(Objects, RefusesRdmaOnDemandInASriovResourcePolicy) {
  Complaints complaints;
  made_of(R"({"resourceList": [{"resourceName": "a", "selectors": [{"isRdma": true}]}]})", complaints,
          {.form = Form::kSriov});
  ASSERT_TRUE(complaints.has_errors());
  EXPECT_EQ(
      text_of(complaints.all()[0]),
      "c.json:1: error: isRdma cannot be said in a SriovResourcePolicy: leave out --as, or set --as exposure");
}

TEST(Objects, OffersScalableFunctionsByAnExposurePolicy) {
  const std::string json =
      R"({"resourceList": [{"resourceName": "sf", "deviceType": "auxNetDevice",
          "selectors": [{"vendors": ["15b3"], "rootDevices": ["0000:03:00.0"], "auxTypes": ["sf"], "isRdma": true}]}]})";
  Complaints complaints;
  const std::string text = made_of(json, complaints);
  EXPECT_FALSE(complaints.has_errors());
  EXPECT_NE(text.find("kind: DeviceExposurePolicy"), std::string::npos) << text;
  const std::string own = R"(device.attributes[\"dra.networking\"].)";
  EXPECT_NE(text.find(own + R"(type == \"sf\" && ()" + own + R"(vendor == \"15b3\" && )" + own +
                      R"(pfPciAddress == \"0000:03:00.0\" && )" + own + "rdma)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("numVFs"), std::string::npos) << text;
  made_of(json, complaints, {.form = Form::kSriov});
  EXPECT_TRUE(complaints.has_errors());
}

// Red when a resource of functions takes scalable functions, or one of scalable functions a function.
TEST(PluginRules, ScalableFunctionsBelongOnlyToTheirResources) {
  Config config;
  config.resources = {
      {.name = "a/functions", .selectors = {{}}},
      {.name = "a/sf", .selectors = {{.root_devices = {{"0000:03:00.0", {}}}}}, .is_auxiliary = true}};
  hotplug::HostDevice sf{.id = {"enp3s0f0s88"}, .type = hotplug::DeviceType::kSf};
  sf.pf = hotplug::PciAddress::decode("0000:03:00.0");
  ASSERT_NE(plugin_resource_of(config, sf), nullptr);
  EXPECT_EQ(plugin_resource_of(config, sf)->name, "a/sf");
  sf.pf = hotplug::PciAddress::decode("0000:03:00.1");
  EXPECT_EQ(plugin_resource_of(config, sf), nullptr);
  hotplug::HostDevice nic{.id = {"0000:03:00.0"}, .type = hotplug::DeviceType::kNic};
  nic.pci = hotplug::PciAddress::decode("0000:03:00.0"), nic.driver = "mlx5_core";
  EXPECT_EQ(plugin_resource_of(config, nic)->name, "a/functions");
}

TEST(Objects, NumbersNamesThatCollide) {
  Complaints complaints;
  const std::string text = made_of(
      R"({"resourceList": [{"resourceName": "a_b", "selectors": {}}, {"resourceName": "a-b", "selectors": {}}]})",
      complaints);
  EXPECT_FALSE(complaints.has_errors());
  EXPECT_NE(text.find("name: intel.com-a-b\n"), std::string::npos);
  EXPECT_NE(text.find("name: intel.com-a-b-2\n"), std::string::npos);
}

// Red when each of thousands whose names fall together tries all numbers before its own.
TEST(Objects, NumbersThousandsOfCollidingNamesQuickly) {
  const auto convert = [](size_t names) {
    std::vector<Config> configs(1);
    configs[0].name = "c";
    for (size_t i = 0; i < names; ++i) {
      std::string name = "intel.com/aaaaaaaaaaaaaaaa";
      for (size_t bit = 0; bit < 16; ++bit)
        if ((i >> bit & 1) != 0) name[10 + bit] = 'A';
      configs[0].resources.push_back({.name = name, .selectors = {{.vendors = {"8086"}}}});
    }
    return [=] {
      Complaints complaints;
      const auto objects = objects_of(configs, {}, complaints);
      EXPECT_FALSE(complaints.has_errors());
      EXPECT_EQ(objects.back().object.find("metadata")->text("name"),
                "intel.com-aaaaaaaaaaaaaaaa-" + std::to_string(names));
    };
  };
  EXPECT_LT(fixture::growth(500, convert), fixture::kGrowthMax);
}

TEST(Objects, SplitsALargePolicyInOrder) {
  std::string list;
  for (int i = 0; i < 130; ++i)
    list += (i == 0 ? "" : ",") + ("{\"resourceName\": \"r" + std::to_string(i) + "\", \"selectors\": {}}");
  Complaints complaints;
  const std::string text = made_of("{\"resourceList\": [" + list + "]}", complaints);
  EXPECT_FALSE(complaints.has_errors());
  const size_t first = text.find("name: device-plugin-01\n"), last = text.find("name: device-plugin-03\n");
  EXPECT_LT(first, last);
  EXPECT_NE(last, std::string::npos);
  EXPECT_LT(text.find("intel.com/r63,"), text.find("name: device-plugin-02\n"));
}

TEST(Objects, RefusesAnExpressionThatIsTooLong) {
  std::string names;
  for (int i = 0; i < 200; ++i) names += (i == 0 ? "\"" : ", \"") + ("ens" + std::to_string(i) + "f0#0-3\"");
  Complaints complaints;
  made_of("{\"resourceList\": [{\"resourceName\": \"a\", \"selectors\": [{\"pfNames\": [" + names + "]}]}]}",
          complaints, {.form = Form::kExposure});
  ASSERT_TRUE(complaints.has_errors());
  EXPECT_NE(text_of(complaints.all()[0]).find("spec.selector.cel"), std::string::npos);
}

}  // namespace
}  // namespace objects_test
}  // namespace sliced::migrate
