#include "policy/decide.h"

#include <gtest/gtest.h>

#include <random>

#include "kube/objects/yaml.h"
#include "policy/entry_validation.h"
#include "policy/explain.h"
#include "policy/sriov/attributes.h"
#include "policy/sriov/match.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace {

using fixture::VfHost;
using hotplug::HostDevice;

constexpr const char* kPf = "0000:3b:00.0";
const std::string kDriver = "sriovnetwork.k8snetworkplumbingwg.io";

std::shared_ptr<Inputs> inputs(const VfHost& host, const std::vector<std::string>& policies,
                               const std::vector<std::string>& attributes = {}, kube::Labels labels = {}) {
  std::vector<SriovPolicy> sriov;
  for (const std::string& text : policies)
    sriov.push_back(decode_sriov_policy(kube::decode_yaml(text).documents.at(0)));
  std::vector<DeviceAttributes> objects;
  for (const std::string& text : attributes)
    objects.push_back(decode_device_attributes(kube::decode_yaml(text).documents.at(0), kDriver));
  auto in = std::make_shared<Inputs>();
  in->inventory = host.inventory();
  in->policies =
      std::make_shared<const PolicySet>(make_policy_set(share(std::move(sriov)), share(std::move(objects))));
  in->node = {"node-a", std::move(labels)};
  return in;
}

std::string policy(const std::string& name, const std::string& spec) {
  return "metadata: {name: " + name + ", namespace: ns}\nspec: " + spec;
}

std::vector<int> offered_indices(const Decision& decision) {
  std::vector<int> out;
  for (const kube::Device& device : decision.pools.at(kDriver).at(0).devices)
    out.push_back(static_cast<int>(std::get<int64_t>(device.attributes.at(kDriver + "/vfID"))));
  return out;
}

// VFs of more kinds than the matcher keeps, one after the other as they happen to come, and filters of every
// field: each is told what asking every filter in turn tells.
TEST(Decide, SharedEvaluationEqualsEvaluationOfEachVf) {
  std::minstd_rand random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto text = [&](const char* what) { return what + std::to_string(below(3)); };
  const auto pf = [&] { return *hotplug::PciAddress::decode("0000:0" + std::to_string(below(3)) + ":00.0"); };
  const auto filter = [&] {
    ResourceFilter out;
    decltype(PfMatch<std::string>::ranges) some;
    if (below(2) == 0) some.push_back({below(4), 4});
    if (below(4) == 0) out.vendors = {text("v")};
    if (below(4) == 0) out.devices = {text("p"), text("p")};
    if (below(4) == 0) out.drivers = {text("d")};
    if (below(4) == 0) out.pci_addresses = {{0, 9, 0, static_cast<uint8_t>(below(8))}};
    if (below(4) == 0) out.pf_names = {{text("ens"), some}, {text("ens"), {}}};
    if (below(4) == 0) out.pf_pci_addresses = {{pf(), {{below(4), 3}}}};
    if (below(4) == 0) out.root_devices = {{pf(), {{0, below(4)}}}};
    if (below(4) == 0) out.numa_nodes = {below(3)};
    if (below(4) == 0) out.link_type = below(2) == 0 ? "ethernet" : "infiniband";
    return out;
  };
  int unknown = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<SriovPolicy> policies(6);
    for (SriovPolicy& policy : policies)
      for (int i = below(3); i >= 0; --i) policy.configs.push_back({.filters = {filter(), filter()}});
    const PolicySet set = make_policy_set(share(std::move(policies)), {});
    const std::vector<int32_t> selected{0, 1, 2, 3, 4, 5};
    // The interfaces of some PFs are in other namespaces, so the facts that VFs inherit from them are unknown.
    hotplug::Inventory inventory;
    for (int i = 0; i < 3; ++i) {
      const auto address = *hotplug::PciAddress::decode("0000:0" + std::to_string(i) + ":00.0");
      inventory.devices[address.text()] = {.id = {address.text()},
                                           .type = hotplug::DeviceType::kPf,
                                           .pci = address,
                                           .driver = below(2) == 0 ? "ice" : ""};
    }
    std::vector<HostDevice> vfs(200);
    for (HostDevice& vf : vfs) {
      vf.type = hotplug::DeviceType::kVf;
      vf.pci = hotplug::PciAddress{0, 9, 0, static_cast<uint8_t>(below(8))};
      vf.vendor = text("v");
      vf.product = text("p");
      vf.driver = text("d");
      if (below(3) > 0) vf.pf_name = text("ens");
      vf.vf_index = below(5);
      if (below(8) > 0) vf.pf = pf();
      if (below(8) > 0) vf.numa_node = below(3);
      if (below(8) > 0) vf.pf_link_type = below(2) == 0 ? 1 : 32;
    }
    VfMatcher matcher(set, selected, inventory);
    for (const HostDevice& vf : vfs) {
      const Verdict verdict = matcher.decide(vf);
      unknown += verdict.outcome == Outcome::kMatchUnknown ? 1 : 0;
      ASSERT_EQ(verdict, walk(vf, set, selected, unknown_facts(vf, inventory), [](const Step&) {}));
    }
  }
  EXPECT_GT(unknown, 100);
}

