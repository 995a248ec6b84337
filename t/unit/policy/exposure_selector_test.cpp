#include <gtest/gtest.h>

#include "policy/exposure/selector.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

HostDevice a_vf() {
  HostDevice vf{.id = {"0000:03:00.2"}, .type = DeviceType::kVf, .pci = hotplug::PciAddress{0, 3, 0, 2}};
  vf.vendor = "15b3";
  vf.pf_name = "enp3s0f0";
  vf.vf_index = 0;
  return vf;
}

struct Selection {
  cel::Answer::Is is;
  std::string error;
};
Selection select(const std::string& expression, const HostDevice& device) {
  const auto program = compile_selector(expression, "dra.networking");
  if (!program) return {cel::Answer::Is::kError, "refused: " + program.error().what};
  HostDeviceView view("dra.networking");
  view.set_device({device});
  cel::Evaluator evaluator;
  const auto is = evaluator.select(*program, view);
  return {is, evaluator.error_text(*program)};
}
std::string of(const std::string& attribute) { return "device.attributes[\"dra.networking\"]." + attribute; }

// Red when an absent fact is an error, as it is for a DeviceClass: masterBridge == "" would select nothing.
TEST(HostSelector, MissingFieldsHaveTheirZeroValue) {
  const HostDevice vf = a_vf();
  HostDevice bridge{.id = {"br0"}, .type = DeviceType::kBridge};
  for (const std::string& holds : std::vector<std::string>{
           of("masterBridge") + " == \"\"", of("mtu") + " == 0", of("rdma") + " == false",
           of("numaNode") + " == -1", "device.attributes[\"resource.kubernetes.io\"].numaNode == -1",
           "!has(" + of("masterBridge") + ")", "!(\"masterBridge\" in device.attributes[\"dra.networking\"])",
           "!" + of("?masterBridge") + ".hasValue()",
           "device.attributes[\"dra.\" + \"networking\"].masterBridge == \"\""})
    EXPECT_EQ(select(holds, vf).is, cel::Answer::Is::kTrue) << holds << ": " << select(holds, vf).error;
  EXPECT_EQ(select(of("vfIndex") + " == -1", bridge).is, cel::Answer::Is::kTrue);
  EXPECT_EQ(select(of("vfIndex") + " == 0", vf).is, cel::Answer::Is::kTrue);
  EXPECT_EQ(
      select("has(" + of("vfIndex") + ") && \"vfIndex\" in device.attributes[\"dra.networking\"]", vf).is,
      cel::Answer::Is::kTrue);
  EXPECT_EQ(select("device.attributes[\"dra.networking\"].exists(k, k == \"pfName\")", vf).is,
            cel::Answer::Is::kTrue);
}

// A kernel update has renamed interfaces; the former names are alternative ones. Red when a policy that names them selects nothing, when one
// that leaves them out offers them, and when a prefix of a name that nobody uses selects a device.
TEST(HostSelector, InterfaceNamesEqualAlternativeNames) {
  hotplug::Inventory inventory;
  HostDevice& bridge = inventory.devices["br-new"] = {.id = {"br-new"}, .type = DeviceType::kBridge};
  bridge.bridge_type = "linux";
  bridge.netdev = hotplug::Netdev{.name = "br-new", .alternative_names = {"br0"}};
  HostDevice& parent = inventory.devices["0000:03:00.0"] = {.id = {"0000:03:00.0"}, .type = DeviceType::kPf};
  parent.netdev = hotplug::Netdev{.name = "ens7f0np0", .alternative_names = {"ens7f0"}};
  HostDevice& vlan = inventory.devices["vlan5"] = {.id = {"vlan5"}, .type = DeviceType::kVlan};
  vlan.parent_name = "ens7f0np0";
  vlan.netdev = hotplug::Netdev{.name = "vlan5"};
  HostDevice& representor = inventory.devices["rep0"] = {.id = {"rep0"}};
  representor.netdev = hotplug::Netdev{.name = "rep0", .alternative_names = {"eth7"}};
  HostDevice vf = a_vf();
  vf.netdev = hotplug::Netdev{
      .name = "ens7f0v0", .master = "br-new", .alternative_names = {"enp3s0f0v0", "a", "mgmt0"}};
  vf.pf_alternative_names = {"ens7f0"};
  vf.representor = "rep0";
  inventory.devices["0000:03:00.2"] = vf;
  inventory.contested_names = {"mgmt0"};
  const auto selects = [&](const std::string& expression, const std::string& id) {
    const auto program = compile_selector(expression, "dra.networking");
    EXPECT_TRUE(program) << expression << ": " << program.error().what;
    if (!program) return false;
    HostDeviceView view("dra.networking");
    view.set_device(facts_of(*inventory.find(id), inventory));
    cel::Evaluator evaluator;
    const auto is = evaluator.select(*program, view);
    EXPECT_NE(is, cel::Answer::Is::kError) << evaluator.error_text(*program);
    return is == cel::Answer::Is::kTrue;
  };
  const std::string own = of("ifName");
  for (const std::string& holds : std::vector<std::string>{
           own + " == \"enp3s0f0v0\"", "\"a\" == " + own, own + " in [\"x\", \"a\"]",
           own + " == \"ens7f0v0\"", "device.attributes[\"dra.networking\"][\"ifName\"] == \"a\"",
           "[\"a\"].exists(name, name == " + own + ")", of("pfName") + " == \"ens7f0\"",
           of("masterBridge") + " == \"br0\"", of("representor") + " == \"eth7\"", own + ".size() == 8"})
    EXPECT_TRUE(selects(holds, "0000:03:00.2")) << holds;
  for (const std::string& fails : std::vector<std::string>{
           own + " != \"enp3s0f0v0\"", "!(" + own + " in [\"a\"])", own + " == \"mgmt0\"",
           own + " == \"enp3s0f0v\"", own + " == \"\"", own + ".startsWith(\"enp\")",
           own + ".matches(\"^a$\")", own + " == " + of("pfName"), own + " + \"\" == \"a\""})
    EXPECT_FALSE(selects(fails, "0000:03:00.2")) << fails;
  EXPECT_TRUE(selects(of("bridgeName") + " == \"br0\"", "br-new"));
  EXPECT_TRUE(selects(of("parentIfName") + " == \"ens7f0\"", "vlan5"));
}

