#include "kubelet/proto/unpack.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/proto/example.pb-c.h"

namespace sliced::proto {
namespace {

using Outer = Sliced__Example__Outer;
using Inner = Sliced__Example__Inner;

Result<Unpacked<Outer>> decode(std::string_view bytes, size_t bytes_max = 4096) {
  return unpack<Outer>(sliced__example__outer__descriptor, bytes, bytes_max);
}

TEST(Unpack, RoundTrips) {
  const std::string name = "a name", raw("\0\xff", 2);
  Inner inner = SLICED__EXAMPLE__INNER__INIT;
  Inner* list[] = {&inner, &inner};
  Outer outer = SLICED__EXAMPLE__OUTER__INIT;
  outer.name = borrowed(name);
  outer.raw = borrowed_bytes(raw);
  outer.n_inner = 2;
  outer.inner = list;
  const auto back = decode(packed(outer));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(text((*back)->name), name);
  EXPECT_EQ(bytes_of((*back)->raw), raw);
  EXPECT_EQ((*back)->n_inner, 2u);
  EXPECT_EQ(text((*back)->inner[0]->text), "");
}

TEST(Unpack, RefusesInvalidMessages) {
  for (const std::string_view bytes : {"\x0a\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0b"}) {
    const auto outcome = decode(bytes);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Errc::kInvalid);
  }
}

// Two bytes on the wire are an empty message in memory.
TEST(Unpack, BoundsMemoryForAnyInput) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += std::string_view("\x1a\x00", 2);
  EXPECT_FALSE(decode(many, 1 << 20).ok());
  EXPECT_TRUE(decode(many, 64 << 20).ok());
}

// Red when what somebody writes into a field that nobody here reads, such as a container's arguments, keeps the message from being
// read: at the top or in a message within it, whatever its wire type is.
TEST(Unpack, UnlistedFieldsUseNoMemory) {
  std::string unknown;
  for (int i = 0; i < 100'000; ++i)
    unknown +=
        std::string_view("\x7a\x00\x78\x01\x79\x01\x02\x03\x04\x05\x06\x07\x08\x7d\x01\x02\x03\x04", 18);
  std::string inner = unknown + "\x0a\x01i";
  std::string within = "\x1a";
  for (size_t length = inner.size(); length > 0; length >>= 7)
    within += static_cast<char>((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
  const auto back = decode(unknown + "\x0a\x01n" + within + inner + unknown);
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(text((*back)->name), "n");
  ASSERT_EQ((*back)->n_inner, 1u);
  EXPECT_EQ(text((*back)->inner[0]->text), "i");
}

// Red when a field that is not read hides that the rest is not a message.
TEST(Unpack, SkipsUnlistedFields) {
  for (const std::string_view bytes :
       {std::string_view("\x7a\x05z", 3), std::string_view("\x79\x01", 2), std::string_view("\x7d\x01", 2),
        std::string_view("\x78\x80", 2), std::string_view("\x7b\x7c", 2), std::string_view("\x02\x00", 2),
        std::string_view("\x1a\x02\x7a\x05", 4)})
    EXPECT_FALSE(decode(bytes).ok()) << bytes.size();
}

// Whichever allocation is the first that is refused, nothing leaks and nothing is used (the sanitizers judge).
TEST(Unpack, SurvivesAnyFailedAllocation) {
  const std::string_view bytes(
      "\x0a\x03"
      "abc"
      "\x12\x02"
      "de"
      "\x1a\x03\x0a\x01x"
      "\x1a\x00"
      "\x7a\x01z",
      19);
  size_t enough = 1;
  while (!decode(bytes, enough).ok()) ASSERT_LT(++enough, 4096u);
  EXPECT_GT(enough, 100u);
}

}  // namespace
}  // namespace sliced::proto
