#include "reactor/base/ip_address.h"

#include <gtest/gtest.h>

#include <string>

namespace sliced {
namespace {

IpAddress ip(std::string_view text) { return IpAddress::decode(text).value(); }
IpPrefix prefix(std::string_view text) { return IpPrefix::decode(text).value(); }

TEST(IpAddressTest, RoundTripsCanonicalTexts) {
  for (const auto& [given, wanted] : {std::pair("192.0.2.5", "192.0.2.5"),
                                      {"2001:DB8:0::0005", "2001:db8::5"},
                                      {"::", "::"},
                                      {"::ffff:10.0.0.1", "::ffff:10.0.0.1"}}) {
    EXPECT_EQ(ip(given).text(), wanted);
    EXPECT_EQ(IpAddress::of_bytes(ip(given).bytes()), ip(given));
  }
  for (const std::string_view wrong :
       {"", "192.0.2", "192.0.2.05", "192.0.2.5/24", " 192.0.2.5", "fe80::1%eth0", "1.2.3.256", "::g",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd"})
    EXPECT_FALSE(IpAddress::decode(wrong)) << wrong;
  EXPECT_FALSE(IpAddress::decode(std::string_view("::1\0x", 5)));
  EXPECT_FALSE(IpAddress::of_bytes("12345"));
  EXPECT_EQ(ip("192.0.2.5").bytes().size(), 4u);
  EXPECT_EQ(ip("::5").bytes().size(), 16u);
}

TEST(IpAddressTest, KindsOfAddresses) {
  EXPECT_TRUE(ip("0.0.0.0").is_unspecified() && ip("::").is_unspecified());
  EXPECT_FALSE(ip("0.0.0.1").is_unspecified() || ip("::1").is_unspecified());
  EXPECT_TRUE(ip("127.9.0.1").is_loopback() && ip("::1").is_loopback());
  EXPECT_FALSE(ip("128.0.0.1").is_loopback() || ip("::2").is_loopback());
  EXPECT_TRUE(ip("224.0.0.1").is_multicast() && ip("239.1.1.1").is_multicast() &&
              ip("ff02::1").is_multicast());
  EXPECT_FALSE(ip("240.0.0.1").is_multicast() || ip("fe80::1").is_multicast());
  EXPECT_TRUE(ip("fe80::1").is_link_local_ipv6() && ip("febf::1").is_link_local_ipv6());
  EXPECT_FALSE(ip("fec0::1").is_link_local_ipv6() || ip("169.254.0.1").is_link_local_ipv6());
  EXPECT_TRUE(ip("::ffff:10.0.0.1").is_ipv4_mapped());
  EXPECT_NE(ip("::ffff:10.0.0.1"), ip("10.0.0.1"));
  EXPECT_EQ(ip("::ffff:10.0.0.1").unmapped(), ip("10.0.0.1"));
  EXPECT_EQ(ip("::1").unmapped(), ip("::1"));
}

TEST(IpAddressTest, StepsAndOrder) {
  EXPECT_EQ(ip("10.0.0.255").next(), ip("10.0.1.0"));
  EXPECT_EQ(ip("10.0.1.0").previous(), ip("10.0.0.255"));
  EXPECT_EQ(ip("2001:db8::ffff").next(), ip("2001:db8::1:0"));
  EXPECT_EQ(ip("255.255.255.255").next(), ip("::1:0:0:0")) << "never an address of IPv4 before it";
  EXPECT_LT(ip("9.0.0.0"), ip("10.0.0.0"));
  EXPECT_LT(ip("255.255.255.255"), ip("255.255.255.255").next());
}

TEST(IpPrefixTest, ContainsItsAddresses) {
  EXPECT_EQ(prefix("192.0.2.5/24").first(), ip("192.0.2.0"));
  EXPECT_EQ(prefix("192.0.2.5/24").last(), ip("192.0.2.255"));
  EXPECT_EQ(prefix("2001:DB8::5/33").text(), "2001:db8::5/33");
  EXPECT_EQ(prefix("2001:db8:ffff::/33").first(), ip("2001:db8:8000::"));
  EXPECT_TRUE(prefix("192.0.2.0/25").is_network() && prefix("::/0").is_network());
  EXPECT_FALSE(prefix("192.0.2.1/31").is_network());
  EXPECT_TRUE(prefix("192.0.2.5/25").contains(ip("192.0.2.127")));
  EXPECT_FALSE(prefix("192.0.2.5/25").contains(ip("192.0.2.128")));
  EXPECT_TRUE(prefix("192.0.2.5/32").contains(ip("192.0.2.5")));
  EXPECT_TRUE(prefix("0.0.0.0/0").contains(ip("255.255.255.255")));
  EXPECT_FALSE(prefix("::/0").contains(ip("10.0.0.1"))) << "of the other family";
  EXPECT_FALSE(prefix("0.0.0.0/0").contains(ip("::1")));
  for (const char* wrong : {"192.0.2.5", "192.0.2.5/", "192.0.2.5/33", "192.0.2.5/+4", "192.0.2.5/024",
                            "192.0.2.5/-1", "192.0.2.5/24/", "::/129", "::/1000", "/24", "192.0.2.5/ 24"})
    EXPECT_FALSE(IpPrefix::decode(wrong)) << wrong;
}

}  // namespace
}  // namespace sliced
