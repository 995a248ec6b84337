#include "kubelet/plan.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace plan_test {
namespace {

using kube::Json;
using sample::ClaimText;
using sample::config;
using sample::result;

std::optional<KnownEntry> known(const std::string& driver, const std::string& pool,
                                const std::string& entry) {
  if (pool != "node-a" || entry == "0000-03-00-7") return std::nullopt;
  KnownEntry out = sample::vf(entry);
  if (driver == sample::kExposure) out.holding.is_exclusive = false;
  return out;
}

Result<PreparedClaim> planned(const ClaimText& text, const std::string& driver = sample::kSriov,
                              const PlanSettings& settings = {}, const std::set<std::string>& taken = {}) {
  return plan(text.decoded(), driver, known, taken, settings);
}

ClaimText of_two() {
  ClaimText text;
  text.results = {result("a", "0000-03-00-2"), result("b/fast", "0000-03-00-3")};
  return text;
}

TEST(Plan, ANetworkNeedsAnExclusiveDevice) {
  const Json network{Json::Object{{"mac", "02:00:00:00:00:05"}}};
  ClaimText text;
  text.results = {result("vf", "0000-03-00-2")};
  text.configs = {config({{"network", network}})};
  const auto claim = planned(text, sample::kSriov, {.names_interfaces = true});
  ASSERT_TRUE(claim) << claim.error().what;
  EXPECT_EQ(claim->devices.at(0).mac, "02:00:00:00:00:05") << "the rules of MAC addresses hold for it";
  EXPECT_EQ(claim->devices.at(0).config.if_name, "vfnet0");
  const auto shared = plan(text.decoded(), sample::kSriov,
                           [](const auto& driver, const auto& pool, const auto& entry) {
                             auto out = known(driver, pool, entry);
                             out->holding.is_exclusive = false;
                             return out;
                           },
                           {}, {});
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().what.find("is a shared device"), std::string::npos) << shared.error().what;
}

TEST(Plan, ANetworkOnASharedDeviceHasATypeAndNoMacOfTheClaim) {
  const auto problem = [](const char* network, const char* source, bool is_shared, hotplug::DeviceType type,
                          std::vector<std::string> allowed = {}) -> std::string {
    ClaimText text;
    text.results = {result("vf", "0000-03-00-2")};
    text.configs = {config({{"network", kube::decode_json(network).value()}}, {}, source)};
    const auto claim = plan(text.decoded(), sample::kSriov,
                            [&](const auto& driver, const auto& pool, const auto& entry) {
                              auto out = known(driver, pool, entry);
                              out->holding.is_exclusive = !is_shared;
                              out->device.type = type;
                              out->device.pf.reset();
                              out->vf_settings = allowed, out->vlans = VlanIds::all();
                              return out;
                            },
                            {}, {});
    return claim ? "" : claim.error().what;
  };
  constexpr auto kNic = hotplug::DeviceType::kNic, kBridge = hotplug::DeviceType::kBridge;
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos ? "" : "without " + std::string(part) + ": " + text;
  };
  EXPECT_EQ(problem(R"({"type":"macvlan"})", "FromClaim", true, kNic), "");
  EXPECT_EQ(problem(R"({"type":"bridgePort"})", "FromClaim", true, kBridge), "");
  EXPECT_EQ(problem(R"({"type":"passthrough"})", "FromClaim", false, kNic), "");
  EXPECT_EQ(has(problem("{}", "FromClaim", true, kNic), "set type to macvlan, ipvlan or vlan"), "");
  EXPECT_EQ(has(problem("{}", "FromClaim", true, kBridge), "set type to bridgePort"), "");
  EXPECT_EQ(has(problem(R"({"type":"passthrough"})", "FromClaim", true, kNic), "is a shared device"), "");
  EXPECT_EQ(has(problem(R"({"type":"macvlan"})", "FromClaim", false, kNic), "leave out type"), "");
  EXPECT_EQ(has(problem(R"({"type":"bridgePort"})", "FromClaim", true, kNic), "is not a bridge"), "");
  const char* mac = R"({"type":"macvlan","mac":"02:00:00:00:00:05"})";
  EXPECT_EQ(has(problem(mac, "FromClaim", true, kNic), "the claim sets network.mac"), "");
  EXPECT_EQ(problem(mac, "FromClass", true, kNic), "");
  EXPECT_EQ(has(problem(R"({"rdma":"move"})", "FromClaim", false, kNic), "has no RDMA device"), "");
  for (const auto& [vlan, type] : {std::pair(R"({"type":"vlan","vlan":100})", kNic),
                                   std::pair(R"({"type":"bridgePort","vlan":100})", kBridge)}) {
    EXPECT_EQ(
        has(problem(vlan, "FromClaim", true, type),
            type == kNic ? "lets a claim set no VLAN: set type to macvlan or ipvlan, have vlan=100 added"
                         : "lets a claim set no VLAN: leave it out, have vlan=100 added"),
        "")
        << vlan;
    EXPECT_EQ(has(problem(vlan, "FromClaim", true, type, {"trust"}), "lets a claim set trust: "), "") << vlan;
    EXPECT_EQ(problem(vlan, "FromClaim", true, type, {"vlan"}), "") << vlan;
    EXPECT_EQ(problem(vlan, "FromClass", true, type), "") << vlan;
  }
}

