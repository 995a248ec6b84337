#include "reactor/base/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "reactor/base/first_few.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Views = std::vector<std::string_view>;

TEST(Text, SortsNumbersNaturally) {
  for (const auto& [less, more] :
       std::vector<std::pair<std::string, std::string>>{{"worker-2", "worker-10"},
                                                        {"a", "b"},
                                                        {"a", "a1"},
                                                        {"a1", "a01b"},
                                                        {"a01", "a1"},
                                                        {"a9z", "a10"},
                                                        {"n-1.rack-9", "n-1.rack-10"},
                                                        {"", "x"},
                                                        {"99999999999999999998", "99999999999999999999"}}) {
    EXPECT_TRUE(natural_less(less, more)) << less << " " << more;
    EXPECT_FALSE(natural_less(more, less)) << less << " " << more;
    EXPECT_FALSE(natural_less(less, less)) << less;
  }
}

TEST(Text, TrimsSpaces) {
  const struct {
    std::string_view in, out;
  } rows[] = {
      {"", ""}, {" \t\r\n\f\v\0"sv, ""}, {"a", "a"}, {"\na b \0\n"sv, "a b"}, {"\xc2\xa0x", "\xc2\xa0x"}};
  for (const auto& row : rows) EXPECT_EQ(trim(row.in), row.out);
}

TEST(Text, SplitKeepsEmptyPartsAndJoinReversesIt) {
  const struct {
    std::string_view in;
    Views out;
  } rows[] = {{"", {""}}, {"a", {"a"}}, {",", {"", ""}}, {"a,,b,", {"a", "", "b", ""}}};
  for (const auto& row : rows) {
    EXPECT_EQ(split(row.in, ','), row.out) << row.in;
    EXPECT_EQ(join({row.out.begin(), row.out.end()}, ","), row.in);
  }
  EXPECT_EQ(join({}, ","), "");
}

TEST(Text, LowerIsAsciiOnly) { EXPECT_EQ(lower("AzÄ-9"), "azÄ-9"); }

TEST(Text, StartsWithDigit) {
  EXPECT_TRUE(starts_with_digit("9a"));
  EXPECT_FALSE(starts_with_digit("a9"));
  EXPECT_FALSE(starts_with_digit(""));
}

TEST(Text, ChecksUtf8) {
  const struct {
    const char* why;
    std::string_view in;
    bool good;
  } rows[] = {
      {"nothing", "", true},
      {"all lengths", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", true},
      {"NUL", "\0"sv, true},
      {"last code point", "\xf4\x8f\xbf\xbf", true},
      {"past it", "\xf4\x90\x80\x80", false},
      {"overlong 2", "\xc0\x80", false},
      {"overlong 3", "\xe0\x9f\xbf", false},
      {"overlong 4", "\xf0\x8f\xbf\xbf", false},
      {"surrogate", "\xed\xa0\x80", false},
      {"cut", "\xe2\x82", false},
      {"bare continuation", "\x80", false},
      {"lead without continuation", "\xc3(", false},
      {"five bytes", "\xf8\x88\x80\x80\x80", false},
  };
  for (const auto& row : rows) EXPECT_EQ(is_utf8(row.in), row.good) << row.why;
}

TEST(Text, EscapesControlCharacters) {
  const struct {
    const char* why;
    std::string_view in;
    const char* out;
  } rows[] = {
      {"plain", "eth0", "eth0"},
      {"UTF-8 stays", "stra\xc3\x9f\x65", "stra\xc3\x9f\x65"},
      {"controls", "a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
      {"NUL", "a\0b"sv, "a\\x00b"},
      {"quote and backslash", "\"\\", "\\x22\\x5c"},
      {"C1 control", "\xc2\x9b", "\\xc2\\x9b"},
      {"invalid", "\xff", "\\xff"},
      {"from right to left", "a\xe2\x80\xae\x62", "a\\xe2\\x80\\xae\x62"},
      {"nothing to be seen", "\xe2\x80\x8b\xef\xbb\xbf", "\\xe2\\x80\\x8b\\xef\\xbb\\xbf"},
      {"a dash and a hyphen stay", "\xe2\x80\x93\xe2\x80\x90", "\xe2\x80\x93\xe2\x80\x90"},
  };
  for (const auto& row : rows) EXPECT_EQ(escaped(row.in), row.out) << row.why;
  EXPECT_EQ(escaped("abcdef", 3), "abc...");
  EXPECT_EQ(escaped("abc", 3), "abc");
  EXPECT_EQ(in_quotes("a\n"), "\"a\\x0a\"");
}

// Red when a control byte gets through, or a sentence with quotes or escapes in it is escaped once more.
TEST(Text, PrintableEscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f\xc2\x9b\xff\0"sv), "a\\x0ab\\x1b[2J\\x7f\\xc2\\x9b\\xff\\x00");
  EXPECT_EQ(printable("is " + in_quotes("\x1b\"")), "is \"\\x1b\\x22\"");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable_lines("a\n\r\tb\x1b\n", 99), "a\n\\x0d\\x09b\\x1b\n");
  EXPECT_EQ(printable_lines("a\nb\nc", 3), "a\nb...");
}

TEST(Text, StableHashNeverChanges) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8ull);
}