TEST(HostSelector, SuggestsTheNearestName) {
  const struct {
    std::string expression, says;
  } rows[] = {
      {of("ifname") + " == \"x\"",
       "column 36: there is no attribute ifname of dra.networking; did you mean ifName?"},
      {"device.attributes[\"dra.network\"].type == \"x\"", "did you mean dra.networking?"},
      {"device.attributes[\"resource.kubernetes.io\"].pciBusId == \"x\"", "did you mean pciBusID?"},
      {of("type") + " == 5", "column 42: there is no operator == for (string, int)"},
      {of("mtu"), "gives int, expected bool"},
      {"device.atributes", "did you mean attributes?"},
      {of("type") + ".startsWit(\"v\")", "did you mean startsWith?"},
      {of("type") + " = \"vf\"", "column 42: unexpected \"=\"; did you mean ==?"},
      {"nothing.format(1) == \"\"", "column 1: there is no variable nothing"},
  };
  for (const auto& row : rows)
    EXPECT_NE(select(row.expression, a_vf()).error.find(row.says), std::string::npos)
        << row.expression << ": " << select(row.expression, a_vf()).error;
}

TEST(HostSelector, ErrorsHaveAPosition) {
  const Selection wrong = select("1 / " + of("mtu") + " == 1", a_vf());
  EXPECT_EQ(wrong.is, cel::Answer::Is::kError);
  EXPECT_NE(wrong.error.find("(column 3)"), std::string::npos) << wrong.error;
  const Selection quoted = select("quantity(" + of("vendor") + ") == quantity(\"1\")", a_vf());
  EXPECT_EQ(quoted.error.find("quantity \"15b3\": expected"), 0u) << "escaped twice or cut: " << quoted.error;
}

// Red when nested comprehensions are not stopped: the loop would be held for minutes.
TEST(HostSelector, CostsAreBounded) {
  std::string nested = "true";
  for (int i = 0; i < 8; ++i)
    nested = "[0,1,2,3,4,5,6,7,8,9].all(x" + std::to_string(i) + ", " + nested + ")";
  EXPECT_NE(select(nested, a_vf()).error.find("costs more"), std::string::npos);
  EXPECT_NE(select("lists.range(10000000).size() > 0", a_vf()).error.find("costs more"), std::string::npos);
  const std::string grows =
      "cel.bind(a, \"0123456789012345678901234567890123456789\", cel.bind(b, a+a+a+a+a+a+a+a+a+a, "
      "cel.bind(c, "
      "b+b+b+b+b+b+b+b+b+b, cel.bind(d, c+c+c+c+c+c+c+c+c+c, cel.bind(e, d+d+d+d+d+d+d+d+d+d, cel.bind(f, "
      "e+e+e+e+e+e+e+e+e+e, f == \"\"))))))";
  EXPECT_EQ(select(grows, a_vf()).is, cel::Answer::Is::kError);
}

}  // namespace
}  // namespace sliced::policy
