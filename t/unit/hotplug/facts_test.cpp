#include "hotplug/facts.h"

#include <gtest/gtest.h>

namespace sliced::hotplug {
namespace {

TEST(PciAddress, ReadsTheFormatOfSysfs) {
  const struct {
    const char* why;
    const char* text;
    std::optional<PciAddress> want;
  } rows[] = {
      {"the usual form", "0000:3b:00.2", PciAddress{0, 0x3b, 0, 2}},
      {"the last function of all", "ffff:ff:1f.7", PciAddress{0xffff, 0xff, 31, 7}},
      {"VMD domains are wider", "10000:01:00.0", PciAddress{0x10000, 1, 0, 0}},
      {"as wide as 32 bits", "deadbeef:e1:10.1", PciAddress{0xdeadbeef, 0xe1, 16, 1}},
      {"Hyper-V's domains have letters", "c05b:00:02.0", PciAddress{0xc05b, 0, 2, 0}},
      {"a domain of three digits", "000:3b:00.2", std::nullopt},
      {"a domain of nine digits", "100000000:01:00.0", std::nullopt},
      {"a wide domain is not padded", "00001:01:00.0", std::nullopt},
      {"upper case is not the kernel's", "0000:3B:00.2", std::nullopt},
      {"device above 31", "0000:3b:20.2", std::nullopt},
      {"function above 7", "0000:3b:00.8", std::nullopt},
      {"no domain", "3b:00.2", std::nullopt},
      {"a tail", "0000:3b:00.2/", std::nullopt},
      {"not a number", "0000:3g:00.2", std::nullopt},
      {"nothing", "", std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(PciAddress::decode(row.text), row.want) << row.why;
    if (!row.want) continue;
    EXPECT_EQ(row.want->text(), row.text) << row.why;
  }
}

TEST(PciAddress, DashedFormIsALabel) {
  EXPECT_EQ(PciAddress::decode("0000:3b:00.2")->dashed(), "0000-3b-00-2");
  EXPECT_EQ(PciAddress::decode("10000:3b:00.2")->dashed(), "10000-3b-00-2");
}

TEST(PciAddress, OrdersByDomainFirst) {
  EXPECT_LT(*PciAddress::decode("0000:ff:1f.7"), *PciAddress::decode("0001:00:00.0"));
  EXPECT_LT(*PciAddress::decode("ffff:00:00.0"), *PciAddress::decode("10000:00:00.0"));
}

}  // namespace
}  // namespace sliced::hotplug