// Every filter field must be able to say no, and to say yes. A field that is read but not asked (the peer's
// `drivers`) turns its second row red.
TEST(Decide, EveryFilterFieldIsEnforced) {
  const struct {
    const char* filter;
    std::vector<int> offered;  // of VFs 0..3
  } rows[] = {
      {"{}", {0, 1, 2, 3}},
      {"{vendors: ['8086']}", {0, 1, 2, 3}},
      {"{vendors: ['15b3']}", {}},
      {"{devices: ['1889']}", {0, 1, 2, 3}},
      {"{devices: ['1890']}", {}},
      {"{drivers: [vfio-pci]}", {2}},
      {"{drivers: [nothing]}", {}},
      {"{pciAddresses: ['0000:3b:00.2']}", {1}},
      {"{pciAddresses: ['0000:3c:00.2']}", {}},
      {"{pfNames: [ens1f0]}", {0, 1, 2, 3}},
      {"{pfNames: ['ens1f0#0,2-3']}", {0, 2, 3}},
      {"{pfNames: [ens1f1]}", {}},
      {"{pfPciAddresses: ['0000:3b:00.0']}", {0, 1, 2, 3}},
      {"{pfPciAddresses: ['0000:3b:00.1']}", {}},
      {"{rootDevices: ['0000:3b:00.0#1']}", {1}},
      {"{rootDevices: ['0000:3a:00.0']}", {}},
      {"{numaNodes: [1]}", {0, 1, 2, 3}},
      {"{numaNodes: ['0']}", {}},
      {"{linkType: ethernet}", {0, 1, 2, 3}},
      {"{linkType: ib}", {}},
      {"{vendors: ['15b3', '8086'], drivers: [iavf]}", {0, 1, 3}},
      {"{vendors: ['8086'], drivers: [nothing]}", {}},
  };
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  host.at(VfHost::vf_address(kPf, 2)).driver = "vfio-pci";
  for (const auto& row : rows)
    EXPECT_EQ(offered_indices(decide(inputs(
                  host, {policy("p", "{configs: [{resourceFilters: [" + std::string(row.filter) + "]}]}")}))),
              row.offered)
        << row.filter;
}

TEST(Decide, OffersNothingWithoutAPolicy) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const Decision none = decide(inputs(host, {}));
  ASSERT_EQ(none.pools.at(kDriver).size(), 1u) << "the pool itself is always announced";
  EXPECT_TRUE(none.pools.at(kDriver)[0].devices.empty());
  EXPECT_EQ(none.verdicts.at(VfHost::vf_address(kPf, 0)).outcome, Outcome::kNoPolicy);
  EXPECT_TRUE(decide(inputs(host, {policy("p", "{configs: []}")})).pools.at(kDriver)[0].devices.empty());
}

TEST(Decide, AnInvalidConfigOffersNothingAndAffectsNoOther) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const auto decision = decide(inputs(host, {policy("p",
                                                    "{configs: [{resourceFilters: [{vendor: ['15b3']}]}, "
                                                    "{resourceFilters: [{pfNames: ['ens1f0#3']}]}]}"),
                                             policy("q", "{config: [{}]}")}));
  EXPECT_EQ(offered_indices(decision), (std::vector<int>{3}));
}

TEST(Decide, OrdersByPriorityNameAndConfig) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  const auto resource_of = [&](const std::vector<std::string>& policies) {
    const Decision decision = decide(inputs(host, policies));
    return std::get<std::string>(
        decision.pools.at(kDriver)[0].devices.at(0)->attributes.at(kDriver + "/resourceName"));
  };
  EXPECT_EQ(resource_of({policy("b", "{configs: [{resourceName: b}]}"),
                         policy("a", "{configs: [{resourceName: a}]}")}),
            "a");
  EXPECT_EQ(resource_of({policy("a", "{configs: [{resourceName: a}]}"),
                         policy("b", "{priority: 1, configs: [{resourceName: b}]}")}),
            "b");
  EXPECT_EQ(resource_of({policy("a", "{configs: [{resourceName: one}, {resourceName: two}]}")}), "one");
}

