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

}  // namespace
}  // namespace sliced::hotplug
