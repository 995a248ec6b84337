// Manifests of dranet's users through `migrate`: `validate` accepts the output, and losses are reported.
#include <gtest/gtest.h>

#include "cli/validate.h"
#include "config/options.h"
#include "daemon/process.h"
#include "kubectl/commands.h"
#include "t/fixture/sysfs_tree.h"
#include "t/unit/kubectl/migrate/captured.h"

namespace sliced::kubectl {
namespace dranet_files_test {
namespace {

struct DranetFiles : testing::Test {
  DranetFiles() { options.command = config::Command::kMigrate; }

  Answer run(const std::vector<std::string>& texts, int (*command)(const config::Options&) = &migrate) {
    options.arguments.clear();
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string name = "file" + std::to_string(i) + ".yaml";
      tree.write(name, texts[i]);
      options.arguments.push_back(tree.root() + "/" + name);
    }
    return captured(command, options);
  }
  // Migrated, and validated where something is printed.
  Answer moved(const std::vector<std::string>& texts) {
    Answer answer = run(texts);
    if (answer.status == daemon::kExitError) return answer;
    const Answer judged = run({answer.out}, &cli::validate);
    EXPECT_EQ(judged.status, daemon::kExitSame) << judged.out << answer.out;
    return answer;
  }

  config::Options options;
  fixture::SysfsTree tree;
};

const std::string kClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: rails, uid: 1f, resourceVersion: "7"}
spec: {selectors: [{cel: {expression: 'device.driver == "dra.net"'}}]}
)";
// Of dra-driver-sriov, with a class of its driver.
const std::string kDraPolicy = R"(
apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
kind: SriovResourcePolicy
metadata: {name: a, namespace: dra-driver-sriov}
spec: {configs: [{resourceFilters: [{vendors: ["8086"]}]}]}
)";
const std::string kOtherClass = R"(
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: vf}
spec: {selectors: [{cel: {expression: 'device.driver == "sriovnetwork.k8snetworkplumbingwg.io"'}}]}
)";
const std::string kDaemon = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: rail-driver, namespace: kube-system}
spec:
  template:
    spec:
      nodeSelector: {pool: rails}
      containers:
      - {name: d, image: registry.example.com/dranet:v1, args: [/dranet, --v=4, '--filter=attributes["dra.net/rdma"].BoolValue']}
)";

std::string claim(const std::string& devices, const std::string& kind = "ResourceClaim") {
  const bool is_template = kind != "ResourceClaim";
  return "apiVersion: resource.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: c, namespace: apps}\nspec:\n" +
         (is_template ? "  spec:\n    devices: " : "  devices: ") + devices + "\n";
}
std::string request(const std::string& name, const std::string& selector = "",
                    const std::string& class_name = "rails") {
  return "{name: " + name + ", exactly: {deviceClassName: " + class_name +
         (selector.empty() ? "" : ", selectors: [{cel: {expression: '" + selector + "'}}]") + "}}";
}
std::string config(const std::string& parameters, const std::string& requests = "") {
  return "{" + (requests.empty() ? "" : "requests: [" + requests + "], ") +
         "opaque: {driver: dra.net, parameters: " + parameters + "}}";
}

TEST_F(DranetFiles, PrintsAClassAClaimAndThePolicy) {
  const Answer all = moved(
      {kDaemon, kClass,
       claim("{requests: [" + request("nic", R"(device.attributes["dra.net"].ifName == "rail0")") + "]}",
             "ResourceClaimTemplate")});
  EXPECT_EQ(all.status, daemon::kExitSame) << all.err;
  for (const char* text :
       {"kind: DeviceExposurePolicy\nmetadata:\n  name: rail-driver\n", "nodeSelector:\n    pool: rails\n",
        "&& (device.attributes[\\\"dra.networking\\\"].rdma)", "allow: []\n",
        R"(expression: "device.driver == \"dra.networking\"")", R"(ifName == \"rail0\")",
        "driver: dra.networking\n", "ifName: rail0\n", "network: {}\n", "namespace: apps\n"})
    EXPECT_TRUE(all.says(text)) << text << "\n" << all.out;
  for (const char* text : {"uid", "resourceVersion", "\"dra.net\""})
    EXPECT_FALSE(all.out.find(text) != std::string::npos) << text << all.out;
}