TEST(Plan, ContainsEachResultOfTheDriverInOrder) {
  ClaimText text = of_two();
  text.results.insert(text.results.begin(), result("gpu", "gpu-0", "gpu.example.com", "x"));
  const auto claim = planned(text);
  ASSERT_TRUE(claim) << claim.error().what;
  ASSERT_EQ(claim->devices.size(), 2u);
  EXPECT_EQ(claim->devices[0].device, "0000-03-00-2");
  EXPECT_EQ(claim->devices[0].pci, "0000:03:00.2");
  EXPECT_EQ(claim->devices[0].identity, (Identity{"8086", "10ca", "0000:03:00.0"}));
  EXPECT_EQ(claim->devices[1].device, "0000-03-00-3");
  EXPECT_EQ(claim->cdi_pod_id, "pod-uid-1");
  EXPECT_FALSE(claim->is_complete);
  EXPECT_TRUE(planned(text, sample::kExposure)->devices.empty());
}

// An interface that came back from a pod as net1, and is published as ens2. Red when CNI plugins are given a name that the kernel does not
// know.
TEST(Plan, UsesTheKernelsInterfaceName) {
  ClaimText text;
  text.results = {result("a", "0000-03-00-2")};
  for (const std::string kernel_name : {"net1", ""}) {
    const auto renamed = [&](const std::string& driver, const std::string& pool, const std::string& name) {
      auto one = known(driver, pool, name);
      one->device.netdev->name = "ens2";
      one->device.netdev->kernel_name = kernel_name;
      return one;
    };
    const auto claim = plan(text.decoded(), sample::kSriov, renamed, {}, {});
    ASSERT_TRUE(claim) << claim.error().what;
    EXPECT_EQ(claim->devices[0].interface, kernel_name.empty() ? "ens2" : "net1");
  }
}

