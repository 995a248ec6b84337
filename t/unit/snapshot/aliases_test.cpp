#include "snapshot/aliases.h"

#include <gtest/gtest.h>

namespace sliced::snapshot {
namespace aliases_test {
namespace {

TEST(Aliases, AnAddressHasTheSameOneEverywhereAndKeepsItsVendor) {
  Aliases aliases;
  EXPECT_EQ(aliases.replaced("mac 00:00:5e:00:53:01, and 00:00:5e:00:53:02"),
            "mac 00:00:5e:00:00:01, and 00:00:5e:00:00:02");
  EXPECT_EQ(aliases.replaced(R"(device.attributes["dra.networking"].mac == "00:00:5e:00:53:02")"),
            R"(device.attributes["dra.networking"].mac == "00:00:5e:00:00:02")");
  EXPECT_EQ(aliases.replaced("00:00:5E:00:53:02"), "00:00:5E:00:00:02");
  EXPECT_EQ(aliases.replaced("AA:BB:CC:00:00:09"), "AA:BB:CC:00:00:03");
}

TEST(Aliases, OfInfiniBandTheDevicesOwnBytesAreReplaced) {
  Aliases aliases;
  EXPECT_EQ(aliases.replaced("80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:f2:a4:88"),
            "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:00:00:00:00:01");
  EXPECT_EQ(aliases.replaced("e4:1d:2d:03:00:f2:a4:88"), "e4:1d:2d:00:00:00:00:02");
}

TEST(Aliases, WhatIsNoDevicesAddressStays) {
  Aliases aliases;
  for (const char* text : {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "0000:3b:00.0",
                           "fe80:12:34:56:78:9a:bc:de", "12:30:45", "sha 00:11:22:33:44:5566"})
    EXPECT_EQ(aliases.replaced(text), text);
}

TEST(Aliases, WordsStandAlone) {
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

TEST(Aliases, DigitsAreReplacedByAsMany) {
  Aliases aliases;
  aliases.add_digits("f86d3e0003a1b2c3");
  aliases.add_digits("00000000");  // nobody's
  aliases.add_digits("none");
  EXPECT_EQ(aliases.replaced("switch f86d3e0003a1b2c3 and 00000000 none"),
            "switch 0000000000000001 and 00000000 none");
}

}  // namespace
}  // namespace aliases_test
}  // namespace sliced::snapshot
