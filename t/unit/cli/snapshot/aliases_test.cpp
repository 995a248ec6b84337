#include "cli/snapshot/aliases.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "reactor/base/text.h"
#include "t/fixture/growth.h"

namespace sliced::snapshot {
namespace aliases_test {
namespace {

TEST(Aliases, GivesAnAddressOneAliasAndKeepsItsVendor) {
  Aliases aliases;
  EXPECT_EQ(aliases.replaced("mac 00:00:5e:00:53:01, and 00:00:5e:00:53:02"),
            "mac 00:00:5e:11:11:11, and 00:00:5e:11:11:12");
  EXPECT_EQ(aliases.replaced(R"(device.attributes["dra.networking"].mac == "00:00:5e:00:53:02")"),
            R"(device.attributes["dra.networking"].mac == "00:00:5e:11:11:12")");
  EXPECT_EQ(aliases.replaced("00:00:5E:00:53:02"), "00:00:5E:11:11:12");
  EXPECT_EQ(aliases.replaced("AA:BB:CC:00:00:09"), "AA:BB:CC:11:11:11");
}

TEST(Aliases, ReplacesTheDeviceBytesOfInfiniBandAddresses) {
  Aliases aliases;
  EXPECT_EQ(aliases.replaced("80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:f2:a4:88"),
            "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:11:11:11:11:11");
  EXPECT_EQ(aliases.replaced("e4:1d:2d:03:00:f2:a4:88"), "e4:1d:2d:11:11:11:11:11");  // its GUID
}

TEST(Aliases, KeepsOtherAddresses) {
  Aliases aliases;
  for (const char* text : {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "0000:3b:00.0", "12:30:45", "fe80::1",
                           "sha 00:11:22:33:44:5566"})
    EXPECT_EQ(aliases.replaced(text), text);
}

TEST(Aliases, ReplacesWholeWordsOnly) {
  Aliases aliases;
  aliases.add_word("worker-1", "node-1");
  aliases.add_word("worker-1.example.com", "node-1");
  aliases.add_word("", "nobody");
  aliases.add_word("7", "a number");  // might be one
  EXPECT_EQ(aliases.replaced(R"({"name":"worker-1","host":"worker-1.example.com","n":7})"),
            R"({"name":"node-1","host":"node-1","n":7})");
  EXPECT_EQ(aliases.replaced("worker-10 xworker-1 00000-driver-worker-1-90ab"),
            "worker-10 xworker-1 00000-driver-node-1-90ab");
}

TEST(Aliases, NamesWithACommonPrefixGetAliasesWithACommonPrefix) {
  Aliases aliases;
  const std::string one = aliases.replaced("00:00:5e:00:53:01"),
                    other = aliases.replaced("00:00:5e:00:53:f2"),
                    third = aliases.replaced("00:00:5e:99:53:01");
  EXPECT_EQ(one.substr(0, 14), other.substr(0, 14));
  EXPECT_NE(one.substr(0, 11), third.substr(0, 11));
  EXPECT_EQ(aliases.replaced(R"(mac.startsWith("00:00:5e:00:53"))"),
            "mac.startsWith(\"" + one.substr(0, 14) + "\")");
  EXPECT_EQ(aliases.replaced("'00:00:5e:00:53:'"), "'" + one.substr(0, 14) + ":'");
  EXPECT_EQ(aliases.replaced("'00:00:5e:00:53:f'"), "'" + other.substr(0, 16) + "'");
}

// Seventeen that differ in one digit cannot be: each has its own.
TEST(Aliases, AreUnique) {
  Aliases aliases;
  std::set<std::string> seen;
  for (int i = 0; i < 4096; ++i)
    seen.insert(aliases.replaced("00:00:5e:0" + hex(static_cast<uint64_t>(i % 16), 1) +
                                 ":53:" + hex(static_cast<uint64_t>(i / 16), 2)));
  EXPECT_EQ(seen.size(), 4096u);
}

TEST(Aliases, ReplacesAKnownAddressInEverySpelling) {
  Aliases aliases;
  aliases.note("00:00:5e:00:53:a1");
  aliases.note("e4:1d:2d:03:00:f2:a4:88");
  const std::pair<const char*, const char*> cases[] = {
      {"00-00-5E-00-53-A1", "00-00-5E-11-11-11"},
      {"0000.5e00.53a1", "0000.5e11.1111"},
      {"enx00005e0053a1", "enx00005e111111"},
      {"00005e0053a1", "00005e111111"},
      {"e41d:2d03:00f2:a488", "e41d:2d11:1111:1111"},
      {"mac:00:00:5e:00:53:a1", "mac:00:00:5e:11:11:11"},
      {R"(r"\b00:00:5e:00:53:a1\b")", R"(r"\b00:00:5e:11:11:11\b")"},
      {R"(first\n00:00:5e:00:53:a1)", R"(first\n00:00:5e:11:11:11)"}};
  for (const auto& [text, wanted] : cases) EXPECT_EQ(aliases.replaced(text), wanted) << text;
}

TEST(Aliases, KeepsShortWordsInKernelAndFieldNames) {
  Aliases aliases;
  for (const char* word : {"net", "WORKER1", "worker-1", "ac1f6b123456", "10"})
    aliases.add_word(word, "node-1");
  EXPECT_EQ(aliases.replaced("sys/class/net/eth0/10", Place::kNames), "sys/class/net/eth0/10");
  EXPECT_EQ(aliases.replaced("10", Place::kNames), "10");
  EXPECT_EQ(aliases.replaced("br-worker-1 ac1f6b123456", Place::kNames), "br-node-1 node-1");
  EXPECT_EQ(aliases.replaced("on net, Worker1, WORKER-1", Place::kText), "on node-1, node-1, node-1");
  EXPECT_EQ(aliases.replaced("10", Place::kText), "node-1");
  EXPECT_EQ(aliases.replaced("0000:10:00.0", Place::kText), "0000:10:00.0");
}

// Red when each word is compared with each place of a text: a policy names thousands of nodes, and a host has megabytes.
TEST(Aliases, ManyWordsTakeAboutAsLongAsOne) {
  const auto replace = [](size_t words) {
    auto aliases = std::make_shared<Aliases>();
    for (size_t i = 0; i < words; ++i)
      aliases->add_word("worker-" + std::to_string(i), "node-" + std::to_string(i + 2));
    std::string text, wanted;
    for (size_t i = 0; i < 20 * words; ++i) {
      text += "worker-" + std::to_string(i % words) + " ens1f0 ";
      wanted += "node-" + std::to_string(i % words + 2) + " ens1f0 ";
    }
    return [=] { EXPECT_EQ(aliases->replaced(text), wanted); };
  };
  EXPECT_LT(fixture::growth(500, replace), fixture::kGrowthMax);
}

TEST(Aliases, ReplacesDigitsByAsManyDigits) {
  Aliases aliases;
  aliases.add_digits("f86d3e0003a1b2c3");
  aliases.add_digits("00000000");  // of no device
  aliases.add_digits("none");
  EXPECT_EQ(aliases.replaced("switch f86d3e0003a1b2c3 and 00000000 none"),
            "switch 0000000000000001 and 00000000 none");
}

}  // namespace
}  // namespace aliases_test
}  // namespace sliced::snapshot