// They become parts of variables' names and of paths, whichever options are on.
TEST(Plan, RefusesInvalidNames) {
  for (const std::string& name :
       {std::string("a\nPCI_RESOURCE_X=1"), std::string("a=b"), std::string("a b"), std::string("A"),
        std::string("../a"), std::string("a."), std::string(64, 'a'), std::string(2'000, 'a')}) {
    ClaimText text = of_two();
    text.annotations = Json::Object{{"resource.kubernetes.io/pod-claim-name", name}};
    for (const bool names_requests : {false, true}) {
      const auto claim = planned(text, sample::kSriov, {.names_requests = names_requests});
      ASSERT_FALSE(claim) << name;
      fixture::expect_golden(claim.error().what);
      EXPECT_EQ(claim.error().what.find('\n'), std::string::npos);
    }
  }
  ClaimText text = of_two();
  text.name = "claim\nX=1";
  EXPECT_FALSE(planned(text));
  text = of_two();
  text.results[0] = result("a\nX=1", "0000-03-00-2");
  EXPECT_FALSE(planned(text));
  text.results[0] = result("A_B", "gpu-0", "gpu.example.com", "x");
  EXPECT_TRUE(planned(text)) << "another driver's";
}

TEST(Plan, AnInfiniBandDeviceHasNoMacAddress) {
  ClaimText text;
  text.results = {result("vf", "0000-03-00-2")};
  text.configs = {config({{"driver", "vfio-pci"}})};
  Claim claim = text.decoded();
  claim.devices[0].mac = "02:00:00:00:00:0a";
  for (const bool has_interface : {true, false}) {
    const auto find = [&](const std::string&, const std::string&, const std::string& entry) {
      KnownEntry one = sample::vf(entry);
      one.device.netdev->link_type = 32;
      if (!has_interface) one.device.netdev.reset(), one.device.pf_link_type = 32;
      return std::optional(one);
    };
    const auto planned = plan(claim, sample::kSriov, find, {}, {});
    ASSERT_FALSE(planned);
    fixture::expect_golden(planned.error().what);
  }
}

// The PF sets it, as it does a definition's.
TEST(Plan, AFunctionHasAMacAddressIfEachPolicyAllowsIt) {
  using Settings = std::optional<std::vector<std::string>>;
  ClaimText text;
  text.results = {result("vf", "0000-03-00-2")};
  text.configs = {config({{"driver", "vfio-pci"}})};
  Claim claim = text.decoded();
  const auto planned_with = [&](const Settings& allowed, bool has_policy = true) {
    const auto find = [&](const std::string&, const std::string&, const std::string& entry) {
      KnownEntry one = sample::vf(entry);
      one.vf_settings = allowed, one.has_policy = has_policy;
      one.allowing_policies = "SriovResourcePolicy ns/a";
      return std::optional(one);
    };
    return plan(claim, sample::kSriov, find, {}, {});
  };
  EXPECT_TRUE(planned_with(Settings({"vlan"}))) << "no address is asked for";
  EXPECT_TRUE(planned_with(std::nullopt, /*has_policy=*/false)) << "no address is asked for";
  claim.devices[0].mac = "02:00:00:00:00:0a";
  const auto without = planned_with(std::nullopt, /*has_policy=*/false);
  ASSERT_FALSE(without) << "a device that no policy matches allows no setting";
  EXPECT_NE(without.error().what.find("no policy matches the device now"), std::string::npos)
      << without.error().what;
  EXPECT_TRUE(planned_with(std::nullopt));
  EXPECT_TRUE(planned_with(Settings({"vlan", "mac"})));
  const auto refused = planned_with(Settings({"vlan"}));
  ASSERT_FALSE(refused);
  fixture::expect_golden(refused.error().what);
}

// Red when --vf-settings, or its default, allows a claim anything of the VF.
TEST(Plan, AClaimSetsVfSettingsThatEachPolicyAllows) {
  using Settings = std::optional<std::vector<std::string>>;
  VlanIds vlans = VlanIds::all();
  const Json network{Json::Object{{"network", Json::Object{{"vlan", 100}, {"spoofCheck", false}}}}};
  const auto planned_with = [&](const Settings& allowed, bool is_default_too = false, bool has_policy = true,
                                const char* source = "FromClaim", const char* device = "0000-03-00-2") {
    ClaimText text;
    text.results = {result("vf", device)};
    text.configs = {config(*network.object(), {}, source)};
    const auto find = [&](const std::string&, const std::string&, const std::string& entry) {
      KnownEntry one = sample::vf(entry);
      one.vf_settings = allowed, one.is_default_too = is_default_too, one.has_policy = has_policy;
      one.allowing_policies = "SriovResourcePolicy ns/a", one.vlans = vlans;
      return std::optional(one);
    };
    return plan(text.decoded(), sample::kSriov, find, {}, {});
  };
  EXPECT_TRUE(planned_with(Settings({"vlan", "spoofchk"})));
  for (const auto& refused :
       {planned_with(std::nullopt), planned_with(Settings(std::vector<std::string>())),
        planned_with(Settings({"vlan", "trust"})), planned_with(Settings({"vlan", "spoofchk"}), true),
        planned_with(std::nullopt, false, false),
        planned_with(std::nullopt, false, true, "FromClass", "0000-03-00-0")}) {
    ASSERT_FALSE(refused);
    fixture::expect_golden(refused.error().what);
  }
  EXPECT_TRUE(planned_with(std::nullopt, false, true, "FromClass")) << "an administrator's values";
  vlans = *VlanIds::decode("100-199");
  EXPECT_TRUE(planned_with(Settings({"vlan", "spoofchk"})));
  vlans = *VlanIds::decode("200");
  const auto refused = planned_with(Settings({"vlan", "spoofchk"}));
  ASSERT_FALSE(refused);
  fixture::expect_golden(refused.error().what);
}

TEST(Plan, NamesAForeignDevice) {
  ClaimText text = of_two();
  text.results[1] = result("b", "0000-03-00-7");
  const auto claim = planned(text);
  ASSERT_FALSE(claim);
  EXPECT_EQ(
      claim.error().what,
      "ResourceClaim ns/claim-1: status.allocation.devices.results[1]: device \"node-a/0000-03-00-7\" does not "
      "exist on this node: delete the pod, so that its successor gets another device");
}

TEST(Plan, BindsOnlyAnUnusedFunction) {
  ClaimText text = of_two();
  text.configs = {config({{"driver", "vfio-pci"}}, {"a"})};
  const auto claim = planned(text);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->devices[0].vfio.has_value());
  EXPECT_FALSE(claim->devices[1].vfio.has_value());

  text.results[0].set("adminAccess", true);
  fixture::expect_golden(planned(text).error().what);
  text = of_two();
  text.results = {result("a", "0000-03-00-2", sample::kExposure)};
  text.configs = {config({{"driver", "vfio-pci"}}, {"a"}, "FromClaim", sample::kExposure)};
  fixture::expect_golden(planned(text, sample::kExposure).error().what);
}

TEST(Plan, InterfacesOfAPodHaveUniqueNames) {
  ClaimText text = of_two();
  text.configs = {config({{"netAttachDefName", "fast"}})};
  const PlanSettings standalone{.names_interfaces = true};
  const auto claim = planned(text, sample::kSriov, standalone, {"vfnet0"});
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->devices[0].config.if_name, "vfnet1");
  EXPECT_EQ(claim->devices[1].config.if_name, "vfnet2");
  text.configs.push_back(config({{"ifName", "net1"}}));
  fixture::expect_golden(planned(text, sample::kSriov, standalone).error().what);
  EXPECT_TRUE(planned(text)) << "Multus names them";
  text.configs.back() = config({{"ifName", "net1"}}, {"a"});
  EXPECT_NE(planned(text, sample::kSriov, standalone, {"net1"}).error().what.find("results[0]"),
            std::string::npos);
  ASSERT_TRUE(planned(text, sample::kSriov, standalone));
  EXPECT_EQ(planned(text, sample::kSriov, standalone)->devices[1].config.if_name, "vfnet0");
}