TEST_F(DranetFiles, NamesEachLossWithFieldValueReasonAndRemedy) {
  const Answer lost = moved({kDaemon, kClass,
                             claim("{requests: [" + request("nic") + "], config: [" +
                                   config("{interface: {gsoMaxSize: 65536, mtu: 1400}}") + "]}")});
  EXPECT_EQ(lost.status, daemon::kExitChanges);
  EXPECT_TRUE(lost.says(
      "file2.yaml:5: warning: ResourceClaim apps/c: spec.devices.config[0].opaque.parameters.interface.gsoMaxSize is 65536, which has no "
      "counterpart: "))
      << lost.err;
  EXPECT_TRUE(lost.says(
      "# Without counterpart: spec.devices.config[0].opaque.parameters.interface.gsoMaxSize is 65536.\n"))
      << lost.out;
  EXPECT_TRUE(lost.says("mtu: 1400\n"));
}

TEST_F(DranetFiles, NeverWidensASelector) {
  const Answer kept =
      moved({kDaemon, kClass,
             claim("{requests: [" +
                   request("nic", R"(device.attributes["dra.net"].ipv6 == "2001:db8::1/64")") + "]}")});
  EXPECT_EQ(kept.status, daemon::kExitChanges);
  EXPECT_TRUE(kept.says(R"(device.attributes[\"dra.net\"].ipv6 == \"2001:db8::1/64\")")) << kept.out;
  EXPECT_TRUE(kept.says(
      "has device.attributes['dra.net'].ipv6, which has no counterpart and is kept, so that no device matches"))
      << kept.err;
}

// dranet obeys the first configuration for a request, and those of the class before.
TEST_F(DranetFiles, AppliesOneConfigurationPerRequest) {
  const Answer two = moved(
      {kDaemon, kClass,
       claim("{requests: [" + request("a") + ", " + request("b") + ", " + request("g", "", "gpus") +
             "], config: [" + config("{interface: {name: a0}}", "a") + ", " +
             config("{interface: {name: a1}}", "a") + ", " + config("{interface: {mtu: 1400}}", "b") + "]}"),
       "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpus}\nspec: {selectors: [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}"});
  EXPECT_TRUE(two.says("config[1], which has no counterpart: it applies to no request")) << two.err;
  EXPECT_TRUE(two.says("- requests:\n      - a\n      opaque:")) << two.out;
  EXPECT_TRUE(two.says("- requests:\n      - b\n      opaque:")) << two.out;
  EXPECT_FALSE(two.says("ifName: a1"));
  EXPECT_FALSE(two.says("name: gpus\n")) << "a class of another driver is not printed";

  std::string with_config = kClass;
  with_config.insert(with_config.rfind('}'), ", config: [" + config("{interface: {mtu: 9000}}") + "]");
  const Answer classes = moved(
      {kDaemon, with_config,
       claim("{requests: [" + request("a") + "], config: [" + config("{interface: {mtu: 1400}}") + "]}")});
  EXPECT_TRUE(classes.says("DeviceClass rails has a configuration, and dranet obeys that one alone"))
      << classes.err;
  EXPECT_TRUE(classes.says("mtu: 9000\n") && !classes.says("mtu: 1400\n")) << classes.out;
}

