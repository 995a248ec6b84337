#include "kubelet/vf_mac.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "kubelet/prepared.h"
#include "t/fixture/golden.h"

namespace sliced::kubelet {
namespace vf_mac_test {
namespace {

template <class T>
T at(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// struct nlmsghdr, struct ifinfomsg, and three nested attributes around struct ifla_vf_mac.
TEST(VfMac, SendsOneSetlinkForOneVf) {
  const std::string bytes = encode_vf_mac({.ifindex = 7, .index = 3}, "02:00:00:ab:cd:ef");
  ASSERT_EQ(bytes.size(), NLMSG_LENGTH(sizeof(ifinfomsg)) + 3 * NLA_HDRLEN + sizeof(ifla_vf_mac));
  const auto header = at<nlmsghdr>(bytes, 0);
  EXPECT_EQ(header.nlmsg_len, bytes.size());
  EXPECT_EQ(header.nlmsg_type, RTM_SETLINK);
  EXPECT_EQ(header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  EXPECT_EQ(at<ifinfomsg>(bytes, NLMSG_HDRLEN).ifi_index, 7);
  size_t offset = NLMSG_LENGTH(sizeof(ifinfomsg));
  for (const int type : {int{IFLA_VFINFO_LIST}, int{IFLA_VF_INFO}, int{IFLA_VF_MAC}}) {
    const auto attribute = at<nlattr>(bytes, offset);
    EXPECT_EQ(attribute.nla_type & NLA_TYPE_MASK, type);
    EXPECT_EQ(attribute.nla_len, bytes.size() - offset);
    offset += NLA_HDRLEN;
  }
  const auto value = at<ifla_vf_mac>(bytes, offset);
  EXPECT_EQ(value.vf, 3u);
  EXPECT_EQ(std::memcmp(value.mac, "\x02\x00\x00\xab\xcd\xef\x00\x00", 8), 0);
}

TEST(OwnMac, SendsOneSetlinkForOneInterface) {
  const std::string bytes = encode_own_mac(9, "02:00:00:ab:cd:ef");
  ASSERT_EQ(bytes.size(), NLMSG_LENGTH(sizeof(ifinfomsg)) + NLA_HDRLEN + NLA_ALIGN(6));
  EXPECT_EQ(at<nlmsghdr>(bytes, 0).nlmsg_len, bytes.size());
  EXPECT_EQ(at<ifinfomsg>(bytes, NLMSG_HDRLEN).ifi_index, 9);
  const auto attribute = at<nlattr>(bytes, NLMSG_LENGTH(sizeof(ifinfomsg)));
  EXPECT_EQ(attribute.nla_type, IFLA_ADDRESS);
  EXPECT_EQ(attribute.nla_len, NLA_HDRLEN + 6);
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 6), std::string("\x02\x00\x00\xab\xcd\xef", 6));
  const auto written = write_own_mac(0x7fffffff, "02:00:00:00:00:01");
  EXPECT_NE(written.error().what.find("interface 2147483647: "), std::string::npos) << written.error().what;
  EXPECT_EQ(written.error().what.find("Protocol error"), std::string::npos) << written.error().what;
}

// The kernel's own answers: the loopback has no VFs, and there is no interface with that number.
TEST(VfMac, ReturnsTheKernelsRefusal) {
  for (const int ifindex : {1, 0x7fffffff}) {
    const auto written = write_vf_mac({.ifindex = ifindex, .index = 0}, "02:00:00:00:00:01");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().what.find("VF 0 of interface " + std::to_string(ifindex)), std::string::npos)
        << written.error().what;
    EXPECT_EQ(written.error().what.find("Protocol error"), std::string::npos) << written.error().what;
  }
  EXPECT_TRUE(read_vf_macs(1).value().empty());
}

// Red when a VF that its PF does not report, or an unreadable PF, is treated as a VF without an address: the request would be sent.
TEST(VfMac, WritesNoMissingAddressWithoutTheAddressOfBefore) {
  const auto unreported = write_missing_vf_mac({.ifindex = 1, .index = 3}, "02:00:00:00:00:01");
  ASSERT_FALSE(unreported);
  EXPECT_EQ(unreported.error().what, "its PF does not report VF 3");
  const auto unread = write_missing_vf_mac({.ifindex = 0x7fffffff, .index = 3}, "02:00:00:00:00:01");
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().what, read_vf_macs(0x7fffffff).error().what);
}

TEST(VfMac, RefusesInvalidAddressesWithoutAnOverrun) {
  const std::string infiniband = "00:00:10:49:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77";
  const std::string own = encode_own_mac(9, infiniband),
                    vf = encode_vf_mac({.ifindex = 7, .index = 3}, infiniband);
  EXPECT_EQ(own, encode_own_mac(9, infiniband.substr(0, 17)));
  EXPECT_EQ(vf, encode_vf_mac({.ifindex = 7, .index = 3}, infiniband.substr(0, 17)));
  for (const std::string& mac :
       {infiniband, std::string("x"), std::string("01:00:5e:00:00:01"), std::string("")}) {
    EXPECT_EQ(write_own_mac(1, mac).error().code, Errc::kInvalid) << mac;
    EXPECT_EQ(write_vf_mac({.ifindex = 1, .index = 0}, mac).error().code, Errc::kInvalid) << mac;
  }
  EXPECT_EQ(write_own_mac(1, std::string(kNoMac)).error().code, Errc::kInvalid);
}

TEST(VfMac, RefusesAnAddressOfAnotherVf) {
  const std::map<int, std::string> macs = {{0, "02:00:00:00:00:0a"}, {3, std::string(kNoMac)}};
  EXPECT_TRUE(check_unused(macs, 3, "02:00:00:00:00:0b").ok());
  EXPECT_TRUE(check_unused(macs, 0, "02:00:00:00:00:0a").ok());
  const auto taken = check_unused(macs, 3, "02:00:00:00:00:0a");
  EXPECT_EQ(taken.error().code, Errc::kConflict);
  fixture::expect_golden(taken.error().what);
}

TEST(VfMac, VerifiesThePfsReport) {
  using Macs = Result<std::map<int, std::string>>;
  const std::string mac = "02:00:00:00:00:0a";
  EXPECT_TRUE(check_reported(Macs({{3, mac}}), 3, mac).ok());
  for (const Macs& now :
       {Macs({{3, std::string(kNoMac)}}), Macs({{4, mac}}), Macs(Error{Errc::kTimeout, "late"})})
    EXPECT_EQ(check_reported(now, 3, mac).error().code, Errc::kIo);
}

}  // namespace
}  // namespace vf_mac_test
}  // namespace sliced::kubelet
