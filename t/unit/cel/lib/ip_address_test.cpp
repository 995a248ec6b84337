#include "cel/lib/ip_address.h"

#include <gtest/gtest.h>

#include "cel/lib/cidr.h"

namespace sliced::cel {
namespace {

IpAddress ip(std::string_view text) {
  const auto address = decode_ip(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress());
}
Cidr cidr(std::string_view text) {
  const auto network = decode_cidr(text);
  EXPECT_TRUE(network) << text;
  return network.value_or(Cidr());
}

// The C library's own printer writes "::1.2.3.4", and its reader stops at a NUL.
TEST(CelIp, RecognizesCanonicalTexts) {
  for (const auto& [text, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
           {"192.168.0.1", "192.168.0.1"},
           {"0.0.0.0", "0.0.0.0"},
           {"2001:0DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
           {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
           {"0:0:0:0:0:0:0:0", "::"},
           {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
           {"::1.2.3.4", "::102:304"},
           {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
           {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
           {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
           {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
           {"::ffff", "::ffff"},
           {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
           {"0001::", "1::"}}) {
    EXPECT_EQ(encode_ip(ip(text)), canonical) << text;
    EXPECT_EQ(ip(canonical), ip(text)) << text;
  }
  EXPECT_NE(ip("0.0.0.0"), ip("::"));
  EXPECT_EQ(ip("::").family, 6);
}

TEST(CelIp, RefusesEverythingElse) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "192.168.0.01"sv,
                                      "192.168.0.256"sv,
                                      "192.168.0"sv,
                                      "192.168.0.1.0"sv,
                                      "192.168.0.1 "sv,
                                      "::1%eth0"sv,
                                      "::ffff:1.2.3.4"sv,
                                      "::ffff:c0a8:1"sv,
                                      "1:2:3:4:5:6:7:8:9"sv,
                                      "1:2:3:4:5:6:7"sv,
                                      "1:2:3:4::5:6:7:8"sv,
                                      ":"sv,
                                      ":::"sv,
                                      "1::2::3"sv,
                                      "12345::"sv,
                                      "00001::"sv,
                                      "1:2:3:4:5:6:7:1.2.3.4"sv,
                                      "::1.2.3"sv,
                                      "::01.2.3.4"sv,
                                      "1.2.3.4::"sv,
                                      "1:"sv,
                                      ":1"sv,
                                      "0x1.2.3.4"sv,
                                      "1..2.3"sv,
                                      "::g"sv,
                                      "1.2.3.4:5"sv,
                                      "1.2.3.4\0"sv,
                                      "::\0"sv})
    EXPECT_EQ(decode_ip(text).error().code, Errc::kInvalid) << text;
  EXPECT_FALSE(decode_ip(std::string(10000, ':')));
  EXPECT_TRUE(is_ipv6("::ffff:1.2.3.4"));
  EXPECT_FALSE(is_ipv6("1.2.3.4"));
  EXPECT_FALSE(is_ipv6("::1%eth0"));
}

TEST(CelIp, Classes) {
  using Is = bool (IpAddress::*)() const;
  const struct {
    Is is;
    std::initializer_list<const char*> yes, no;
  } rows[] = {
      {&IpAddress::is_unspecified, {"0.0.0.0", "::"}, {"127.0.0.1", "::1"}},
      {&IpAddress::is_loopback, {"127.0.0.1", "127.255.0.1", "::1"}, {"1.2.3.4", "::", "::1.0.0.1", "::2"}},
      {&IpAddress::is_link_local_multicast,
       {"224.0.0.1", "224.0.0.255", "ff02::1", "ff12::1"},
       {"224.0.1.1", "ff05::2", "fd00::1"}},
      {&IpAddress::is_link_local_unicast,
       {"169.254.169.254", "fe80::1", "febf::1"},
       {"192.168.0.1", "169.253.0.1", "fd80::1", "fec0::1"}},
      {&IpAddress::is_global_unicast,
       {"192.168.0.1", "240.0.0.1", "2001:db8::abcd", "fd00::1"},
       {"255.255.255.255", "224.0.0.1", "169.254.0.1", "0.0.0.0", "127.0.0.1", "ff05::1", "::1",
        "::", "fe80::1"}},
  };
  for (const auto& row : rows) {
    for (const char* text : row.yes) EXPECT_TRUE((ip(text).*row.is)()) << text;
    for (const char* text : row.no) EXPECT_FALSE((ip(text).*row.is)()) << text;
  }
}

TEST(CelCidr, TextsAreKeptAndStrict) {
  for (const char* text : {"10.1.2.3/8", "10.0.0.0/0", "::/128", "2001:db8::/32", "192.168.0.0/24"})
    EXPECT_EQ(encode_cidr(cidr(text)), text);
  for (const char* text : {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/33", "10.0.0.0/+8",
                           "10.0.0.0/-1", "10.0.0.0/-0", "10.0.0.0/8/8", "::/129", "::ffff:1.2.3.4/120",
                           "fe80::1%en0/24", "010.0.0.0/8", "10.0.0.0/99999999999999999999"})
    EXPECT_EQ(decode_cidr(text).error().code, Errc::kInvalid) << text;
  EXPECT_NE(cidr("10.1.2.3/8"), cidr("10.0.0.0/8"));
  EXPECT_EQ(cidr("10.1.2.3/8").masked(), cidr("10.0.0.0/8"));
  EXPECT_EQ(cidr("2001:DB8::1/33").masked(), cidr("2001:db8::/33"));
}

// Whole octets alone would be wrong for /9, /33 and /65.
TEST(CelCidr, Contains) {
  EXPECT_TRUE(cidr("192.168.0.0/24").contains(ip("192.168.0.1")));
  EXPECT_FALSE(cidr("192.168.0.0/24").contains(ip("192.168.1.1")));
  EXPECT_TRUE(cidr("10.1.2.3/9").contains(ip("10.127.0.1")));
  EXPECT_FALSE(cidr("10.1.2.3/9").contains(ip("10.128.0.1")));
  EXPECT_TRUE(cidr("2001:db8::/65").contains(ip("2001:db8:0:0:7fff::1")));
  EXPECT_FALSE(cidr("2001:db8::/65").contains(ip("2001:db8:0:0:8fff::1")));
  EXPECT_TRUE(cidr("0.0.0.0/0").contains(ip("1.2.3.4")));
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(ip("::")));
  EXPECT_FALSE(cidr("192.168.1.1/32").contains(ip("2001:db8::1")));
  EXPECT_TRUE(cidr("192.168.0.0/24").contains(cidr("192.168.0.0/25")));
  EXPECT_FALSE(cidr("192.168.0.0/24").contains(cidr("192.168.0.0/23")));
  EXPECT_TRUE(cidr("10.0.0.0/8").contains(cidr("10.200.0.1/8")));
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(cidr("::/0")));
}

}  // namespace
}  // namespace sliced::cel
