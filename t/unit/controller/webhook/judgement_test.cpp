#include "controller/webhook/judgement.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

#include "kube/objects/yaml.h"
#include "t/fixture/golden.h"
#include "t/fixture/growth.h"

namespace sliced::webhook {
namespace judgement_test {
namespace {

const Drivers kDrivers{"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"};

std::vector<kube::Json> documents_in(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  auto yaml = kube::decode_yaml(std::string(std::istreambuf_iterator<char>(file), {}));
  for (const auto& problem : yaml.problems)
    ADD_FAILURE() << path << ":" << problem.line << ": " << problem.what;
  return std::move(yaml.documents);
}

kube::Json object_of(const std::string& yaml) { return kube::decode_yaml(yaml).documents.at(0); }

std::string said(const std::optional<Judgement>& judged) {
  if (!judged) return "nothing";
  std::string out;
  for (const auto& problem : judged->errors) out += text_of(*judged, problem) + "\n";
  for (const auto& problem : judged->warnings) out += "warning: " + text_of(*judged, problem) + "\n";
  return out;
}

// Red when a judge says other words than those that everybody else is tested against (t/cluster/admission_test.go), or lets
// something through.
TEST(Judgement, RefusalsMatchTheGoldenFile) {
  const auto rows = documents_in(SLICED_FIXTURES "/refused.yaml");
  EXPECT_GT(rows.size(), 70u);
  for (const kube::Json& row : rows) {
    SCOPED_TRACE(std::string(row.text("why")));
    const auto judged = judge(*row.find("object"), kDrivers);
    ASSERT_TRUE(judged);
    std::string wanted;
    for (const kube::Json& word : *row.find("wants")->array()) wanted += *word.string() + "\n";
    EXPECT_EQ(said(judged), wanted);
    EXPECT_FALSE(judged->errors.empty());
    for (const auto& problem : judged->errors) EXPECT_NE(problem.field, "") << problem.what;
  }
}

TEST(Judgement, AcceptsTheExamples) {
  size_t judged_ones = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SLICED_CONFIG "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const kube::Json& object : documents_in(entry.path())) {
      const auto judged = judge(object, kDrivers);
      if (!judged || !judged->is_read) continue;
      ++judged_ones;
      EXPECT_TRUE(judged->errors.empty()) << entry.path() << "\n" << said(judged);
    }
  }
  EXPECT_GT(judged_ones, 5u);
}

std::string claim(const std::string& config, const std::string& kind = "ResourceClaim",
                  const std::string& meta = "name: c, namespace: apps") {
  const std::string devices =
      "devices: {requests: [{name: a, exactly: {deviceClassName: x}}], config: [" + config + "]}";
  return "apiVersion: resource.k8s.io/v1\nkind: " + kind + "\nmetadata: {" + meta + "}\nspec: {" +
         (kind == "ResourceClaim" ? devices : "spec: {" + devices + "}") + "}\n";
}
std::string opaque(const std::string& more, const std::string& driver = kDrivers.sriov) {
  return "{opaque: {driver: " + driver +
         ", parameters: {apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, " + more +
         "}}}";
}

// Red when a claim is refused for what others are asked to do, or when ours is let through in either kind or version.
TEST(Judgement, JudgesOnlyConfigurationsOfOurDriverInClaims) {
  const auto of = [](const std::string& text) { return said(judge(object_of(text), kDrivers, "apps")); };
  EXPECT_EQ(of(claim(opaque("ifName: net1"))), "");
  EXPECT_EQ(of(claim("{opaque: {driver: gpu.example.com, parameters: {kind: GpuConfig, ifNames: net1}}}")),
            "nothing");
  EXPECT_EQ(of(claim("{opaque: {driver: gpu.example.com, parameters: {a: b}}}")), "nothing");
  EXPECT_EQ(of(claim("")), "nothing");
  EXPECT_EQ(of("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {}\n"),
            "nothing");
  EXPECT_EQ(of("apiVersion: example.com/v1\nkind: ResourceClaim\nspec: 7\n"), "nothing");
  const std::string path =
      "devices.config[1].opaque.parameters.ifNames is an unknown field; did you mean ifName?\n";
  const std::string both =
      "{opaque: {driver: gpu.example.com, parameters: {kind: GpuConfig}}}, " + opaque("ifNames: net1");
  EXPECT_EQ(of(claim(both)), "ResourceClaim c: spec." + path);
  EXPECT_EQ(of(claim(both, "ResourceClaimTemplate")), "ResourceClaimTemplate c: spec.spec." + path);
  std::string older = claim(both);
  older.replace(older.find("/v1\n"), 4, "/v1beta1\n");
  constexpr std::string_view kExactly = "exactly: {deviceClassName: x}";
  older.replace(older.find(kExactly), kExactly.size(), "deviceClassName: x");
  EXPECT_EQ(of(older), "ResourceClaim c: spec." + path);
  EXPECT_EQ(
      said(judge(object_of(claim(opaque("driver: mlx", kDrivers.exposure))), kDrivers)),
      "ResourceClaim c: spec.devices.config[0].opaque.parameters.driver is \"mlx\", expected default or vfio-pci\n");
  EXPECT_EQ(of(claim("{opaque: {driver: dra.networking}}")),
            "ResourceClaim c: spec.devices.config[0].opaque.parameters is a null, expected a VfConfig\n");
}

// Requests a and b, or alternatives of one request.
std::string claim_of_two(const std::string& config, bool are_alternatives = false,
                         const std::string& more = "") {
  const std::string one = "deviceClassName: x" + more;
  const std::string requests =
      are_alternatives ? "{name: r, firstAvailable: [{name: a, " + one + "}, {name: b, " + one + "}]}"
                       : "{name: a, exactly: {" + one + "}}, {name: b, exactly: {deviceClassName: x}}";
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, namespace: apps}\nspec: {devices: "
         "{requests: [" +
         requests + "], config: [" + config + "]}}\n";
}
std::string opaque_for(const std::string& request, const std::string& more) {
  std::string out = opaque(more);
  return out.insert(1, "requests: [" + request + "], ");
}

// Red when a claim that can never be allocated is found only by its pod.
TEST(Judgement, WarnsOfConstraintsThatNoDeviceMeets) {
  const auto of = [](const std::string& constraint, const std::string& class_name = "dra.networking") {
    return said(judge(
        object_of("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: "
                  "{requests: [{name: a, exactly: {deviceClassName: " +
                  class_name + ", count: 2}}], constraints: [{" + constraint + "}]}}\n"),
        kDrivers));
  };
  for (const char* right :
       {"matchAttribute: dra.networking/pfName", "distinctAttribute: dra.networking/pfName",
        "matchAttribute: resource.kubernetes.io/numaNode", "matchAttribute: gpu.example.com/x",
        "matchAttribute: dra.net/numaNode", "matchAttribute: resource.kubernetes.io/ofANewRelease"})
    EXPECT_EQ(of(right), "") << right;
  EXPECT_EQ(of("matchAttribute: numaNode", "gpu.example.com"), "nothing");
  constexpr const char* kEnd = "; a claim whose constraint needs an absent attribute is never allocated\n";
  const std::string field = "warning: ResourceClaim c: spec.devices.constraints[0].";
  EXPECT_EQ(
      of("matchAttribute: dra.networking/pfname"),
      field +
          "matchAttribute is \"dra.networking/pfname\", which no device has, unless a DeviceExposurePolicy "
          "adds it; did you mean dra.networking/pfName?" +
          kEnd);
  EXPECT_EQ(
      of("distinctAttribute: sriovnetwork.k8snetworkplumbingwg.io/pcieRoot"),
      field +
          "distinctAttribute is \"sriovnetwork.k8snetworkplumbingwg.io/pcieRoot\", which no device has, "
          "unless a DeviceAttributes object adds it; did you mean resource.kubernetes.io/pcieRoot?" +
          kEnd);
  EXPECT_EQ(of("matchAttribute: sriovnetwork.k8snetworkplumbingwg.io/PFName"),
            field +
                "matchAttribute is \"sriovnetwork.k8snetworkplumbingwg.io/PFName\", which devices of driver "
                "dra.networking do not have by themselves; did you mean dra.networking/pfName?" +
                kEnd);
  EXPECT_EQ(of("matchAttribute: sriovnetwork.k8snetworkplumbingwg.io/PFName", kDrivers.sriov), "");
  EXPECT_EQ(of("requests: [b], matchAttribute: sriovnetwork.k8snetworkplumbingwg.io/PFName"), "")
      << "another request may have other devices";
  EXPECT_EQ(of("matchAttribute: resource.kubernetes.io/numanode"),
            field +
                "matchAttribute is \"resource.kubernetes.io/numanode\", which no device has; did you mean "
                "resource.kubernetes.io/numaNode?" +
                kEnd);
  EXPECT_EQ(
      of("matchAttribute: sriovnetworks.k8snetworkplumbingwg.io/PFName"),
      field +
          "matchAttribute is \"sriovnetworks.k8snetworkplumbingwg.io/PFName\", which no device has; did you "
          "mean sriovnetwork.k8snetworkplumbingwg.io/PFName?" +
          kEnd);
  EXPECT_EQ(
      of("matchAttribute: numaNode"),
      field +
          "matchAttribute is \"numaNode\", expected DOMAIN/NAME, such as resource.kubernetes.io/numaNode; the "
          "API server refuses it without a domain\n");
}

// Red when an example of another API version is valid, of which the API server drops a field.
TEST(Judgement, RefusesRequestsInTheFormOfAnotherVersion) {
  const auto of = [](const std::string& version, const std::string& request) {
    return said(
        judge(object_of("apiVersion: resource.k8s.io/" + version +
                        "\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: a, " +
                        request + "}]}}\n"),
              kDrivers));
  };
  EXPECT_EQ(of("v1beta1", "deviceClassName: dra.networking"), "");
  EXPECT_EQ(of("v1", "exactly: {deviceClassName: dra.networking}"), "");
  for (const std::string version : {"v1", "v1beta2"})
    EXPECT_EQ(
        of(version, "deviceClassName: dra.networking, count: 2"),
        "ResourceClaim c: spec.devices.requests[0].deviceClassName is a field of resource.k8s.io/v1beta1: in "
        "resource.k8s.io/" +
            version + " write the fields of the request, without its name, below exactly\n");
  EXPECT_EQ(of("v1beta1", "exactly: {deviceClassName: dra.networking}"),
            "ResourceClaim c: spec.devices.requests[0].exactly is a field of resource.k8s.io/v1: in "
            "resource.k8s.io/v1beta1 write its fields beside the name of the request\n");
}

// Red when a claim that cannot be prepared is found only by its pod.
TEST(Judgement, InterfaceNamesOfAClaimAreUnique) {
  const auto of = [](const std::string& text) { return said(judge(object_of(text), kDrivers, "apps")); };
  const std::string field = "ResourceClaim c: spec.devices.config[", unsure = "warning: " + field;
  const std::string remedy =
      ": each interface of a pod has a name of its own; leave ifName out, or give each device a request and a "
      "configuration\n";
  EXPECT_EQ(of(claim_of_two(opaque("ifName: net1, network: {}"))), "") << "one of them may be for a GPU";
  EXPECT_EQ(of(claim_of_two(opaque_for("a, b", "ifName: net1, network: {}"))),
            unsure + "0].opaque.parameters.ifName is \"net1\", and request a has the same name" + remedy);
  Drivers drivers = kDrivers;
  drivers.classes["x"] = kDrivers.sriov;
  EXPECT_EQ(said(judge(object_of(claim_of_two(opaque("ifName: net1, network: {}"))), drivers, "apps")),
            field + "0].opaque.parameters.ifName is \"net1\", and request a has the same name" + remedy);
  EXPECT_EQ(of(claim_of_two(opaque_for("a", "ifName: net1, network: {}") + ", " +
                            opaque_for("b", "ifName: net1, netAttachDefName: nad"))),
            unsure + "1].opaque.parameters.ifName is \"net1\", and request a has the same name" + remedy);
  EXPECT_EQ(
      of(claim_of_two(opaque_for("a", "ifName: net1, network: {}"), false, ", count: 2")),
      unsure + "0].opaque.parameters.ifName is \"net1\", and request a is for several devices" + remedy);
  EXPECT_EQ(of(claim_of_two(opaque_for("a", "ifName: net1, network: {}") + ", " +
                            opaque_for("b", "ifName: net2, network: {}"))),
            "");
  EXPECT_EQ(of(claim_of_two(opaque("ifName: net1, network: {}"), true)), "") << "one of the alternatives";
  EXPECT_EQ(of(claim_of_two(opaque("ifName: net1"))), "") << "without an interface of its own";
}

TEST(Judgement, RoutesOfAClaimFollowFromItsAddresses) {
  const auto of = [](const std::string& text) { return said(judge(object_of(text), kDrivers, "apps")); };
  const std::string routes = "routes: [{destination: 0.0.0.0/0, gateway: 10.0.0.1}]";
  EXPECT_NE(
      of(claim(opaque("network: {addresses: [192.0.2.5/24], " + routes + "}")))
          .find(
              "spec.devices.config[0].opaque.parameters.network.routes[0].gateway is \"10.0.0.1\", which is on "
              "the subnet of none of the addresses"),
      std::string::npos)
      << of(claim(opaque("network: {addresses: [192.0.2.5/24], " + routes + "}")));
  EXPECT_EQ(of(claim(opaque("network: {" + routes + "}"))), "") << "the class may have the addresses";
  EXPECT_EQ(of(claim(opaque("network: {addresses: [10.0.0.5/24], mode: private, " + routes + "}"))), "")
      << "the class may have the type";
}

// Contradictions that no other author can resolve. Red when they are found only by the pod.
TEST(Judgement, FieldsOfANetworkAgreeWithEachOther) {
  const auto of_claim = [](const std::string& network) {
    return said(judge(object_of(claim(opaque("network: {" + network + "}"))), kDrivers, "apps"));
  };
  const auto of_class = [](const std::string& network) {
    return said(judge(
        object_of("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {config: [" +
                  opaque("network: {" + network + "}") + "]}\n"),
        kDrivers));
  };
  const struct {
    std::string network, says;
  } cases[] = {
      {"minTxRate: 500, maxTxRate: 100", "minTxRate is 500, expected at most maxTxRate, which is 100"},
      {"type: macvlan, vlan: 100", "vlan is 100, and type is macvlan"},
      {"type: ipvlan, vlan: 100", "vlan is 100, and type is ipvlan"},
      {"type: macvlan, trust: true", "trust is true, and type is macvlan"},
      {"type: bridgePort, vlanProto: 802.1ad, vlan: 5", "vlanProto is 802.1ad, and type is bridgePort"},
      {"type: vlan, vlan: 0", "vlan is 0, and type is vlan"},
      {"vlan: 0, vlanQoS: 3", "vlanQoS is 3, and vlan is 0"},
      {"type: ipvlan, mode: private", "mode is \"private\", and type is ipvlan"},
      {"type: ipvlan, mac: '02:00:00:00:00:05'", "mac is 02:00:00:00:00:05, and type is ipvlan"},
      {"type: macvlan, rdma: move", "rdma is \"move\", and type is macvlan"},
      {"addresses: ['2001:db8::5/64'], mtu: 1000", "mtu is 1000, expected at least 1280"},
      {"addresses: [10.0.0.5/24], ipam: {type: static}", "addresses is set, and ipam too"},
      {"addresses: [10.0.0.5/24], duplicateAddressDetection: wait",
       "duplicateAddressDetection is \"wait\", and addresses has no IPv6 address"},
      {"addresses: [10.0.0.5/24], neighbors: [{address: 10.0.0.5, mac: '02:00:00:00:00:05'}]",
       "neighbors[0].address is \"10.0.0.5\", which is an address of the interface itself"},
  };
  for (const auto& [network, says] : cases) {
    const std::string field = "config[0].opaque.parameters.network." + says;
    EXPECT_NE(of_claim(network).find("ResourceClaim c: spec.devices." + field), std::string::npos)
        << network << "\n"
        << of_claim(network);
    EXPECT_NE(of_class(network).find("DeviceClass c: spec." + field), std::string::npos) << network << "\n"
                                                                                         << of_class(network);
  }
  for (const std::string good :
       {"minTxRate: 500", "minTxRate: 500, maxTxRate: 0", "mode: private", "vlanQoS: 3", "vlanProto: 802.1ad",
        "type: vlan", "type: vlan, vlan: 100", "type: bridgePort, vlan: 100", "vlan: 100", "mtu: 1000",
        "duplicateAddressDetection: wait", "ipam: {type: static}, duplicateAddressDetection: wait",
        "neighbors: [{address: 10.0.0.5, mac: '02:00:00:00:00:05'}]"}) {
    EXPECT_EQ(of_claim(good), "") << good << ": the class may have the rest";
    EXPECT_EQ(of_class(good), "") << good << ": the claim may have the rest";
  }
  const auto of_two = [](const std::string& first, const std::string& second) {
    return said(judge(
        object_of(claim(opaque("network: {" + first + "}") + ", " + opaque("network: {" + second + "}"))),
        kDrivers, "apps"));
  };
  EXPECT_EQ(of_two("minTxRate: 500, maxTxRate: 100", "maxTxRate: 1000"), "") << "the later one counts";
  EXPECT_NE(of_two("minTxRate: 500", "maxTxRate: 100").find("config[1].opaque.parameters.network.minTxRate"),
            std::string::npos);
}

std::string claim_of_class(const std::string& class_name, const std::string& config,
                           const std::string& selector = "", const std::string& kind = "ResourceClaim") {
  const std::string devices =
      "devices: {requests: [{name: a, exactly: {deviceClassName: " + class_name +
      (selector.empty() ? "" : ", selectors: [{cel: {expression: '" + selector + "'}}]") + "}}], config: [" +
      config + "]}";
  return "apiVersion: resource.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: c, namespace: apps}\nspec: {" +
         (kind == "ResourceClaim" ? devices : "spec: {" + devices + "}") + "}\n";
}

// Red when a claim whose pod would start without its interface is stored without a warning, or one of another driver is warned of.
TEST(Judgement, WarnsAboutAConfigurationThatNodesIgnore) {
  const auto said_of = [](const std::string& yaml, const Drivers& drivers = kDrivers) {
    return said(judge(object_of(yaml), drivers));
  };
  const auto warns = [&](const std::string& yaml, const Drivers& drivers = kDrivers) {
    const auto judged = judge(object_of(yaml), drivers);
    return judged && judged->errors.empty() && judged->warnings.size() == 1;
  };
  const std::string wrong = opaque("ifName: net1", kDrivers.sriov),
                    right = opaque("ifName: net1", kDrivers.exposure);
  EXPECT_TRUE(warns(claim_of_class("dra.networking", wrong)));
  EXPECT_TRUE(warns(claim_of_class("dra.networking", wrong, "", "ResourceClaimTemplate")));
  EXPECT_TRUE(warns(claim_of_class("fast", wrong, "device.driver == \"dra.networking\"")));
  EXPECT_TRUE(warns(claim_of_class("fast", wrong, "device.attributes[\"dra.networking\"].ifName == \"a\"")));
  EXPECT_TRUE(warns(claim_of_class("any", opaque("ifName: net1", "dra.netwrking"))));
  EXPECT_TRUE(warns(claim_of_class("any", opaque("ifName: net1", "gpu.example.com")))) << "a VfConfig";
  EXPECT_TRUE(warns(claim_of_class("dra.networking", "{opaque: {driver: dra.net, parameters: {a: b}}}")))
      << "a peer's";
  Drivers with_classes = kDrivers;
  with_classes.classes["fast"] = "dra.networking";
  EXPECT_TRUE(warns(claim_of_class("fast", wrong), with_classes));
  EXPECT_EQ(said_of(claim_of_class("dra.networking", right)), "");
  EXPECT_EQ(said_of(claim_of_class("dra.networking", wrong + ", " + right)), "") << "for both drivers";
  EXPECT_EQ(said_of(claim_of_class("fast", wrong)), "") << "the class is not known";
  EXPECT_EQ(
      said_of(claim_of_class("dra.networking", "{opaque: {driver: gpu.example.com, parameters: {a: b}}}")),
      "");
  EXPECT_EQ(said_of(claim_of_class("any", "{opaque: {driver: gpu.example.com, parameters: {a: b}}}")),
            "nothing");
  const Drivers renamed{"sriov.example.com", "dra.networking"};
  EXPECT_EQ(said_of(claim_of_class("any", wrong), renamed), "") << "dra-driver-sriov may be there, too";
  const auto unknown = judge(object_of(claim_of_class("fast", wrong)), kDrivers);
  ASSERT_EQ(unknown->ignored_by_class.size(), 1u) << "its class may be known to who asks";
  EXPECT_EQ(unknown->ignored_by_class[0].driver, "dra.networking");
}

// Red when a selector of a claim or of a template is not looked at as one of a class is.
TEST(Judgement, SelectorsOfClaimsAndTemplatesAreJudged) {
  for (const char* kind : {"ResourceClaim", "ResourceClaimTemplate"}) {
    const auto said_of = [&](const std::string& selector, const std::string& class_name = "dra.networking") {
      return said(judge(object_of(claim_of_class(class_name, "", selector, kind)), kDrivers));
    };
    EXPECT_EQ(said_of("device.attributes[\"dra.networking\"].ifName == \"a\""), "");
    for (const char* wrong : {"device.attributes[\"dra.networking\"].ifname == \"a\"",
                              "device.attributes[\"dra.networkin\"].ifName == \"a\"",
                              "device.attributes[\"sriovnetwork.k8snetworkplumbingwg.io\"].PFName == \"a\"",
                              "device.attributes[\"dra.networking\"].vfIndex == \"3\"",
                              "device.attributes[\"dra.networking\"].pciBusID == \"a\"",
                              "device.attributes[\"resource.kubernetes.io\"].numanode == 0",
                              "device.attributes[\"dra.networking\"].rdma == \"true\"",
                              "device.attributes[\"dra.networking\"].ifName < 3"}) {
      const auto judged = judge(object_of(claim_of_class("dra.networking", "", wrong, kind)), kDrivers);
      ASSERT_TRUE(judged);
      EXPECT_EQ(judged->warnings.size(), 1u) << wrong;
      for (const auto& one : judged->warnings) fixture::expect_golden(text_of(*judged, one));
    }
    EXPECT_NE(said_of("device.driver =").find(".exactly.selectors[0].cel.expression column"),
              std::string::npos);
    EXPECT_EQ(said_of("device.driver =", "gpu.example.com"), "nothing");
    EXPECT_EQ(said_of("device.attributes[\"gpu.example.com\"].model == \"a\"", "gpu.example.com"), "nothing");
    EXPECT_EQ(
        said_of(
            "device.driver == \"dra.networking\" ? device.attributes[\"dra.networking\"].ifName == \"a\" : "
            "device.attributes[\"sriovnetwork.k8snetworkplumbingwg.io\"].?PFName.orValue(\"\") == \"a\"",
            "any"),
        "");
  }
}

// A claim names definitions of its own namespace, which a file without a namespace does not determine.
TEST(Judgement, UsesTheNamespaceOfTheClaimOrRequest) {
  const std::string other = opaque("netAttachDefName: net-a, netAttachDefNamespace: infra");
  const std::string words =
      "ResourceClaim c: spec.devices.config[0].opaque.parameters.netAttachDefNamespace is \"infra\"; a claim names "
      "objects of its own namespace (apps): leave it out, or have a DeviceClass name it\n";
  EXPECT_EQ(said(judge(object_of(claim(other)), kDrivers)), words);
  EXPECT_EQ(said(judge(object_of(claim(other, "ResourceClaim", "name: c")), kDrivers, "apps")), words);
  EXPECT_EQ(said(judge(object_of(claim(other, "ResourceClaim", "name: c")), kDrivers)), "");
}

TEST(Judgement, JudgesEveryConfiguration) {
  EXPECT_EQ(said(judge(object_of(claim(opaque("ifName: a/b") + "," + opaque("driver: x"))), kDrivers))
                    .find("config[1]") != std::string::npos,
            true);
}

// Red when what a claim costs grows with the square of its configurations, or of its requests: a user writes both, and reviews that
// wait for longer than a second are not judged.
TEST(Judgement, CostGrowsWithTheLengthOfAClaim) {
  const auto judging = [](size_t requests, size_t configs) -> std::function<void()> {
    std::string yaml =
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, namespace: apps}\nspec: "
        "{devices: {requests: [";
    for (size_t i = 0; i < requests; ++i) {
      yaml += "{name: r" + std::to_string(i) + ", firstAvailable: [";
      for (size_t k = 0; k < 8; ++k)
        yaml += "{name: a" + std::to_string(k) + ", deviceClassName: dra.networking},";
      yaml += "]},";
    }
    yaml += "], config: [";
    for (size_t i = 0; i < configs; ++i)
      yaml += i % 2 == 0 ? "{opaque: {driver: gpu.example.com, parameters: {a: b}}},"
                         : "{requests: [x, y, z], opaque: {driver: dra.networking, parameters: {a: b}}},";
    const auto object = std::make_shared<kube::Json>(object_of(yaml + "]}}\n"));
    return [object] { EXPECT_TRUE(judge(*object, kDrivers)); };
  };
  EXPECT_LT(fixture::growth(8, [&](size_t configs) { return judging(8, configs); }), fixture::kGrowthMax);
  EXPECT_LT(fixture::growth(8, [&](size_t requests) { return judging(requests, 8); }), fixture::kGrowthMax);
}

