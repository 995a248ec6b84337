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
  view.look_at({device});
  cel::Evaluator evaluator;
  const auto is = evaluator.select(*program, view);
  return {is, evaluator.error_text(*program)};
}
std::string of(const std::string& attribute) { return "device.attributes[\"dra.networking\"]." + attribute; }

// Red when an absent fact is an error, as it is for a DeviceClass: masterBridge == "" would select nothing.
TEST(HostSelector, WhatADeviceLacksReadsAsItsZeroValue) {
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

TEST(HostSelector, UnknownNamesAreRefusedWithTheNearestOne) {
  const struct {
    std::string expression, says;
  } rows[] = {
      {of("ifname") + " == \"x\"",
       "column 36: there is no attribute ifname of dra.networking; did you mean ifName?"},
      {"device.attributes[\"dra.network\"].type == \"x\"", "did you mean dra.networking?"},
      {"device.attributes[\"resource.kubernetes.io\"].pciBusId == \"x\"", "did you mean pciBusID?"},
      {of("type") + " == 5", "column 42: there is no operator == for (string, int)"},
      {of("mtu"), "gives int, wants bool"},
      {"device.atributes", "did you mean attributes?"},
      {of("type") + ".startsWit(\"v\")", "did you mean startsWith?"},
      {of("type") + " = \"vf\"", "column 42: unexpected \"=\"; did you mean ==?"},
      {"nothing.format(1) == \"\"", "column 1: there is no variable nothing"},
  };
  for (const auto& row : rows)
    EXPECT_NE(select(row.expression, a_vf()).error.find(row.says), std::string::npos)
        << row.expression << ": " << select(row.expression, a_vf()).error;
}

TEST(HostSelector, ErrorsOfAnEvaluationSayWhere) {
  const Selection wrong = select("1 / " + of("mtu") + " == 1", a_vf());
  EXPECT_EQ(wrong.is, cel::Answer::Is::kError);
  EXPECT_NE(wrong.error.find("(column 3)"), std::string::npos) << wrong.error;
  const Selection quoted = select("quantity(" + of("vendor") + ") == quantity(\"1\")", a_vf());
  EXPECT_EQ(quoted.error.find("quantity \"15b3\": want"), 0u) << "escaped twice or cut: " << quoted.error;
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