TEST(Decide, HonoursNodeSelectors) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  const auto count = [&](const std::string& selector, kube::Labels labels) {
    return decide(inputs(host, {policy("p", "{nodeSelector: " + selector + ", configs: [{}]}")}, {}, labels))
        .pools.at(kDriver)[0]
        .devices.size();
  };
  EXPECT_EQ(count("{zone: a}", {{"zone", "a"}}), 1u);
  EXPECT_EQ(count("{zone: a}", {{"zone", "b"}}), 0u);
  EXPECT_EQ(
      count("{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-a]}]}]}",
            {}),
      1u);
  EXPECT_EQ(
      count("{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-b]}]}]}",
            {}),
      0u);
  EXPECT_EQ(count("{nodeSelectorTerms: [{}]}", {}), 0u) << "an empty term matches nothing";
  EXPECT_EQ(count("{nodeSelectorTerms: [{matchExpressions: [{key: slots, operator: Gt, values: ['3']}]}]}",
                  {{"slots", "4"}}),
            1u);
  EXPECT_EQ(count("{nodeSelectorTerms: [{matchExpressions: [{key: slots, operator: Gt, values: ['3']}]}]}",
                  {{"slots", "3"}}),
            0u);
}

// Names, types and values are an interface that DeviceClasses and KubeVirt select by.
TEST(Decide, PublishesTheAttributesOfTheCompatibleDriver) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  const auto decision = decide(inputs(host, {policy("p", "{configs: [{}]}")}));
  const kube::Device& device = decision.pools.at(kDriver)[0].devices.at(0);
  EXPECT_EQ(decision.pools.at(kDriver)[0].name, "node-a");
  EXPECT_EQ(decision.pools.at(kDriver)[0].driver, kDriver);
  EXPECT_EQ(device.name, "0000-3b-00-1");
  const kube::Attributes wanted = {
      {kDriver + "/vendor", std::string("8086")},
      {kDriver + "/deviceID", std::string("1889")},
      {kDriver + "/pfDeviceID", std::string("1592")},
      {kDriver + "/driver", std::string("iavf")},
      {kDriver + "/pciAddress", std::string("0000:3b:00.1")},
      {kDriver + "/PFName", std::string("ens1f0")},
      {kDriver + "/pfPciAddress", std::string(kPf)},
      {kDriver + "/EswitchMode", std::string("legacy")},
      {kDriver + "/vfID", int64_t{0}},
      {kDriver + "/linkType", std::string("ethernet")},
      {kDriver + "/rdmaCapable", false},
      {"dra.net/numaNode", int64_t{1}},
      {"resource.kubernetes.io/numaNode", int64_t{1}},
      {"resource.kubernetes.io/pciBusID", std::string("0000:3b:00.1")},
      {"resource.kubernetes.io/pcieRoot", std::string("pci0000:3a")},
      {"k8s.cni.cncf.io/deviceID", std::string("0000:3b:00.1")},
  };
  EXPECT_EQ(device.attributes, wanted);
}

// kubernetes-sigs/dranet#186, #193. Red when a claim cannot tell a VF without driver, or one that shares its IOMMU group.
TEST(Decide, SelectsByDriverAndIommuGroup) {
  hotplug::HostDevice vf;
  vf.pci = hotplug::PciAddress::decode("0000:02:00.1");
  const auto own_of = [&] {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : VfAttributes(kDriver).of(vf, nullptr))
      for (const char* id : {"driver", "iommuGroup", "iommuGroupShared", "representor"})
        if (key.str() == kDriver + "/" + id) out[id] = kube::describe_attribute(value);
    return out;
  };
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(own_of(), Texts{}) << "no driver, no IOMMU";
  EXPECT_EQ(iommu_problem(vf), "");
  vf.driver = "vfio-pci";
  vf.iommu_group = 75;
  EXPECT_EQ(own_of(),
            (Texts{{"driver", "\"vfio-pci\""}, {"iommuGroup", "75"}, {"iommuGroupShared", "false"}}));
  EXPECT_EQ(iommu_problem(vf), "");
  vf.iommu_partners = {*hotplug::PciAddress::decode("0000:02:00.0")};
  EXPECT_EQ(own_of().at("iommuGroupShared"), "true");
  vf.representor = "ens1f0npf0vf0";
  EXPECT_EQ(own_of().at("representor"), "\"ens1f0npf0vf0\"");
  EXPECT_EQ(
      iommu_problem(vf),
      "shares IOMMU group 75 with 0000:02:00.0: a claim with driver vfio-pci is refused unless it has all of them; "
      "avoid the device by attribute iommuGroupShared");
}