// Red when a name passes that no API server takes, or one that all take does not.
TEST(Judgement, AcceptsTheNamesThatAnApiServerAccepts) {
  const std::pair<const char*, const char*> kinds[] = {
      {"SriovResourcePolicy", "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1"},
      {"DeviceAttributes", "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1"},
      {"DeviceExposurePolicy", "networking.dra.io/v1alpha1"}};
  const auto has = [](const std::string& words, const std::string& field) {
    return words.find(": metadata." + field + " is \"") != std::string::npos;
  };
  for (const auto& [kind, version] : kinds) {
    const auto words = [&, kind = kind, version = version](const std::string& meta) {
      return said(judge(object_of("apiVersion: " + std::string(version) + "\nkind: " + kind +
                                  "\nmetadata: {" + meta + "}\nspec: {}\n"),
                        kDrivers));
    };
    for (const std::string name : {"Nics", "a_b", "-a", "a.", "a/b"})
      EXPECT_TRUE(has(words("name: '" + name + "'"), "name")) << kind << name;
    EXPECT_TRUE(has(words("name: a, namespace: a.b"), "namespace")) << kind;
    const std::string good = words("name: a-1.b, namespace: ns");
    EXPECT_FALSE(has(good, "name") || has(good, "namespace")) << good;
  }
  const auto claims = [](const std::string& meta) {
    return said(judge(object_of(claim(opaque("driver: vfio-pci"), "ResourceClaim", meta)), kDrivers));
  };
  EXPECT_TRUE(has(claims("name: A"), "name"));
  EXPECT_FALSE(has(claims("name: a"), "name"));
  EXPECT_FALSE(has(claims("generateName: a-"), "name"));
  EXPECT_TRUE(has(
      said(judge(
          object_of(
              "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: A}\nspec: {selectors: [{cel: "
              "{expression: 'device.driver == \"dra.networking\"'}}]}\n"),
          kDrivers)),
      "name"));
}