PreparedDevice first(const ClaimText& text) { return planned(text)->devices[0]; }

TEST(Edits, ContainTheVariablesOfWorkloads) {
  ClaimText text = of_two();
  text.configs = {config({{"netAttachDefName", "fast"}, {"addVhostMount", true}})};
  const DeviceSnapshot look{.rdma_device = "mlx5_3",
                            .rdma_nodes = {"/dev/infiniband/uverbs3", "/dev/infiniband/umad3",
                                           "/dev/infiniband/issm3", "/dev/infiniband/rdma_cm"}};
  const cdi::Edits edits = edits_of(first(text), look);
  EXPECT_EQ(edits.env, (std::vector<std::string>{
                           "SRIOVNETWORK_VF_DEVICE_0000_03_00_2=0000:03:00.2",
                           "SRIOVNETWORK_NET_ATTACH_DEF_NAME=fast",
                           "SRIOVNETWORK_0000_03_00_2_RDMA_UVERB=/dev/infiniband/uverbs3",
                           "SRIOVNETWORK_0000_03_00_2_RDMA_UMAD=/dev/infiniband/umad3",
                           "SRIOVNETWORK_0000_03_00_2_RDMA_ISSM=/dev/infiniband/issm3",
                           "SRIOVNETWORK_0000_03_00_2_RDMA_CM=/dev/infiniband/rdma_cm",
                           "SRIOVNETWORK_0000_03_00_2_RDMA_DEVICE=mlx5_3",
                       }));
  EXPECT_EQ(edits.nodes.size(), 6u);
  EXPECT_EQ(edits.nodes[5], (cdi::DeviceNode{"/dev/net/tun", "/dev/net/tun"}));
}