// Red when attributes that DeviceAttributes gave before there was a driver attribute are lost to it.
TEST(Decide, PrefersAttributesOfObjectsToTheDrivers) {
  for (const size_t count : {11u, 12u, 17u}) {
    VfHost host;
    host.pf(kPf, "ens1f0", 1);
    std::string given;
    for (size_t i = 0; i < count; ++i)
      given += "example.com/" + std::string(1, static_cast<char>('a' + i)) + ": {string: x}, ";
    const auto decision =
        decide(inputs(host, {policy("p", "{configs: [{deviceAttributesSelector: {}}]}")},
                      {"metadata: {name: a, namespace: ns}\nspec: {attributes: {" + given + "}}"}));
    const kube::Device& device = decision.pools.at(kDriver)[0].devices.at(0);
    EXPECT_EQ(device.attributes.contains(kDriver + "/driver"), count <= 11) << count;
    EXPECT_TRUE(
        device.attributes.contains("example.com/" + std::string(1, static_cast<char>('a' + count - 1))));
  }
}

// Red when a VF cannot be selected by its partition, or an entry is refused because it has many.
TEST(Decide, SelectsByPartitionKeys) {
  hotplug::HostDevice vf;
  vf.pci = hotplug::PciAddress::decode("0000:3b:00.1");
  const auto keys_of = [&](bool with_yielding = true) {
    const kube::Attributes all = VfAttributes(kDriver).of(vf, nullptr, with_yielding);
    const auto at = all.find(kDriver + "/pKeys");
    return at == all.end() ? "none" : kube::describe_attribute(at->second);
  };
  EXPECT_EQ(keys_of(), "none");
  vf.pkeys = {"0x7fff", "0x8001"};
  EXPECT_EQ(keys_of(), "\",0x7fff,0x8001,\"");
  EXPECT_EQ(keys_of(false), "none") << "the policy has taken its room";
  for (int i = 0; i < 7; ++i) vf.pkeys.push_back("0x900" + std::to_string(i));
  EXPECT_NE(keys_of(), "none") << "nine fit";
  vf.pkeys.push_back("0x9007");
  EXPECT_EQ(keys_of(), "none") << "more than 64 bytes";
}

// What is published is where a restarted daemon finds the facts of interfaces that are away. A key or a link
// type that is written one way and read another loses them.
TEST(Decide, RestoresFactsOfANetdevFromItsEntry) {
  for (const int link_type : {1, 32}) {
    for (const bool rdma : {false, true}) {
      hotplug::HostDevice vf;
      vf.pci = hotplug::PciAddress::decode("0000:3b:00.1");
      vf.pf = hotplug::PciAddress::decode(kPf);
      vf.pf_name = "ens1f0";
      vf.pf_link_type = link_type;
      if (rdma) vf.rdma_device = "mlx5_2";
      const PublishedVf read = read_vf_attributes(VfAttributes(kDriver).of(vf, nullptr), kDriver);
      EXPECT_EQ(read.address, "0000:3b:00.1");
      EXPECT_EQ(read.pf_address, kPf);
      EXPECT_EQ(read.pf_name, "ens1f0");
      EXPECT_EQ(read.pf_link_type, link_type);
      EXPECT_EQ(read.is_rdma_capable, rdma);
    }
  }
  const PublishedVf nothing = read_vf_attributes({}, kDriver);
  EXPECT_EQ(nothing.address + nothing.pf_name, "");
  EXPECT_EQ(nothing.pf_link_type, std::nullopt);
}