TEST(Judgement, RecognizesMisspelledKinds) {
  EXPECT_EQ(
      said(judge(object_of("apiVersion: v1\nkind: SriovResourcePolicy\nmetadata: {name: p}\n"), kDrivers)),
      "SriovResourcePolicy: apiVersion is \"v1\", expected sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\n");
  EXPECT_EQ(said(judge(object_of("apiVersion: v1\nkind: SriovResourcePolicies\n"), kDrivers)),
            "kind is \"SriovResourcePolicies\"; did you mean SriovResourcePolicy?\n");
  EXPECT_EQ(said(judge(object_of("kind: Pod\n"), kDrivers)),
            "is not a Kubernetes object: apiVersion or kind is missing\n");
  EXPECT_EQ(said(judge(object_of("apiVersion: v1\nkind: Pod\n"), kDrivers)), "nothing");
}

// A selector near its limits causes a warning; one that could not be checked in time is reported as such.
TEST(Judgement, BoundsTheCostOfASelector) {
  const auto policy = object_of(
      "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: e}\n"
      "spec: {selector: {cel: 'device.attributes[\"dra.networking\"].type == \"pf\"'}}\n");
  const auto judged = judge(policy, kDrivers);
  ASSERT_TRUE(judged && judged->dearest);
  EXPECT_GT(judged->dearest->steps, 0u);
  EXPECT_GT(judged->selector_work, 0u);
  const auto unchecked = judge(policy, kDrivers, "", false);
  EXPECT_TRUE(unchecked->is_selector_unchecked);
  EXPECT_FALSE(unchecked->dearest);
}