TEST(Edits, OfAFunctionOnVfioContainItsGroup) {
  ClaimText text = of_two();
  text.configs = {config({{"driver", "vfio-pci"}})};
  const cdi::Edits edits = edits_of(first(text), {.rdma_device = "mlx5_3", .vfio_group = "7"});
  EXPECT_EQ(edits.nodes, (std::vector<cdi::DeviceNode>{{"/dev/vfio/7", "/dev/vfio/7"},
                                                       {"/dev/vfio/vfio", "/dev/vfio/vfio"}}));
  EXPECT_EQ(edits.env.back(), "SRIOVNETWORK_0000_03_00_2_VFIO_DEVICE=/dev/vfio/7");
  EXPECT_EQ(edits_of(first(text), {.vfio_group = "noiommu-2"}).nodes[0],
            (cdi::DeviceNode{"/dev/vfio/2", "/dev/vfio/noiommu-2"}));
  // IOMMUFD alone, and beside groups.
  const std::vector<cdi::DeviceNode> iommufd = {{"/dev/vfio/devices/vfio3", "/dev/vfio/devices/vfio3"},
                                                {"/dev/iommu", "/dev/iommu"}};
  const cdi::Edits alone = edits_of(first(text), {.vfio_cdev = "vfio3"});
  EXPECT_EQ(alone.nodes, iommufd);
  EXPECT_EQ(alone.env.back(), "SRIOVNETWORK_0000_03_00_2_VFIO_DEVICE=/dev/vfio/devices/vfio3");
  const cdi::Edits both = edits_of(first(text), {.vfio_group = "7", .vfio_cdev = "vfio3"});
  EXPECT_EQ(both.nodes.size(), 4u);
  EXPECT_EQ(both.env.back(), "SRIOVNETWORK_0000_03_00_2_VFIO_DEVICE=/dev/vfio/7");
  EXPECT_NE(std::find(both.env.begin(), both.env.end(),
                      "SRIOVNETWORK_0000_03_00_2_VFIO_CDEV=/dev/vfio/devices/vfio3"),
            both.env.end());
}

TEST(Edits, AdminAccessHasNoDeviceNode) {
  ClaimText text = of_two();
  text.results[0].set("adminAccess", true);
  text.configs = {config({{"addVhostMount", true}})};
  EXPECT_TRUE(edits_of(first(text), {.rdma_device = "mlx5_3", .rdma_nodes = {"/dev/infiniband/uverbs3"}})
                  .nodes.empty());
}

TEST(Answer, NamesTheDevicesOfTheSpec) {
  ClaimText text = of_two();
  text.results[1].set("shareID", "5hare");
  PreparedClaim claim = planned(text).value();
  for (PreparedDevice& device : claim.devices) device.edits = edits_of(device, {});
  const PrepareAnswer answer = answer_of(claim, false);
  const cdi::Spec spec = claim_spec(claim);
  ASSERT_EQ(answer.devices.size(), 2u);
  EXPECT_EQ(answer.devices[0],
            (AnsweredDevice{.request_names = {"a"},
                            .pool = "node-a",
                            .device = "0000-03-00-2",
                            .cdi_ids = {"sriovnetwork.k8snetworkplumbingwg.io/vf=claim-uid-1-0000-03-00-2",
                                        "sriovnetwork.k8snetworkplumbingwg.io/vf=pod-uid-1"}}));
  EXPECT_EQ(answer.devices[1].request_names, std::vector<std::string>{"b"}) << "without its sub-request";
  EXPECT_EQ(answer.devices[1].share_id, "5hare");
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(answer.devices[i].cdi_ids[0], cdi::qualified_name(spec.kind, spec.devices[i].name));
  EXPECT_TRUE(cdi::encode_spec(spec));
}

TEST(Answer, OfASharedClaimConcernsOnlyThatClaim) {
  ClaimText text = of_two();
  text.pods.push_back(Json::Object{{"resource", "pods"}, {"name", "pod-2"}, {"uid", "pod-uid-2"}});
  EXPECT_EQ(planned(text)->cdi_pod_id, "claim-uid-1");
}