TEST(Decide, OmitsUnknownFactsAndStandardAddressesOfWideDomains) {
  VfHost host;
  host.pf("10000:01:00.0", "ens9", 1);
  auto& vf = host.at(VfHost::vf_address("10000:01:00.0", 0));
  vf.pf_name.clear();
  vf.pf_link_type.reset();
  vf.numa_node.reset();
  vf.pf_numa_node = -1;
  const auto decision = decide(inputs(host, {policy("p", "{configs: [{}]}")}));
  const auto& attributes = decision.pools.at(kDriver)[0].devices.at(0)->attributes;
  EXPECT_EQ(decision.pools.at(kDriver)[0].devices[0]->name, "10000-01-00-1");
  EXPECT_FALSE(attributes.contains(kDriver + "/PFName"));
  EXPECT_FALSE(attributes.contains("resource.kubernetes.io/numaNode"));
  EXPECT_FALSE(attributes.contains("resource.kubernetes.io/pciBusID"));
  EXPECT_EQ(attributes.at("dra.net/numaNode"), kube::AttributeValue(int64_t{-1}));
  EXPECT_EQ(attributes.at(kDriver + "/linkType"), kube::AttributeValue(std::string("unknown")));
}

// Red also when entries of before, made with a number, are taken for those with a list.
TEST(Decide, PublishesANumaNodeAsAListOnRequest) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  auto& vf = host.at(VfHost::vf_address(kPf, 0));
  vf.numa_node = vf.pf_numa_node = 1;
  vf.numa_neighbors = {0};
  auto in = inputs(host, {policy("p", "{configs: [{}]}")});
  const Decision number = decide(in);
  auto wants_list = std::make_shared<Inputs>(*in);
  wants_list->settings.lists_numa_nodes = true;
  wants_list->entries = number.entries;
  const Decision list = decide(wants_list);
  const auto& attributes = list.pools.at(kDriver)[0].devices.at(0)->attributes;
  EXPECT_EQ(attributes.at("resource.kubernetes.io/numaNode"),
            kube::AttributeValue(std::vector<int64_t>{1, 0}));
  EXPECT_EQ(attributes.at("dra.net/numaNode"), kube::AttributeValue(int64_t{1}));
}

TEST(Decide, JoinsDeviceAttributesBySelectorAndTheLastNameWins) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  const auto decision = decide(
      inputs(host, {policy("p", "{configs: [{deviceAttributesSelector: {matchLabels: {pool: fast}}}]}")},
             {"metadata: {name: a, namespace: ns, labels: {pool: fast}}\nspec: {attributes: "
              "{example.com/rack: {string: r1}, example.com/a: {int: 1}}}",
              "metadata: {name: b, namespace: ns, labels: {pool: fast}}\nspec: {attributes: "
              "{example.com/rack: {string: r2}}}",
              "metadata: {name: c, namespace: ns, labels: {pool: slow}}\nspec: {attributes: "
              "{example.com/rack: {string: r3}}}",
              "metadata: {name: d, namespace: other, labels: {pool: fast}}\nspec: {attributes: "
              "{example.com/rack: {string: r4}}}"}));
  const auto& attributes = decision.pools.at(kDriver)[0].devices.at(0)->attributes;
  EXPECT_EQ(attributes.at("example.com/rack"), kube::AttributeValue(std::string("r2")));
  EXPECT_EQ(attributes.at("example.com/a"), kube::AttributeValue(int64_t{1}));
}

TEST(Decide, ARefusedAttributeIsDroppedAndARefusedResourceNameHoldsTheDeviceBack) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  const std::string select = "{configs: [{deviceAttributesSelector: {}}]}";
  const std::string long_text(100, 'x');
  const auto descriptive =
      decide(inputs(host, {policy("p", select)},
                    {"metadata: {name: a, namespace: ns}\nspec: {attributes: {example.com/rack: {string: " +
                     long_text + "}, example.com/ok: {bool: true}}}"}));
  ASSERT_EQ(descriptive.pools.at(kDriver)[0].devices.size(), 1u);
  EXPECT_TRUE(descriptive.pools.at(kDriver)[0].devices[0]->attributes.contains("example.com/ok"));
  EXPECT_FALSE(descriptive.pools.at(kDriver)[0].devices[0]->attributes.contains("example.com/rack"));
  const auto resource = decide(inputs(
      host, {policy("p", select)},
      {"metadata: {name: a, namespace: ns}\nspec: {attributes: {k8s.cni.cncf.io/resourceName: {string: " +
       long_text + "}}}"}));
  EXPECT_TRUE(resource.pools.at(kDriver)[0].devices.empty());
  EXPECT_EQ(resource.verdicts.at(VfHost::vf_address(kPf, 0)).outcome, Outcome::kRefused);
  EXPECT_NE(explain(resource, VfHost::vf_address(kPf, 0)).summary.find("resourceName"), std::string::npos);
}