// Red when the most likely mistake, a policy in a namespace that no daemon reads, is not reported.
TEST(Judgement, WarnsAboutPoliciesInAnUnwatchedNamespace) {
  Drivers drivers = kDrivers;
  const auto warned = [&](const std::string& text, const std::string& request = "") {
    const auto judged = judge(object_of(text), drivers, request);
    EXPECT_TRUE(judged && judged->errors.empty());
    size_t found = 0;
    for (const policy::Problem& one : judged->warnings) found += one.field == "metadata.namespace";
    return found == 1;
  };
  const std::string policy =
      "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n"
      "spec: {configs: [{resourceFilters: [{vendors: ['8086']}]}]}\nmetadata: {name: p";
  EXPECT_FALSE(warned(policy + ", namespace: default}")) << "nobody says which is watched";
  drivers.policies = "watched";
  EXPECT_TRUE(warned(policy + ", namespace: default}"));
  EXPECT_FALSE(warned(policy + ", namespace: watched}"));
  EXPECT_FALSE(warned(policy + "}")) << "of a file: kubectl gives it one";
  EXPECT_TRUE(warned(policy + "}", "default")) << "of a review, which names it";
  EXPECT_FALSE(
      warned("apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\n"
             "spec: {selector: {cel: 'true'}}\nmetadata: {name: p}",
             "default"))
      << "it has no namespace";
}

}  // namespace
}  // namespace judgement_test
}  // namespace sliced::webhook
