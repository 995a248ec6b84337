#include "hotplug/uevent_decode.h"

#include <gtest/gtest.h>

namespace sliced::hotplug {
namespace {

std::string text(std::initializer_list<const char*> parts) {
  std::string bytes;
  for (const char* part : parts) bytes += std::string(part) + '\0';
  return bytes;
}

TEST(DecodeUevent, DecodesTheKernelsFormat) {
  const auto event = decode_uevent(text({"add@/devices/pci0000:00/0000:3b:00.0/net/eth0", "ACTION=add",
                                         "DEVPATH=/devices/pci0000:00/0000:3b:00.0/net/eth0", "SUBSYSTEM=net",
                                         "INTERFACE=eth0", "IFINDEX=7", "SEQNUM=4711"}));
  ASSERT_TRUE(event) << event.error().what;
  EXPECT_EQ(event->action, "add");
  EXPECT_EQ(event->devpath, "/devices/pci0000:00/0000:3b:00.0/net/eth0");
  EXPECT_EQ(event->subsystem, "net");
  EXPECT_EQ(event->properties.at("INTERFACE"), "eth0");
  EXPECT_EQ(event->properties.size(), 6u);
}

TEST(DecodeUevent, NeedsOnlyTheHeaderForActionAndPath) {
  const auto event = decode_uevent(text({"remove@/devices/x", "SUBSYSTEM=pci", "EMPTY=", "EQUALS=a=b"}));
  ASSERT_TRUE(event) << event.error().what;
  EXPECT_EQ(event->action, "remove");
  EXPECT_EQ(event->devpath, "/devices/x");
  EXPECT_EQ(event->properties.at("EMPTY"), "");
  EXPECT_EQ(event->properties.at("EQUALS"), "a=b");
}

TEST(DecodeUevent, AcceptsALastPropertyWithoutNul) {
  EXPECT_EQ(decode_uevent(text({"add@/devices/x"}) + "SUBSYSTEM=pci")->subsystem, "pci");
}

TEST(DecodeUevent, RefusesOtherDatagrams) {
  const struct {
    const char* why;
    std::string bytes;
    Error want;
  } rows[] = {
      {"nothing", "", {Errc::kInvalid, "uevent: header \"\" has no action@path"}},
      {"libudev's own format",
       text({"libudev"}) + "\xfe\xed\xca\xfe",
       {Errc::kInvalid, "uevent: header \"libudev\" has no action@path"}},
      {"an empty action",
       text({"add@/devices/x", "ACTION=", "SUBSYSTEM=pci"}),
       {Errc::kInvalid, "uevent: \"add@/devices/x\" has an empty ACTION"}},
      {"no action",
       text({"@/devices/x", "SUBSYSTEM=pci"}),
       {Errc::kInvalid, "uevent: header \"@/devices/x\" has no action@path"}},
      {"a relative path",
       text({"add@devices/x", "SUBSYSTEM=pci"}),
       {Errc::kInvalid, "uevent: path \"devices/x\" is not absolute"}},
      {"no subsystem",
       text({"add@/devices/x"}),
       {Errc::kInvalid, "uevent: \"add@/devices/x\" names no SUBSYSTEM"}},
      {"not a property",
       text({"add@/devices/x", "SUBSYSTEM"}),
       {Errc::kInvalid, "uevent: property \"SUBSYSTEM\" is not KEY=value"}},
      {"a nameless one",
       text({"add@/devices/x", "=x"}),
       {Errc::kInvalid, "uevent: property \"=x\" is not KEY=value"}},
      {"too long",
       std::string(kUeventSizeMax + 1, 'x'),
       {Errc::kTooLarge, "uevent: 16385 bytes, the bound is 16384"}},
  };
  for (const auto& row : rows) {
    const auto event = decode_uevent(row.bytes);
    ASSERT_FALSE(event) << row.why;
    EXPECT_EQ(event.error(), row.want) << row.why;
  }
}

TEST(DecodeUevent, BoundsTheNumberOfProperties) {
  std::string bytes = text({"add@/devices/x", "SUBSYSTEM=pci"});
  for (size_t i = 0; i < kUeventPropertiesMax; ++i) bytes += "K" + std::to_string(i) + "=" + '\0';
  EXPECT_EQ(decode_uevent(bytes).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace sliced::hotplug
