#include "kubelet/interfaces/default_routes.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "t/fixture/growth.h"

namespace sliced::kubelet {
namespace {

RequiredInterface with(const std::string& interface, const std::string& members) {
  return {.claim_text = "ResourceClaim ns/" + interface,
          .interface = interface,
          .network = "net",
          .config = R"({"cniVersion":"1.0.0","name":"net",)" + members + "}"};
}

std::string ipam(const std::string& routes) {
  return R"("type":"vf","ipam":{"type":"static","routes":[)" + routes + "]}";
}

TEST(DefaultRoutesTest, AllowsOnePerFamilyTableAndPriority) {
  const std::string ipv4 = ipam(R"({"dst":"0.0.0.0/0"})");
  const struct {
    const char* name;
    std::string other;
    bool is_refused;
  } kCases[] = {
      {"the same", ipv4, true},
      {"with a gateway", ipam(R"({"dst":"0.0.0.0/0","gw":"10.0.0.1"})"), true},
      {"another family", ipam(R"({"dst":"::/0"})"), false},
      {"another table", ipam(R"({"dst":"0.0.0.0/0","table":100})"), false},
      {"the main table", ipam(R"({"dst":"0.0.0.0/0","table":254})"), true},
      {"another priority", ipam(R"({"dst":"0.0.0.0/0","priority":100})"), false},
      {"no default route", ipam(R"({"dst":"10.0.0.0/8"})"), false},
      {"none", R"("type":"vf")", false},
      {"a bridge's gateway",
       R"("type":"bridge","isDefaultGateway":true,"ipam":{"type":"host-local","subnet":"10.0.0.0/24"})",
       true},
      {"a bridge's IPv6 gateway",
       R"("type":"bridge","isDefaultGateway":true,"ipam":{"type":"host-local","subnet":"fd00::/64"})", false},
      {"beside ipam of a VfConfig",
       R"("type":"sliced-native","network":{"routes":[{"destination":"0.0.0.0/0"}]})", true},
      {"a table of its own", R"("plugins":[{)" + ipv4 + R"(},{"type":"sbr"}])", false},
  };
  for (const auto& one : kCases) {
    const std::string why = default_route_conflict({with("net1", ipv4), with("net2", one.other)});
    EXPECT_EQ(!why.empty(), one.is_refused) << one.name << ": " << why;
    EXPECT_EQ(default_route_conflict({with("net2", one.other)}), "") << one.name;
  }
}

// Red when each interface of a pod has its definition decoded again: this is done for each claim of the pod, in a turn of the loop.
TEST(DefaultRoutesTest, DecodesADefinitionOnce) {
  std::string routes;
  for (int i = 0; i < 200; ++i)
    routes += (i == 0 ? "" : ",") + std::string(R"({"dst":"10.)") + std::to_string(i) + R"(.0.0/16"})";
  const double growth = fixture::growth(64, [&](size_t count) -> std::function<void()> {
    const auto all = std::make_shared<std::vector<RequiredInterface>>();
    for (size_t i = 0; i < count; ++i) all->push_back(with("net" + std::to_string(i), ipam(routes)));
    return [all] { EXPECT_EQ(default_route_conflict(*all), ""); };
  });
  EXPECT_LT(growth, 2);
}

TEST(DefaultRoutesTest, UsesTheKernelsDefaultPriorityForIpv6) {
  const RequiredInterface one = with("net1", ipam(R"({"dst":"::/0"})"));
  EXPECT_NE(default_route_conflict({one, with("net2", ipam(R"({"dst":"::/0","priority":1024})"))}), "");
  EXPECT_EQ(default_route_conflict({one, with("net2", ipam(R"({"dst":"::/0","priority":1025})"))}), "");
}

TEST(DefaultRoutesTest, NamesBothInterfaces) {
  const auto one = with("net1", ipam(R"({"dst":"::/0"})")), other = with("net2", ipam(R"({"dst":"::/0"})"));
  EXPECT_EQ(
      default_route_conflict({one, other}),
      "two interfaces of the pod set an IPv6 default route: interface net1 of ResourceClaim ns/net1 (network net) and interface "
      "net2 of ResourceClaim ns/net2 (network net); let one network set it, or give the routes different tables or priorities");
}

}  // namespace
}  // namespace sliced::kubelet
