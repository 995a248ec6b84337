#include "hotplug/resolve.h"

#include <gtest/gtest.h>

namespace sliced::hotplug {
namespace {

TEST(DecodePortName, Forms) {
  using Kind = PortName::Kind;
  const struct {
    const char* text;
    PortName want;
  } rows[] = {
      {"p0", {Kind::kUplink}},
      {"p1s2", {Kind::kUplink}},
      {"pf0vf3", {Kind::kVf, 0, 3}},
      {"pf1vf127", {Kind::kVf, 1, 127}},
      {"c0pf0vf3", {Kind::kVf, 0, 3}},
      {"c1pf0vf3", {Kind::kOther}},  // another host's, seen from a DPU
      {"3", {Kind::kVf, -1, 3}},     // drivers of before devlink's names
      {"pf0", {Kind::kOther}},
      {"pf0sf8", {Kind::kSf, 0, 8}},
      {"pf0vf", {Kind::kOther}},
      {"pf0vf3x", {Kind::kOther}},
      {"pf0vf99999999999", {Kind::kOther}},
      {"c0", {Kind::kOther}},
      {"c07", {Kind::kOther}},
      {"p", {Kind::kOther}},
      {"p0s", {Kind::kOther}},
      {"pf0sf88", {Kind::kSf, 0, 88}},
      {"c0pf1sf0", {Kind::kSf, 1, 0}},
      {"c1pf0sf88", {Kind::kOther}},  // of another host
      {"pf0sf", {Kind::kOther}},
      {"pf0sf8x", {Kind::kOther}},
      {"", {Kind::kOther}},
  };
  for (const auto& row : rows) EXPECT_EQ(decode_port_name(row.text), row.want) << row.text;
}

// The words of `devlink port show`. Red when a representor is shown as an uplink.
TEST(PortFlavour, ReturnsTheFlavourOfDevlink) {
  const struct {
    const char *name, *flavour;
  } rows[] = {{"p0", "physical"},    {"p0s1", "physical"}, {"pf0vf3", "pcivf"},  {"c0pf0vf3", "pcivf"},
              {"c1pf0vf3", "pcivf"}, {"3", "pcivf"},       {"pf0sf88", "pcisf"}, {"c1pf0sf88", "pcisf"},
              {"pf0", "pcipf"},      {"c1pf0", "pcipf"},   {"pf0hpf", "pcipf"},  {"", ""},
              {"port1", ""},         {"pf", ""},           {"c1", ""},           {"pf0vf", ""},
              {"c1pf0x", ""},        {"pf0sf8x", ""}};
  for (const auto& row : rows) EXPECT_EQ(port_flavour(row.name, "0a0b"), row.flavour) << row.name;
  EXPECT_EQ(port_flavour("3", ""), "") << "a number alone, and no switch";
}

}  // namespace
}  // namespace sliced::hotplug
