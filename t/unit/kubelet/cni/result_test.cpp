#include "kubelet/cni/result.h"

#include <gtest/gtest.h>

namespace sliced::cni {
namespace {

std::string refusal_of(std::string_view text) {
  const auto result = decode_result(text, "1.0.0");
  return result ? "" : result.error().what;
}

TEST(DecodeResult, AcceptsEveryVersion) {
  for (const std::string_view version : known_versions()) {
    if (version < "0.3") continue;
    const auto result = decode_result(
        R"({"cniVersion":")" + std::string(version) +
            R"(","interfaces":[{"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/a","more":1}],
            "ips":[{"version":"4","interface":0,"address":"10.1.0.7/24","gateway":"10.1.0.1"},{"address":"FD00::7/64"}],
            "routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"}],"dns":{"nameservers":["10.1.0.1"],"domain":"d"}})",
        "0.3.1");
    ASSERT_TRUE(result.ok()) << version << result.error().what;
    EXPECT_EQ(result->cni_version, version);
    EXPECT_EQ(
        result->interfaces,
        (std::vector<Interface>{{.name = "net1", .mac = "02:00:00:00:00:01", .sandbox = "/run/netns/a"}}));
    EXPECT_EQ(result->ips, (std::vector<Ip>{{.interface = 0, .address = "10.1.0.7/24", .gateway = "10.1.0.1"},
                                            {.address = "fd00::7/64"}}));
    EXPECT_EQ(result->routes, (std::vector<Route>{{.destination = "0.0.0.0/0", .gateway = "10.1.0.1"}}));
    EXPECT_EQ(result->dns, (Dns{.nameservers = {"10.1.0.1"}, .domain = "d"}));
    EXPECT_EQ(*decode_result(kube::encode_json(encode_result(*result)), ""), *result);
  }
}

// Their results have one address a family and no interface (containernetworking/cni, pkg/types/020).
TEST(DecodeResult, VersionsBeforeInterfaces) {
  for (const std::string version : {"0.1.0", "0.2.0"}) {
    const std::string text =
        R"({"cniVersion":")" + version +
        R"(","ip4":{"ip":"10.1.0.7/24","gateway":"10.1.0.1","routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"}]},)"
        R"("ip6":{"ip":"fd00::7/64","routes":[{"dst":"::/0"}]},"dns":{"nameservers":["10.1.0.1"]}})";
    const auto result = decode_result(text, "0.3.1");
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_TRUE(result->interfaces.empty());
    EXPECT_EQ(result->ips, (std::vector<Ip>{{.address = "10.1.0.7/24", .gateway = "10.1.0.1"},
                                            {.address = "fd00::7/64"}}));
    EXPECT_EQ(result->routes, (std::vector<Route>{{.destination = "0.0.0.0/0", .gateway = "10.1.0.1"},
                                                  {.destination = "::/0"}}));
    EXPECT_EQ(kube::encode_json(encode_result(*result)), text) << "prevResult has the same form";
  }
  EXPECT_EQ(decode_result(R"({"ip4":{"ip":"10.1.0.7/24"}})", "0.2.0")->ips.size(), 1u) << "as the config";
  EXPECT_EQ(decode_result("{}", "0.1.0")->cni_version, "0.1.0");
  EXPECT_EQ(refusal_of(R"({"cniVersion":"0.2.0","ip4":{"ip":"fd00::7/64"}})"),
            "the result's ip4.ip is \"fd00::7/64\", an address of the other family");
  EXPECT_EQ(refusal_of(R"({"cniVersion":"0.2.0","ip6":{"ip":"x"}})"),
            "the result's ip6.ip is \"x\", expected an address and a prefix's length");
}

TEST(DecodeResult, AResultWithoutAVersionUsesTheConfigs) {
  EXPECT_EQ(decode_result("{}", "0.4.0")->cni_version, "0.4.0");
  EXPECT_EQ(decode_result(R"({"cniVersion":"","ips":null})", "0.4.0")->cni_version, "0.4.0");
}

TEST(DecodeResult, NamesErrors) {
  EXPECT_EQ(refusal_of(R"({"cniVersion":"2.0.0"})"),
            "the result's cniVersion is \"2.0.0\", which is not known");
  EXPECT_EQ(refusal_of(R"({"ips":[{"address":"10.1.0.7/24"},{"address":"10.1.0.7"}]})"),
            "the result's ips[1].address is \"10.1.0.7\", expected an address and a prefix's length");
  EXPECT_EQ(refusal_of(R"({"ips":[{"address":"10.1.0.7/33"}]})"),
            "the result's ips[0].address is \"10.1.0.7/33\", expected an address and a prefix's length");
  EXPECT_EQ(refusal_of(R"({"ips":[{"address":"10.1.0.7/24","gateway":"x"}]})"),
            "the result's ips[0].gateway is \"x\", no IP address");
  EXPECT_EQ(refusal_of(R"({"interfaces":{}})"), "the result's interfaces is not a list");
  EXPECT_EQ(refusal_of(R"({"interfaces":["x"]})"), "the result's interfaces[0] is a string, expected a map");
  EXPECT_EQ(refusal_of(R"({"interfaces":[{"name":7}]})"), "the result's interfaces[0].name is not a string");
  EXPECT_EQ(refusal_of(R"({"dns":{"search":[1]}})"),
            "the result's dns.search has an item that is not a string");
  EXPECT_NE(refusal_of(""), "");
  EXPECT_NE(refusal_of("[]"), "");
  std::string many = R"({"interfaces":[{})";
  for (int i = 0; i < 64; ++i) many += ",{}";
  EXPECT_EQ(refusal_of(many + "]}"), "the result's interfaces has more than 64 items");
  EXPECT_NE(refusal_of(std::string(kResultBytesMax, ' ') + "{}"), "");
}

TEST(EncodeResult, UsesTheFormOfItsVersion) {
  Attached result{.cni_version = "0.3.1",
                  .interfaces = {{.name = "a", .mtu = 9000, .pci_id = "0000:3b:01.0"}},
                  .ips = {{.address = "fd00::7/64"}}};
  EXPECT_EQ(
      kube::encode_json(encode_result(result)),
      R"({"cniVersion":"0.3.1","interfaces":[{"name":"a"}],"ips":[{"version":"6","address":"fd00::7/64"}],"dns":{}})");
  result.cni_version = "1.1.0";
  EXPECT_EQ(
      kube::encode_json(encode_result(result)),
      R"({"cniVersion":"1.1.0","interfaces":[{"name":"a","mtu":9000,"pciID":"0000:3b:01.0"}],"ips":[{"address":"fd00::7/64"}]})");
}

TEST(PluginError, ContainsItsCode) {
  EXPECT_EQ(decode_plugin_error(R"({"cniVersion":"1.0.0","code":7,"msg":"no VF","details":"of\npf"})"),
            "no VF; of\\x0apf (code 7)");
  EXPECT_EQ(decode_plugin_error(R"({"code":11})"), "no message (code 11)");
  EXPECT_EQ(decode_plugin_error(R"({"msg":"m"})"), "m");
  for (const std::string_view text : {"", "junk", "{}", "[1]"})
    EXPECT_FALSE(decode_plugin_error(text)) << text;
}

}  // namespace
}  // namespace sliced::cni