TEST(Decide, DropsExcessAttributesFromTheEndExceptTheResourceName) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  std::string attributes;
  for (int i = 10; i < 50; ++i) attributes += "a.com/k" + std::to_string(i) + ": {int: 1}, ";
  const auto decision = decide(inputs(
      host, {policy("p", "{configs: [{resourceName: fast, deviceAttributesSelector: {}}]}")},
      {"metadata: {name: a, namespace: ns}\nspec: {attributes: {" + attributes + "z.com/last: {int: 1}}}"}));
  const auto& published = decision.pools.at(kDriver)[0].devices.at(0)->attributes;
  EXPECT_EQ(published.size(), kube::kAttributesAndCapacitiesMax);
  EXPECT_TRUE(published.contains(kDriver + "/resourceName"));
  EXPECT_TRUE(published.contains("a.com/k10"));
  EXPECT_FALSE(published.contains("z.com/last"));
  EXPECT_FALSE(decision.notes.empty());
}

TEST(Decide, HoldsBackDevicesInHostUseUnlessAllowed) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  const std::string vf = VfHost::vf_address(kPf, 1);
  host.at(vf).host_use = "enslaved to br0";
  EXPECT_EQ(offered_indices(decide(inputs(host, {policy("p", "{configs: [{}]}")}))), (std::vector<int>{0}));
  EXPECT_EQ(offered_indices(decide(inputs(host, {policy("p", "{allowHostUse: true, configs: [{}]}")}))),
            (std::vector<int>{0, 1}));
  const Explanation why = explain(decide(inputs(host, {policy("p", "{configs: [{}]}")})), vf);
  EXPECT_EQ(why.outcome, "in-use-by-host");
  fixture::expect_golden(why.summary);
}

// A kernel update has renamed the PF. Red when its VFs are withdrawn, or when their entries change.
TEST(Decide, PfNamesMatchAlternativeNames) {
  VfHost host;
  host.pf(kPf, "ens7f0np0", 3);
  for (int i = 0; i < 3; ++i)
    host.at(VfHost::vf_address(kPf, i)).pf_alternative_names = {"enp3s0f0", "ens7f0"};
  const auto decided = [&](const char* names) {
    return decide(inputs(
        host, {policy("p", std::string("{configs: [{resourceFilters: [{pfNames: ") + names + "}]}]}")}));
  };
  EXPECT_EQ(offered_indices(decided("['ens7f0']")), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(offered_indices(decided("['ens7f0#1-2']")), (std::vector<int>{1, 2}));
  EXPECT_EQ(offered_indices(decided("['ens7f0np0#0', 'enp3s0f0#2']")), (std::vector<int>{0, 2}));
  EXPECT_TRUE(offered_indices(decided("['ens7f1']")).empty());
  const Explanation why = explain(decided("['ens7f1']"), VfHost::vf_address(kPf, 0));
  ASSERT_EQ(why.rules.size(), 1u);
  EXPECT_EQ(why.rules[0].found, "ens7f0np0#0 (altnames enp3s0f0, ens7f0)");
}

// Another interface has the alternative name too: as its name, or as an alternative one. Red when VFs of the wrong PF are offered.
TEST(Decide, PfNamesIgnoreAmbiguousAlternativeNames) {
  VfHost host;
  host.pf(kPf, "ens7f0np0", 2);
  for (int i = 0; i < 2; ++i)
    host.at(VfHost::vf_address(kPf, i)).pf_alternative_names = {"ens7f0", "enp3s0f0"};
  auto inventory = std::make_shared<hotplug::Inventory>(*host.inventory());
  inventory->contested_names = {"ens7f0"};
  const auto decided = [&](const char* names) {
    Inputs in = *inputs(
        host, {policy("p", std::string("{configs: [{resourceFilters: [{pfNames: ") + names + "}]}]}")});
    in.inventory = inventory;
    return decide(std::make_shared<const Inputs>(std::move(in)));
  };
  EXPECT_TRUE(offered_indices(decided("['ens7f0']")).empty());
  EXPECT_EQ(offered_indices(decided("['enp3s0f0']")), (std::vector<int>{0, 1}));
  const Explanation why = explain(decided("['ens7f0']"), VfHost::vf_address(kPf, 0));
  ASSERT_EQ(why.rules.size(), 1u);
  EXPECT_EQ(why.rules[0].found,
            "ens7f0np0#0 (altnames ens7f0 [ignored: another interface has this name, too], enp3s0f0)");
}

// As the table of docs/policy-reference.md has it.
TEST(Decide, AllowDefaultRoutesAllowsNoOtherHostUse) {
  using Kind = hotplug::HostUseKind;
  const struct {
    const char* value;
    std::set<Kind> allowed;
  } rows[] = {
      {"{configs: [{}]}", {}},
      {"{allowDefaultRoutes: none, configs: [{}]}", {}},
      {"{allowDefaultRoutes: learned, configs: [{}]}", {Kind::kLearnedRoute}},
      {"{allowDefaultRoutes: all, configs: [{}]}", {Kind::kLearnedRoute, Kind::kDefaultRoute}},
      {"{allowHostUse: true, configs: [{}]}", {Kind::kLearnedRoute, Kind::kDefaultRoute, Kind::kOther}}};
  for (const auto& row : rows)
    for (const Kind kind : {Kind::kOther, Kind::kDefaultRoute, Kind::kLearnedRoute}) {
      VfHost host;
      host.pf(kPf, "ens1f0", 1);
      HostDevice& vf = host.at(VfHost::vf_address(kPf, 0));
      vf.host_use = "default route through ens1f0v0", vf.host_use_kind = kind;
      const auto decision = decide(inputs(host, {policy("p", row.value)}));
      EXPECT_EQ(!offered_indices(decision).empty(), row.allowed.contains(kind))
          << row.value << " " << static_cast<int>(kind);
      if (row.allowed.empty() && kind == Kind::kLearnedRoute) {
        EXPECT_NE(explain(decision, vf.id.text).summary.find("or spec.allowDefaultRoutes: learned"),
                  std::string::npos)
            << explain(decision, vf.id.text).summary;
      }
    }
}

TEST(Decide, HoldsBackARefusedDeviceUntilItsContentChanges) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  const auto first = decide(inputs(host, {policy("p", "{configs: [{resourceName: a}]}")}));
  auto in = inputs(host, {policy("p", "{configs: [{resourceName: a}]}")});
  in->quarantine.sriov["0000-3b-00-1"] = {content_hash(first.pools.at(kDriver)[0].devices.at(0)),
                                          "the API server said no"};
  EXPECT_TRUE(decide(in).pools.at(kDriver)[0].devices.empty());
  auto changed = inputs(host, {policy("p", "{configs: [{resourceName: b}]}")});
  changed->quarantine = in->quarantine;
  EXPECT_EQ(decide(changed).pools.at(kDriver)[0].devices.size(), 1u);
}

