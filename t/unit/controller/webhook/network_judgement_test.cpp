#include "controller/webhook/network_judgement.h"

#include <gtest/gtest.h>

#include "controller/webhook/judgement.h"
#include "controller/webhook/review.h"
#include "kube/objects/yaml.h"

namespace sliced::webhook {
namespace network_judgement_test {
namespace {

using kube::Json;

const Drivers kDrivers{"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"};

Json definition(const std::string& config, const std::string& labels = "") {
  Json meta(Json::Object{{"name", "nad"}, {"namespace", "apps"}});
  if (!labels.empty()) meta.set("labels", *kube::decode_json(labels));
  return Json(Json::Object{{"apiVersion", "k8s.cni.cncf.io/v1"},
                           {"kind", "NetworkAttachmentDefinition"},
                           {"metadata", std::move(meta)},
                           {"spec", Json(Json::Object{{"config", config}})}});
}

std::vector<std::string> texts(const Judgement& judged, const policy::Problems& problems) {
  std::vector<std::string> out;
  for (const policy::Problem& problem : problems) out.push_back(text_of(judged, problem));
  return out;
}

// Red when validate or the webhook accepts a definition that nodes refuse, or refuses it in other words.
TEST(JudgeNetwork, ReportsTheErrorsOfNodes) {
  const std::string start = "NetworkAttachmentDefinition apps/nad: ";
  const struct {
    std::string config, error;
  } cases[] = {
      {R"({"type":"sriov","vlan":4095})", "spec.config: vlan is 4095: expected 0 to 4094"},
      {R"({"plugins":[{"type":"macvlan"},{"type":"tuning","sysctl":{"kernel.x":"1"}}]})",
       "spec.config: plugins[1]: sysctl has \"kernel.x\": expected names below net, with \".\" between their parts"},
      {R"({"type":"host-device","PCIBusID":"0000:04:00.0"})", "spec.config: PCIBusID differs in case"},
      {R"({"type":"sriov","vlan":5,"runtimeConfig":{}})",
       "spec.config: runtimeConfig is set by sliced alone: leave it out"},
      {"{", "spec.config"},
      {"", "spec.config is not there: files of the node are not read"},
  };
  for (const auto& [config, error] : cases) {
    const auto judged = judge(definition(config), kDrivers);
    ASSERT_TRUE(judged) << config;
    const auto said = texts(*judged, judged->errors);
    ASSERT_EQ(said.size(), 1u) << config;
    EXPECT_TRUE(said[0].starts_with(start + error)) << said[0];
    EXPECT_TRUE(judged->user_errors.empty());
  }
  for (
      const char* good :
      {R"({"cniVersion":"1.0.0","type":"sriov","vlan":5,"ipam":{"type":"host-local","subnet":"10.0.0.0/24"}})",
       R"({"plugins":[{"type":"macvlan","master":"eth0"},{"type":"tuning"}]})"}) {
    const auto judged = judge(definition(good), kDrivers);
    EXPECT_TRUE(judged && judged->errors.empty() && judged->user_errors.empty() && judged->warnings.empty())
        << good;
  }
}

TEST(JudgeNetwork, RefusesADefinitionTooLongForTheCheckpoint) {
  const auto judged = judge_network(definition(R"({"type":"sriov"})" + std::string(17u << 10, ' ')));
  EXPECT_EQ(texts(judged, judged.errors),
            std::vector<std::string>{
                "NetworkAttachmentDefinition apps/nad: spec.config has 17424 bytes; expected at most 16384"});
}

// What depends on who names the definition, and on policies and options of nodes, is not an error for everybody.
TEST(JudgeNetwork, PathsAreAnAdministratorsAndPluginsAreListed) {
  const auto paths = judge_network(definition(R"({"type":"sriov","logFile":"/var/log/sriov.log"})"));
  EXPECT_TRUE(paths.errors.empty());
  EXPECT_EQ(
      texts(paths, paths.user_errors),
      std::vector<std::string>{
          "NetworkAttachmentDefinition apps/nad: spec.config: logFile is \"/var/log/sriov.log\", and only an "
          "administrator sets it: leave it out, or have a DeviceClass name a definition of another namespace"});
  const auto listed =
      judge_network(definition(R"({"plugins":[{"type":"bridge","promiscMode":true},{"type":"portmap"}]})"));
  EXPECT_TRUE(listed.errors.empty() && listed.user_errors.empty());
  ASSERT_EQ(listed.warnings.size(), 2u);
  EXPECT_EQ(
      texts(listed, listed.warnings)[1],
      "NetworkAttachmentDefinition apps/nad: spec.config has \"portmap\", which runs only when listed: in "
      "supportedCNIPlugins of the device's policy, or in --cni-plugins-exclusive or --cni-plugins-shared");
}

std::string answer_to(const Json& object, const char* operation = "CREATE") {
  Json request(Json::Object{{"uid", "u"},
                            {"operation", operation},
                            {"resource", Json(Json::Object{{"resource", "network-attachment-definitions"}})},
                            {"namespace", "apps"},
                            {"object", object}});
  return review(kube::encode_json(Json(Json::Object{{"apiVersion", "admission.k8s.io/v1"},
                                                    {"kind", "AdmissionReview"},
                                                    {"request", std::move(request)}})),
                kDrivers)
      .body;
}

// Red when a definition that Multus runs is kept from a cluster, or one whose author says that it is for us is stored with an error.
TEST(JudgeNetwork, RefusesOnlyDefinitionsMarkedForTheDriver) {
  const std::string bad = R"({"type":"sriov","Vlan":5})";
  const auto others = kube::decode_json(answer_to(definition(bad)));
  EXPECT_EQ(*others->find({"response", "allowed"}), Json(true));
  const auto* warnings = others->find({"response", "warnings"});
  ASSERT_TRUE(warnings != nullptr && warnings->array()->size() == 1);
  EXPECT_TRUE((*warnings->array())[0].string()->starts_with(
      "NetworkAttachmentDefinition apps/nad: spec.config: Vlan differs in case"));
  EXPECT_TRUE((*warnings->array())[0].string()->ends_with("; sliced prepares no claim with it"));
  const std::string ours = R"({"networking.dra.io/used-by":"sliced"})";
  const auto refused = kube::decode_json(answer_to(definition(bad, ours)));
  EXPECT_EQ(*refused->find({"response", "allowed"}), Json(false));
  EXPECT_TRUE(refused->find({"response", "status"})
                  ->text("message")
                  .starts_with("NetworkAttachmentDefinition apps/nad: spec.config: Vlan differs in case"));
  EXPECT_EQ(*kube::decode_json(answer_to(definition(bad, R"({"networking.dra.io/used-by":"multus"})")))
                 ->find({"response", "allowed"}),
            Json(true));
  const auto administrators =
      kube::decode_json(answer_to(definition(R"({"type":"sriov","logFile":"/var/log/a"})", ours)));
  EXPECT_EQ(*administrators->find({"response", "allowed"}), Json(true)) << "a DeviceClass may name it";
  EXPECT_NE(kube::encode_json(*administrators).find("sliced prepares no claim that names it itself"),
            std::string::npos);
}

TEST(JudgeNetwork, ClassesMustNameTheNamespaceOfADefinition) {
  NetworkNames names;
  const auto classes = kube::decode_yaml(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec:
  config:
    - opaque: {driver: sriovnetwork.k8snetworkplumbingwg.io, parameters: {netAttachDefName: a, netAttachDefNamespace: admin}}
    - opaque: {driver: dra.networking, parameters: {netAttachDefName: b}}
    - opaque: {driver: gpu.example.com, parameters: {netAttachDefName: c, netAttachDefNamespace: admin}}
)");
  add_networks_of_class(classes.documents.at(0), kDrivers, names);
  EXPECT_EQ(names, (NetworkNames{{"admin", "a"}}));
  add_networks_of_class(Json(), kDrivers, names);
}

}  // namespace
}  // namespace network_judgement_test
}  // namespace sliced::webhook