// Without network no interface moves; dranet moves each.
TEST_F(DranetFiles, EachRequestHasItsInterface) {
  const Answer mixed = moved({kDaemon, kClass,
                              claim("{requests: [" + request("a") + ", " + request("b") + "], config: [" +
                                    config("{interface: {mtu: 1400}}", "a") + "]}")});
  EXPECT_TRUE(mixed.says("- requests:\n      - b\n")) << mixed.out;
  EXPECT_TRUE(mixed.says("network: {}\n")) << mixed.out;
  std::string extended = kClass;
  extended.insert(extended.rfind('}'), ", extendedResourceName: example.com/rail");
  EXPECT_TRUE(moved({kDaemon, extended}).says("network: {}\n"));
  // The configuration that migrate adds to such a class is not one that dranet had obeyed.
  const Answer claimed =
      moved({kDaemon, extended,
             claim("{requests: [" + request("a") + "], config: [" +
                   config("{interface: {name: net0, addresses: [192.0.2.5/24]}}") + "]}")});
  EXPECT_TRUE(claimed.says("ifName: net0\n") && claimed.says("- \"192.0.2.5/24\"\n")) << claimed.out;
  EXPECT_FALSE(claimed.says("has a configuration")) << claimed.err;
  const Answer efa = moved(
      {kDaemon, kClass,
       claim("{requests: [" +
             request("e", R"x(device.attributes["dra.net"].pciDevice == "Elastic Fabric Adapter (EFA)")x") +
             "]}")});
  EXPECT_FALSE(efa.says("VfConfig\n")) << efa.out;
}

TEST_F(DranetFiles, ConstraintsAndAlternatives) {
  const Answer all = moved(
      {kDaemon, kClass,
       claim(
           R"({requests: [{name: n, firstAvailable: [{name: x, deviceClassName: rails, selectors: [{cel: {expression: 'device.attributes["dra.net"].mtu >= 9000'}}]}]}],)"
           R"( constraints: [{requests: [n], matchAttribute: dra.net/numaNode}, {distinctAttribute: dra.net/alias}]})")});
  EXPECT_EQ(all.status, daemon::kExitChanges);
  for (const char* text : {"matchAttribute: dra.networking/numaNode", "distinctAttribute: dra.net/alias",
                           ".mtu >= 9000", "constraints[1].distinctAttribute is \"dra.net/alias\""})
    EXPECT_TRUE(all.says(text)) << text << all.out << all.err;
}

TEST_F(DranetFiles, APolicyAllowsMacAddressesThatClaimsSet) {
  const Answer mac = moved({kDaemon, kClass,
                            claim("{requests: [" + request("nic") + "], config: [" +
                                  config("{interface: {hardwareAddr: '02:00:00:00:00:09'}}") + "]}")});
  EXPECT_TRUE(mac.says("allow:\n  - mac\n")) << mac.out;
}

TEST_F(DranetFiles, OffersVirtualInterfacesByName) {
  const Answer named =
      moved({kClass, claim("{requests: [" +
                           request("nic", R"(device.attributes["dra.net"].ifName == "dummy7")") + "]}")});
  EXPECT_TRUE(named.says("includeVirtual: true\n")) << named.out;
  EXPECT_TRUE(named.says(R"(ifName in [\"dummy7\"])")) << named.out;
  EXPECT_TRUE(named.says("no DaemonSet of dranet is given")) << named.err;
  EXPECT_FALSE(moved({kClass}).says("includeVirtual: true"));
}

TEST_F(DranetFiles, ReadsTheOldFormOfClaims) {
  const Answer old = moved(
      {kDaemon, kClass,
       "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: {name: old}\nspec: {devices: {requests: [{name: nic, deviceClassName: rails, count: 2}]}}"});
  EXPECT_TRUE(old.says("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: old\n"))
      << old.out;
  EXPECT_TRUE(old.says("- name: nic\n      exactly:\n        deviceClassName: rails\n        count: 2\n"))
      << old.out;
}