// Red when filters may be as many as fit into policies: each is looked at for each VF.
TEST(Decide, FiltersHaveABudget) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  std::string many;
  for (int i = 0; i < 60; ++i) many += "{pfNames: [other" + std::to_string(i) + "]}, ";
  const std::string wide = "{priority: 9, configs: [{resourceFilters: [" + many + "{}]}]}";
  const auto in = inputs(host, {policy("plain", "{configs: [{resourceFilters: [{vendors: ['8086']}]}]}"),
                                policy("wide", wide), policy("wider", wide)});
  EXPECT_TRUE(problems_of(decide(in)).empty());
  in->settings.budgets.filters = {300, 300};
  const Decision decision = decide(in);
  const auto problems = problems_of(decision);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].policy, "policy ns/wide");
  EXPECT_EQ(problems[0].problem.field, "spec.configs");
  fixture::expect_golden(problems[0].problem.what);
  EXPECT_EQ(offered_indices(decision), (std::vector<int>{0, 1, 2, 3})) << "the others are decided";
  fixture::expect_golden(explain(decision, VfHost::vf_address(kPf, 0)).rules.front().found);
}

// Red when configs times DeviceAttributes have no bound: each selector is asked about each object.
TEST(Decide, SelectorsOfDeviceAttributesHaveABudget) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const auto configs = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i)
      out += "{deviceAttributesSelector: {matchLabels: {a: b}}, resourceFilters: [{pfNames: ['ens1f0#" +
             std::to_string(i % 4) + "']}]}, ";
    return "{priority: " + std::to_string(count) + ", configs: [" + out + "]}";
  };
  std::vector<std::string> objects;
  for (int i = 0; i < 50; ++i)
    objects.push_back("metadata: {name: a" + std::to_string(i) +
                      ", namespace: ns, labels: {a: b}}\nspec: {attributes: {example.com/k" +
                      std::to_string(i) + ": {int: 1}}}");
  const auto in = inputs(host, {policy("plain", configs(4)), policy("wide", configs(60))}, objects);
  EXPECT_TRUE(problems_of(decide(in)).empty());
  in->settings.budgets.attributes = {5'000, 5'000};
  const Decision decision = decide(in);
  const auto problems = problems_of(decision);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].policy, "policy ns/wide");
  fixture::expect_golden(problems[0].problem.what);
  EXPECT_EQ(offered_indices(decision), (std::vector<int>{0, 1, 2, 3})) << "the others are decided";
}