TEST(Text, WritesHex) {
  EXPECT_EQ(hex(0x1a, 4), "001a");
  EXPECT_EQ(hex(0x12345, 2), "45");
  EXPECT_EQ(hex(0, 0), "");
}

TEST(Text, ParsesIntegers) {
  const struct {
    std::string_view in;
    std::optional<int64_t> out;
  } rows[] = {
      {"0", 0},
      {"-1", -1},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"9223372036854775808", std::nullopt},
      {"", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"+1", std::nullopt},
      {"0x1", std::nullopt},
      {"1e3", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_int(row.in), row.out) << row.in;
}

TEST(Text, ParsesHex) {
  const struct {
    std::string_view in;
    std::optional<uint64_t> out;
  } rows[] = {
      {"15b3", 0x15b3},
      {"FFFFFFFFFFFFFFFF", std::numeric_limits<uint64_t>::max()},
      {"10000000000000000", std::nullopt},
      {"0x15b3", std::nullopt},
      {"", std::nullopt},
      {"-1", std::nullopt},
      {"g", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_hex(row.in), row.out) << row.in;
}

TEST(Text, FindsTheNearestWord) {
  const Views fields = {"vendors", "devices", "pfNames", "rootDevices"};
  const struct {
    std::string_view word;
    const char* found;
  } rows[] = {
      {"vendor", "vendors"}, {"pfnames", "pfNames"}, {"rootDevice", "rootDevices"}, {"zebra", ""}, {"", ""}};
  for (const auto& row : rows) EXPECT_EQ(nearest(row.word, fields), row.found) << row.word;
  EXPECT_EQ(nearest("x", {}), "");
  const std::string large(1'400'000, 'v');
  EXPECT_EQ(nearest(large, {"vendors", large}), "") << "comparing costs the product of the lengths";
}

TEST(Text, CutsAtWholeCharacters) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "...");
  EXPECT_EQ(cut("abcdef", 5), "ab...");
  EXPECT_EQ(cut("a\u00e4\u20acbcd", 8), "a\u00e4...");
  for (size_t size_max = 3; size_max < 9; ++size_max) {
    const std::string got = cut("\u20ac\u00e4\u20ac\u00e4", size_max);
    EXPECT_TRUE(is_utf8(got) && got.size() <= size_max) << size_max;
  }
}

TEST(FirstFew, KeepsTwentyShortTextsAndCountsTheRest) {
  FirstFew<std::string> few;
  size_t made = 0;
  for (int i = 0; i < 130'000; ++i) few.add([&] { return ++made, std::string(100'000, 'x'); });
  EXPECT_EQ(few.kept(), 20u);
  EXPECT_EQ(few.size(), 130'000u);
  EXPECT_EQ(made, 20u) << "what is not kept is not made";
  for (const std::string& one : few) EXPECT_EQ(one.size(), kMessageBytesMax);
  EXPECT_EQ(and_more(few.more()), "and 129980 more problems");
  EXPECT_EQ(and_more(1, "object"), "and 1 more object");
  EXPECT_EQ(and_more(0), "");
}

TEST(RateLimitedLog, LogsNewMessagesUpToALimit) {
  RateLimitedLog said(2);
  EXPECT_TRUE(said.note("a"));
  EXPECT_TRUE(said.note("b"));
  EXPECT_FALSE(said.note("c"));
  EXPECT_EQ(said.end_round(), 1u);
  EXPECT_FALSE(said.note("a")) << "it lasts";
  EXPECT_FALSE(said.note("c")) << "it was counted";
  EXPECT_TRUE(said.note("d"));
  EXPECT_EQ(said.end_round(), 0u);
  EXPECT_TRUE(said.note("b")) << "it was mended, and is so again";
}

}  // namespace
}  // namespace sliced