TEST(PodSpec, ContainsTheAddressesOfAllClaims) {
  PreparedClaims prepared;
  const auto add = [&](const std::string& name, Json::Array results,
                       const std::string& driver = sample::kSriov) {
    ClaimText text;
    text.name = name;
    text.uid = name + "-uid";
    text.results = std::move(results);
    PreparedClaim claim = planned(text, driver).value();
    prepared.emplace(key_of(claim), std::move(claim));
  };
  add("second", {result("a", "0000-03-00-4")});
  add("first", {result("a", "0000-03-00-3"), result("a", "0000-03-00-2")});
  add("third", {result("a", "0000-03-00-5", sample::kExposure)}, sample::kExposure);
  const auto spec = pod_spec(sample::kSriov, "pod-uid-1", prepared);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->devices[0].name, "pod-uid-1");
  EXPECT_EQ(spec->devices[0].edits.env,
            std::vector<std::string>{
                "SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.3,0000:03:00.2,0000:03:00.4,0000:03:00.5"});
  EXPECT_EQ(pod_spec(sample::kExposure, "pod-uid-1", prepared)->kind, "dra.networking/device");
  EXPECT_FALSE(pod_spec(sample::kSriov, "pod-uid-2", prepared));
  prepared.erase({sample::kSriov, "first-uid"});
  EXPECT_EQ(pod_spec(sample::kSriov, "pod-uid-1", prepared)->devices[0].edits.env[0],
            "SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.4,0000:03:00.5");
}

TEST(ResourceNames, EqualThoseOfTheDevicePlugin) {
  PreparedClaim claim = planned(of_two()).value();
  claim.devices[0].multus_resource = claim.devices[1].multus_resource = "intel.com/sriov-netdevice";
  add_resource_names(claim);
  for (const PreparedDevice& device : claim.devices)
    EXPECT_EQ(device.edits.env,
              std::vector<std::string>{"PCIDEVICE_INTEL_COM_SRIOV_NETDEVICE=0000:03:00.2,0000:03:00.3"});
}

TEST(DeviceInfoFile, IsAtTheMultusPath) {
  PreparedDevice device = first(of_two());
  EXPECT_FALSE(device_info(device, "/dp"));
  device.multus_resource = "intel.com/vf";
  EXPECT_EQ(device_info(device, "/dp"),
            (DeviceInfo{"/dp/intel.com-vf-0000:03:00.2-device.json",
                        R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:03:00.2"}})"}));
  device.vdpa_device = "vdpa0", device.vdpa_node = "/dev/vhost-vdpa-3";
  EXPECT_EQ(
      device_info(device, "/dp")->text,
      R"({"type":"vdpa","version":"1.1.0","vdpa":{"parent-device":"vdpa0","driver":"vhost","path":"/dev/vhost-vdpa-3","pci-address":"0000:03:00.2"}})");
  EXPECT_EQ(edits_of(device, {}).nodes,
            (std::vector<cdi::DeviceNode>{{"/dev/vhost-vdpa-3", "/dev/vhost-vdpa-3"}}));
  device.is_admin = true;
  EXPECT_FALSE(device_info(device, "/dp"));
  EXPECT_TRUE(edits_of(device, {}).nodes.empty());
}

// Red when a runtime is given a spec that it refuses, because a claim looks at a device twice.
TEST(ClaimSpec, MergesResultsOfOneDevice) {
  const PreparedDevice has{.device = "d",
                           .edits = {.env = {"A=1", "NAD=net"}, .nodes = {{"/dev/x", "/dev/x"}}}};
  const PreparedDevice looks{.device = "d", .is_admin = true, .edits = {.env = {"A=1", "NAD="}}};
  for (const auto& devices : {std::vector{has, looks, looks}, std::vector{looks, has}}) {
    const cdi::Spec spec = claim_spec({.driver = sample::kSriov, .uid = "uid-1", .devices = devices});
    ASSERT_EQ(spec.devices.size(), 1u);
    EXPECT_EQ(spec.devices[0].edits, has.edits);
    EXPECT_TRUE(cdi::encode_spec(spec));
  }
}

}  // namespace
}  // namespace plan_test
}  // namespace sliced::kubelet