// Red when notes are as many as devices times attributes.
TEST(Decide, NotesAreBounded) {
  constexpr int kVfs = 240;
  VfHost host;
  host.pf(kPf, "ens1f0", kVfs);
  for (int i = 0; i < kVfs; ++i)
    host.at(VfHost::vf_address(kPf, i)).pcie_root = "pci" + std::string(100, '0');  // no API server takes it
  const auto decision = decide(inputs(host, {policy("p", "{configs: [{}]}")}));
  EXPECT_EQ(decision.pools.at(kDriver)[0].devices.size(), size_t{kVfs});
  EXPECT_EQ(std::distance(decision.notes.begin(), decision.notes.end()), static_cast<long>(Notes::kKeptMax));
  EXPECT_EQ(decision.notes.more(), kVfs - Notes::kKeptMax);
}

// Red when an explanation has a rule for each filter of each policy: thousands of devices times thousands of
// them are more than a machine's memory.
TEST(Explain, BoundsRulesAndKeepsTheDecisiveOne) {
  VfHost host;
  host.pf(kPf, "ens1f0", 1);
  std::string many;
  for (int i = 0; i < 60; ++i) many += "{pfNames: [other" + std::to_string(i) + "]}, ";
  const std::string no = "{priority: 9, configs: [{resourceFilters: [" + many + "]}]}";
  const Decision decision =
      decide(inputs(host, {policy("a", no), policy("b", no),
                           policy("c", "{configs: [{resourceFilters: [" + many + "{}]}]}")}));
  const std::string vf = VfHost::vf_address(kPf, 0);
  EXPECT_EQ(explain(decision, vf).rules.size(), 181u);
  EXPECT_EQ(explain(decision, vf).rules_left_out, 0u);
  for (const size_t most : {0u, 50u}) {
    const Explanation some = explain(decision, vf, most);
    ASSERT_EQ(some.rules.size(), most + 1);
    EXPECT_EQ(some.rules.back().result, "match");
    EXPECT_GT(some.rules_left_out, 50u);
    EXPECT_EQ(some.summary, explain(decision, vf).summary);
  }
}

TEST(Explain, NamesFieldFoundAndExpectedValue) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const auto decision = decide(inputs(
      host,
      {policy("a", "{nodeSelector: {zone: west}, configs: [{}]}"),
       policy("b",
              "{configs: [{resourceFilters: [{vendors: ['15b3', '1924']}, {pfNames: ['ens1f0#1-2']}]}]}"),
       policy("c", "{configs: [{resourceFilters: [{vendor: [x]}]}]}"),
       policy("d", "{configs: [{resourceFilters: [{drivers: [vfio-pci]}]}]}")}));
  const Explanation hidden = explain(decision, VfHost::vf_address(kPf, 0));
  EXPECT_EQ(hidden.outcome, "no-match");
  ASSERT_EQ(hidden.rules.size(), 5u);
  EXPECT_EQ(hidden.rules[0].place, "spec.nodeSelector");
  EXPECT_EQ(hidden.rules[1], (Rule{"ns/b", "spec.configs[0].resourceFilters[0]", "no", "vendors", "8086",
                                   "one of 15b3, 1924"}));
  EXPECT_EQ(hidden.rules[2],
            (Rule{"ns/b", "spec.configs[0].resourceFilters[1]", "no", "pfNames", "ens1f0#0", "ens1f0#1-2"}));
  fixture::expect_golden(hidden.rules[3].found);
  EXPECT_EQ(hidden.rules[4],
            (Rule{"ns/d", "spec.configs[0].resourceFilters[0]", "no", "drivers", "iavf", "vfio-pci"}));

  const Explanation offered = explain(decision, VfHost::vf_address(kPf, 1));
  EXPECT_EQ(offered.outcome, "offered");
  EXPECT_EQ(offered.rules.back().result, "match");
  EXPECT_EQ(offered.summary, "offered as 0000-3b-00-2 by policy ns/b, spec.configs[0].resourceFilters[1]");

  EXPECT_EQ(explain(decision, kPf).outcome, "not-a-vf");
  EXPECT_EQ(explain(decision, "0000:ff:00.0").outcome, "unknown");
}

}  // namespace
}  // namespace sliced::policy
