#include "kubelet/interfaces/shared_parent.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "t/fixture/golden.h"
#include "t/fixture/growth.h"

namespace sliced::kubelet {
namespace shared_parent_test {
namespace {

cni::Record record(const std::string& sandbox, const std::string& fields) {
  return {.config = R"({"cniVersion":"1.0.0","name":"net",)" + fields + "}",
          .network = "net",
          .attachment = {.container_id = sandbox, .interface = "net1"},
          .owner = "ResourceClaim ns-" + sandbox + "/net (uid 1), device node-a/eth7"};
}

// Red when one of what the kernel refuses is not explained, or a refusal is put down to a pod that has nothing to do with it.
TEST(ParentConflict, NamesThePluginAndTheClaimInTheWay) {
  struct Case {
    std::string wanted, other;
    bool is_named;
  };
  const std::string on = R"("master":"eth7",)", ipvlan = on + R"("type":"ipvlan")",
                    macvlan = on + R"("type":"macvlan")";
  const std::string vlan = on + R"("type":"vlan","vlanId":)",
                    address = R"(,"ipam":{"type":"static","addresses":[{"address":)";
  const std::string mac = R"(,"mac":"02:00:00:00:00:0)";
  const Case cases[] = {
      {ipvlan, macvlan, true},
      {macvlan, ipvlan, true},
      {on + R"("type":"macvtap")", ipvlan, true},
      {macvlan, macvlan, false},
      {ipvlan, ipvlan, false},
      {ipvlan, R"("type":"macvlan","master":"eth8")", false},
      {vlan + "10", vlan + "10", true},
      {vlan + "10", vlan + "11", false},
      {vlan + "10", macvlan, false},
      {macvlan + mac + "a\"", macvlan + mac + "A\"", true},
      {macvlan + mac + "a\"", macvlan + mac + "b\"", false},
      {ipvlan + address + R"("2001:db8::1/64"}]})", ipvlan + address + R"("2001:DB8:0::1/128"}]})", true},
      {ipvlan + address + R"("10.0.0.5/24"}]})", ipvlan + address + R"("10.0.0.6/24"}]})", false},
      {macvlan + address + R"("10.0.0.5/24"}]})", macvlan + address + R"("10.0.0.5/24"}]})", false},
      {R"("type":"host-device")", R"("type":"host-device")", false},
  };
  for (const Case& one : cases) {
    const cni::Record wanted = record("a", one.wanted), other = record("b", one.other);
    const std::string why = parent_conflict(wanted, {&wanted, &other});
    EXPECT_EQ(!why.empty(), one.is_named) << one.wanted << " beside " << one.other << ": " << why;
    if (one.is_named) fixture::expect_golden(why);
    EXPECT_EQ(parent_conflict(wanted, {&wanted}), "") << "its own";
  }
}

// A definition has up to 16 KiB, a node thousands of interfaces, and each failed ADD is explained in a turn of the loop. Red when that
// turn grows with the number of interfaces.
TEST(ParentConflict, DecodesABoundedPartOfTheRecords) {
  std::string lists;
  for (int i = 0; i < 600; ++i)
    lists += (i == 0 ? "" : ",") + std::string(R"([{"subnet":"10.)") + std::to_string(i / 64) + "." +
             std::to_string(i % 64) + R"(.0/30"}])";
  const std::string ranges = R"(,"ipam":{"type":"host-local","ranges":[)" + lists + "]}";
  const std::string macvlan = R"("type":"macvlan","master":")";
  const cni::Record wanted = record("a", macvlan + "eth7\"");
  const double growth = fixture::growth(16, [&](size_t count) -> std::function<void()> {
    const auto others = std::make_shared<std::vector<cni::Record>>();
    for (size_t i = 0; i < count; ++i)
      others->push_back(record(std::to_string(i), macvlan + "eth7\"" + ranges));
    return [&wanted, others] {
      std::vector<const cni::Record*> all;
      for (const cni::Record& one : *others) all.push_back(&one);
      EXPECT_EQ(parent_conflict(wanted, all), "");
    };
  });
  EXPECT_LT(growth, 2);
  const cni::Record elsewhere = record("b", macvlan + "ens8\"" + ranges);
  std::vector<const cni::Record*> all(100, &elsewhere);
  const cni::Record ipvlan = record("c", R"("type":"ipvlan","master":"eth7")");
  all.push_back(&ipvlan);
  EXPECT_NE(parent_conflict(wanted, all), "") << "those on other links do not count";
}

// Addresses that the kernel or IPAM chose are in what ADD yielded.
TEST(ParentConflict, UsesTheResultOfAdd) {
  const cni::Record wanted = record("a", R"("type":"macvlan","master":"eth7","mac":"02:00:00:00:00:0a")");
  cni::Record other = record("b", R"("type":"macvlan","master":"eth7")");
  EXPECT_EQ(parent_conflict(wanted, {&other}), "");
  other.result =
      cni::Attached{.interfaces = {{.name = "net1", .mac = "02:00:00:00:00:0a", .sandbox = "/run/netns/b"}}};
  EXPECT_NE(parent_conflict(wanted, {&other}).find("ns-b/net"), std::string::npos);
}

}  // namespace
}  // namespace shared_parent_test
}  // namespace sliced::kubelet