TEST_F(DranetFiles, ErrorsPrintNothing) {
  std::string no_cel = kDaemon, no_counterpart = kDaemon;
  no_cel.replace(no_cel.find("attributes["), 10, "attributes[[");
  no_counterpart.replace(no_counterpart.find("rdma"), 4, "ebpf");
  for (const auto& [files, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{no_cel}, "--filter is not a CEL expression"},
           {{no_counterpart}, "--filter has attributes['dra.net/ebpf'].BoolValue, which has no counterpart"},
           {{kClass, kClass}, "comes of two objects of one name"},
           {{kClass, claim("{requests: [" + request("nic") + "], config: [" +
                           config("{interface: {nam: x}}") + "]}")},
            "did you mean name?"},
           {{kClass, claim("{requests: [" + request("nic", "device.driver = 1") + "]}")},
            "did you mean ==?"}}) {
    const Answer wrong = run(files);
    EXPECT_EQ(wrong.status, daemon::kExitError) << text;
    EXPECT_EQ(wrong.out, "");
    EXPECT_TRUE(wrong.says(text)) << wrong.err;
  }
  options.form = config::PolicyForm::kSriov;
  EXPECT_TRUE(run({kClass}).says("--as sriov"));
  options.form = config::PolicyForm::kAuto;
  options.check = true;
  EXPECT_TRUE(run({kClass}).says("--check does not compare with dranet"));
  const Answer of_others = run({kDraPolicy + kOtherClass});
  EXPECT_FALSE(of_others.says("does not compare with dranet")) << of_others.err;
}

TEST_F(DranetFiles, OmitsClaimsOfOtherDrivers) {
  const std::string made =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: p-nic-x, annotations: {resource.kubernetes.io/pod-claim-name: nic}}\n"
      "spec: {devices: {requests: [" +
      request("nic") + "]}}";
  const Answer answer = moved({kClass, made, claim("{requests: [" + request("g", "", "gpus") + "]}")});
  EXPECT_FALSE(answer.says("kind: ResourceClaim\n")) << answer.out;
  EXPECT_TRUE(answer.says("it is made from a ResourceClaimTemplate for a pod")) << answer.err;
  EXPECT_TRUE(answer.says("DeviceClass gpus is in no file")) << answer.err;
}

// kubectl get resourceclaims prints their status, and their class may be in no file.
TEST_F(DranetFiles, NamesTheDriverOfAnAllocatedClaim) {
  const std::string status =
      "status: {allocation: {devices: {results: [{request: g, driver: gpu.nvidia.com, pool: n, device: d}, "
      "{request: nic, driver: dra.net, pool: n, device: e}]}}}\n";
  const std::string two = "{requests: [" + request("g", "", "gpus") + ", " + request("nic", "", "efa") + "]}";
  const Answer answer = run({claim(two) + status});
  EXPECT_TRUE(answer.says("DeviceClass efa is in no file: while it selects devices of dra.net"))
      << answer.err;
  EXPECT_TRUE(answer.says("kind: ResourceClaim\n")) << answer.out;
  EXPECT_FALSE(answer.says("nothing else says that the claim is for dranet")) << answer.err;
  std::string made = claim(two) + status;
  made.replace(made.find("namespace: apps"), 15,
               "namespace: apps, annotations: {resource.kubernetes.io/pod-claim-name: nic}");
  EXPECT_TRUE(run({made}).says("it is made from a ResourceClaimTemplate for a pod"));
}

TEST_F(DranetFiles, UsesNodesOfTheDaemonSetAndChartValues) {
  std::string affinity = kDaemon;
  affinity.replace(
      affinity.find("nodeSelector: {pool: rails}"), 27,
      "nodeSelector: {pool: rails}\n      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}}");
  const Answer both = moved({affinity});
  EXPECT_TRUE(both.says("key: gpu") && both.says("key: pool")) << both.out;
  const Answer values = moved(
      {"image: {repository: registry.k8s.io/networking/dranet}\nargs: {filter: '\"dra.net/numaNode\" in attributes'}\nnodeSelector: {pool: x}"});
  EXPECT_TRUE(values.says("pool: x") && values.says("numaNode")) << values.out << values.err;
}

}  // namespace
}  // namespace dranet_files_test
}  // namespace sliced::kubectl
