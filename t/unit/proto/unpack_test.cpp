#include "proto/unpack.h"

#include <gtest/gtest.h>

#include "t/unit/proto/example.pb-c.h"

namespace sliced::proto {
namespace {

using Outer = Sliced__Example__Outer;
using Inner = Sliced__Example__Inner;

Result<Unpacked<Outer>> decode(std::string_view bytes, size_t bytes_max = 4096) {
  return unpack<Outer>(sliced__example__outer__descriptor, bytes, bytes_max);
}

TEST(Unpack, WhatWasPackedComesBack) {
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

TEST(Unpack, RefusesWhatIsNoMessage) {
  for (const std::string_view bytes : {"\x0a\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0b"}) {
    const auto outcome = decode(bytes);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Errc::kInvalid);
  }
}

// Two bytes on the wire are an empty message in memory.
TEST(Unpack, MemoryIsBoundedWhateverTheWireSays) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += std::string_view("\x1a\x00", 2);
  EXPECT_FALSE(decode(many, 1 << 20).ok());
  EXPECT_TRUE(decode(many, 64 << 20).ok());
  std::string unknown;
  for (int i = 0; i < 100'000; ++i) unknown += std::string_view("\x7a\x00", 2);
  EXPECT_FALSE(decode(unknown, 1 << 20).ok());
}

// Whichever allocation is the first that is refused, nothing leaks and nothing is used (the sanitizers judge).
TEST(Unpack, AnyAllocationMayBeRefused) {
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
