#include "cel/lib/regex.h"

#include <gtest/gtest.h>

#include <string>

namespace sliced::cel {
namespace {

using Texts = std::vector<std::string_view>;

Regex regex(std::string_view pattern) {
  auto compiled = Regex::compile(pattern);
  EXPECT_TRUE(compiled) << pattern;
  return compiled ? *compiled : *Regex::compile("");
}

std::string times_over(std::string_view text, int times) {
  std::string all;
  for (; times > 0; --times) all += text;
  return all;
}

// Anchored matching, or bytes instead of characters, give other answers.
TEST(CelRegex, MatchesAnywhere) {
  EXPECT_TRUE(regex("ubb").matches("hubba"));
  EXPECT_TRUE(regex("").matches("abc"));
  EXPECT_FALSE(regex("^b$").matches("abc"));
  EXPECT_TRUE(regex("^[a-z]+\\.[a-z]+$").matches("foo.bar"));
  EXPECT_FALSE(regex("c$").matches("abc\n"));
  EXPECT_TRUE(regex("^.$").matches("é"));
  EXPECT_TRUE(regex("^\\pL+$").matches("завтра"));
  EXPECT_TRUE(regex("(?i)^ens\\d+f[01]$").matches("ENS1f0"));
  EXPECT_TRUE(regex("\\\\C").matches("a\\C")) << "an escaped backslash is none";
}

TEST(CelRegex, RefusesPatternsOfUnboundedCost) {
  for (const char* pattern :
       {"(", "a{1001}", "(a{100}){100}", "a**b(", "(?=a)", "(a)\\1", "\\C", "x\\\\\\C"}) {
    const auto compiled = Regex::compile(pattern);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_EQ(compiled.error().code, Errc::kInvalid) << pattern << ": " << compiled.error().what;
  }
  EXPECT_TRUE(Regex::compile(times_over("é", 512)));
  EXPECT_EQ(Regex::compile(times_over("é", 513)).error().code, Errc::kTooLarge);
  EXPECT_EQ(Regex::compile(times_over("\\pL", 170)).error().code, Errc::kTooLarge) << "megabytes of states";
  EXPECT_EQ(Regex::compile(std::string(5000, 'a')).error().what,
            "regular expression: a pattern longer than 512 characters");
}

// A matcher that backtracks does not come back from this.
TEST(CelRegex, TimeIsLinear) {
  EXPECT_FALSE(regex("^(a+)+$").matches(std::string(100'000, 'a') + "b"));
  EXPECT_FALSE(regex("(x+x+)+y").matches(std::string(100'000, 'x')));
}

// What a pattern takes is read off its text, before RE2 is asked. Red when some pattern is larger than that.
TEST(CelRegex, BoundsHold) {
  const std::vector<std::string> atoms = {"a",           "[a-z]",
                                          "[^a]",        ".",
                                          "\\d",         "\\W",
                                          "\\S",         "\\pL",
                                          "\\PN",        "[\\pL\\pN_]",
                                          "é",           "[à-ü一]",
                                          "\\x{10ffff}", "[\\x{80}-\\x{10ffff}]",
                                          "\\Q[({\\E",   "\\b",
                                          "[[:alpha:]]", "[]a]",
                                          "[^]a]",       "\\.",
                                          "k",           "ſ",
                                          "\\pC",        "|"};
  const std::vector<std::string> after = {"",      "",       "*",    "+",  "?",    "{3}",
                                          "{2,9}", "{0,30}", "{7,}", "*?", "{100}"};
  const std::vector<std::string> flags = {"", "(?i)", "(?s)", "^", "(?is)"};
  uint64_t seed = 7;
  const auto one_of = [&](const std::vector<std::string>& from) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return from[(seed >> 33) % from.size()];
  };
  int compiled = 0;
  for (int i = 0; i < 600; ++i) {
    std::string pattern = one_of(flags);
    for (int part = 0; part < 1 + i % 4; ++part)
      pattern += part % 2 == 0 ? one_of(atoms) + one_of(after)
                               : "(" + one_of(atoms) + one_of(after) + one_of(atoms) + ")" + one_of(after);
    const auto regex = Regex::compile(pattern);
    if (!regex) continue;
    ++compiled;
    EXPECT_LE(regex->program_size(), bound_of(pattern).instructions) << pattern;
  }
  EXPECT_GT(compiled, 300);
}

// Go's rule for empty matches, at whole characters: not directly behind another match.
TEST(CelRegex, Finds) {
  EXPECT_EQ(regex("b.").find("abcabc"), "bc");
  EXPECT_EQ(regex("x").find("abc"), "");
  const struct {
    const char* pattern;
    const char* text;
    int64_t limit;
    Texts found;
  } rows[] = {
      {"ab.", "abc abd abe", -1, {"abc", "abd", "abe"}},
      {"ab.", "abc abd abe", 2, {"abc", "abd"}},
      {"ab.", "abc", 0, {}},
      {"x", "abc", -1, {}},
      {"", "äbc", -1, {"", "", "", ""}},
      {"a*", "aab", -1, {"aa", ""}},
      {"a*", "baaac", -1, {"", "aaa", ""}},
      {"a*", "baaac", 2, {"", "aaa"}},
      {"a*?", "baaac", -1, {"", "", "", "", "", ""}},
      {"^a", "aaa", -1, {"a"}},
      {"\\b", "ab c", -1, {"", "", "", ""}},
      {"", "", -1, {""}},
  };
  for (const auto& row : rows)
    EXPECT_EQ(regex(row.pattern).find_all(row.text, row.limit).value_or({}), row.found) << row.pattern;
  EXPECT_EQ(regex("a").find_all("aaaa", -1, 4)->size(), 4u);
  EXPECT_EQ(regex("a").find_all("aaaa", -1, 3).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace sliced::cel
