#include "reactor/base/vlan_ids.h"

#include <gtest/gtest.h>

namespace sliced {
namespace vlan_ids_test {
namespace {

using Texts = std::vector<std::string>;

TEST(VlanIdsTest, AnIdOrARangeIsRead) {
  const auto range = VlanIds::decode("100-199");
  ASSERT_TRUE(range.has_value());
  EXPECT_TRUE(range->contains(100) && range->contains(199));
  EXPECT_FALSE(range->contains(99) || range->contains(200) || range->contains(-1) ||
               range->contains(1 << 20));
  EXPECT_EQ(VlanIds::decode("0")->texts(), Texts{"0"});
  EXPECT_EQ(VlanIds::decode("7-7"), VlanIds::decode("7"));
  EXPECT_TRUE(VlanIds::decode("0-4094")->is_all());
  for (const char* text : {"", "-", "5-", "-5", "4095", "1-4095", "9-5", "05", "1-2-3", "+5", " 5", "5 ",
                           "0x5", "1,2", "100000000000000000000"})
    EXPECT_FALSE(VlanIds::decode(text).has_value()) << text;
}

TEST(VlanIdsTest, SetsAreJoinedAndIntersected) {
  VlanIds ids = *VlanIds::decode("1-5");
  ids |= *VlanIds::decode("6");
  ids |= *VlanIds::decode("4094");
  EXPECT_EQ(ids.texts(), (Texts{"1-6", "4094"}));
  EXPECT_TRUE(ids.contains_all(*VlanIds::decode("2-6")));
  EXPECT_FALSE(ids.contains_all(*VlanIds::decode("2-7")));
  EXPECT_TRUE(VlanIds().texts().empty() && ids.contains_all(VlanIds()));
  ids &= *VlanIds::decode("6-100");
  EXPECT_EQ(ids.texts(), Texts{"6"});
  EXPECT_EQ(with_vlan_ids({"vlan", "trust"}, ids), (Texts{"vlan=6", "trust"}));
  EXPECT_EQ(with_vlan_ids({"vlan", "trust"}, VlanIds::all()), (Texts{"vlan", "trust"}));
}

}  // namespace
}  // namespace vlan_ids_test
}  // namespace sliced
