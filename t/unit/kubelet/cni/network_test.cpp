#include "kubelet/cni/network.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"

namespace sliced::cni {
namespace {

using kube::Json;

std::string why_not(std::string_view config, std::string_view name = "nad") {
  const auto network = decode_network(config, name);
  return network ? "" : network.error().what;
}

TEST(DecodeNetwork, AcceptsOnePluginOrAList) {
  const auto one = decode_network(R"({"cniVersion":"0.3.1","type":"sriov","vlan":5})", "nad");
  ASSERT_TRUE(one.ok()) << one.error().what;
  EXPECT_EQ(one->name, "nad");
  EXPECT_EQ(one->cni_version, "0.3.1");
  ASSERT_EQ(one->plugins.size(), 1u);
  EXPECT_EQ(one->plugins[0].type, "sriov");
  const auto list = decode_network(
      R"({"cniVersion":"1.1.0","name":"own","disableCheck":true,"plugins":[{"type":"sriov"},{"type":"tuning"}]})",
      "nad");
  ASSERT_TRUE(list.ok()) << list.error().what;
  EXPECT_EQ(list->name, "own");
  EXPECT_TRUE(list->is_check_disabled);
  EXPECT_EQ(list->plugins[1].type, "tuning");
}

TEST(DecodeNetwork, SelectsTheNewestKnownVersion) {
  const auto version = [](std::string_view config) { return decode_network(config, "n")->cni_version; };
  EXPECT_EQ(version(R"({"cniVersion":"0.4.0","cniVersions":["0.3.1","1.1.0","2.0.0"],"type":"a"})"), "1.1.0");
  EXPECT_EQ(version(R"({"type":"a"})"), "0.3.1");
  EXPECT_EQ(version(R"({"cniVersion":"9.0.0","cniVersions":["0.3.1"],"type":"a"})"), "0.3.1");
  for (const std::string old : {"0.1.0", "0.2.0"})
    EXPECT_EQ(version(R"({"cniVersion":")" + old + R"(","type":"a"})"), old) << "libcni accepts it";
  EXPECT_EQ(version(R"({"cniVersion":"0.2.0","cniVersions":["0.1.0"],"type":"a"})"), "0.2.0");
  EXPECT_EQ(version(R"({"cniVersion":"","type":"a"})"), version(R"({"type":"a"})")) << "empty is unset";
}

TEST(DecodeNetwork, AMistakeOfJsonHasItsLineColumnAndText) {
  EXPECT_TRUE(why_not("{\n  \"type\": \"a\"\n  \"ipam\": {}\n}")
                  .starts_with(R"(spec.config is not valid JSON at line 3, column 3, before "ipam": {}: )"))
      << why_not("{\n  \"type\": \"a\"\n  \"ipam\": {}\n}");
  EXPECT_TRUE(why_not(R"({"type":"a",})").starts_with("spec.config is not valid JSON at line 1, column "))
      << why_not(R"({"type":"a",})");
  EXPECT_TRUE(why_not("{").starts_with("spec.config is not valid JSON")) << why_not("{");
}

TEST(DecodeNetwork, NamesErrors) {
  EXPECT_EQ(why_not(R"({"cniVersion":"1.0.0","type":"../sh"})"),
            "spec.config: type is \"../sh\": expected the bare file name of a plugin, such as sriov");
  for (const std::string_view type : {"", ".", "..", "a/b", "/bin/sh", "a b", "a\\\\b", "a\\n"})
    EXPECT_NE(why_not(R"({"cniVersion":"1.0.0","type":")" + std::string(type) + "\"}"), "") << type;
  EXPECT_EQ(
      why_not(R"({"cniVersion":"0.0.9","type":"a"})"),
      "spec.config: cniVersion is \"0.0.9\": expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0");
  EXPECT_NE(why_not(R"({"cniVersion":"1.0.0","type":"a","name":"a/b"})").find("name is"), std::string::npos);
  EXPECT_NE(why_not(R"({"cniVersion":"1.0.0","plugins":[]})").find("plugins"), std::string::npos);
  EXPECT_NE(why_not(R"({"cniVersion":"1.0.0","plugins":[{"type":"a"},{"type":"b/c"}]})").find("plugins[1]"),
            std::string::npos);
  EXPECT_NE(
      why_not(R"({"cniVersion":"1.0.0","type":"a","capabilities":{"mac":"yes"}})").find("capabilities.mac"),
      std::string::npos);
  EXPECT_NE(why_not("[]"), "");
  EXPECT_NE(why_not("{"), "");
  EXPECT_NE(why_not(R"({"cniVersion":"1.0.0","type":"a","x":")" + std::string(kConfigBytesMax, 'x') + "\"}"),
            "");
}

TEST(DecodeNetwork, DecodesADefinition) {
  Json object = *kube::decode_json(
      R"({"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","spec":{"config":"{}"}})");
  EXPECT_EQ(*config_of_definition(object), "{}");
  object.set("spec", Json());
  fixture::expect_golden(config_of_definition(object).error().what);
  object.set("kind", Json("Pod"));
  EXPECT_FALSE(config_of_definition(object).ok());
}

Attachment attachment() {
  return {.container_id = "c1", .network_namespace = "/run/netns/a", .interface = "net1"};
}

TEST(CheckAttachment, RefusesUnsafePaths) {
  EXPECT_TRUE(check(attachment()).ok());
  for (const std::string id : {"", "../x", "a/b", "-a", "a@b"}) {
    Attachment with = attachment();
    with.container_id = id;
    EXPECT_FALSE(check(with).ok()) << id;
  }
  for (const std::string name : {"", "..", "a/b", "a b", "0123456789abcdef", "a:b", "a\n", "\xff"}) {
    Attachment with = attachment();
    with.interface = name;
    EXPECT_FALSE(check(with).ok()) << name;
  }
  for (const std::string value : {"a;CNI=b", "a=b"}) {
    Attachment with = attachment();
    with.arguments = {{"K8S_POD_NAME", value}};
    EXPECT_FALSE(check(with).ok()) << value;
  }
}

TEST(InputFor, InjectsFields) {
  const auto network = *decode_network(
      R"({"cniVersion":"1.0.0","name":"n","plugins":[
          {"type":"sriov","name":"overwritten","capabilities":{"mac":true,"ips":false},"runtimeConfig":{"old":1}},
          {"type":"tuning"}]})",
      "nad");
  Attachment with = attachment();
  with.device = "0000:3b:01.0";
  with.capabilities =
      *kube::decode_json(R"({"mac":"02:00:00:00:00:01","ips":["10.0.0.1/24"],"bandwidth":{}})");
  const Json first = *kube::decode_json(input_for(network, 0, with, {}));
  EXPECT_EQ(first.text("name"), "n");
  EXPECT_EQ(first.text("deviceID"), "0000:3b:01.0");
  EXPECT_EQ(*first.find("runtimeConfig"), *kube::decode_json(R"({"mac":"02:00:00:00:00:01"})"));
  EXPECT_EQ(first.find("prevResult"), nullptr);
  const Json second = *kube::decode_json(input_for(network, 1, with, Attached{.cni_version = "1.0.0"}));
  EXPECT_EQ(first.text("pciBusID"), "0000:3b:01.0");
  EXPECT_EQ(second.text("deviceID"), "0000:3b:01.0");
  EXPECT_EQ(second.text("pciBusID"), "0000:3b:01.0");
  EXPECT_EQ(second.find("runtimeConfig"), nullptr);
  EXPECT_EQ(*second.find("prevResult"), *kube::decode_json(R"({"cniVersion":"1.0.0"})"));
}

TEST(EnvironmentFor, InheritsTheEnvironmentExceptCniVariables) {
  Attachment with = attachment();
  with.arguments = {{"IgnoreUnknown", "1"}, {"K8S_POD_NAME", "p"}};
  EXPECT_EQ(
      environment_for(Command::kDel, with, {"/a", "/b"}, {"PATH=/bin", "CNI_COMMAND=ADD", "CNI_OTHER=kept"}),
      (std::vector<std::string>{"PATH=/bin", "CNI_OTHER=kept", "CNI_COMMAND=DEL", "CNI_CONTAINERID=c1",
                                "CNI_NETNS=/run/netns/a", "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=p",
                                "CNI_IFNAME=net1", "CNI_PATH=/a:/b"}));
}

}  // namespace
}  // namespace sliced::cni
