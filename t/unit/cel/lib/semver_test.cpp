#include "cel/lib/semver.h"

#include <gtest/gtest.h>

#include <vector>

namespace sliced::cel {
namespace {

// A parser that is lenient anywhere accepts one of the second list; one that forgets a form refuses one of
// the first.
TEST(CelSemver, RefusesTextsOutsideTheGrammar) {
  const auto full = decode_semver("1.22.333-alpha.1.0a.-+build.005--");
  ASSERT_TRUE(full);
  EXPECT_EQ(*full, (Semver{1, 22, 333, "alpha.1.0a.-"}));
  for (const char* text : {"0.0.0", "1.2.3-a+b-c", "1.2.3+01.a-b", "18446744073709551615.0.0", "1.2.3--"})
    EXPECT_TRUE(decode_semver(text)) << text;
  for (const char* text : {"",
                           "1",
                           "1.2",
                           "1.2.3.4",
                           "v1.2.3",
                           "01.2.3",
                           "1.02.3",
                           "1.2.03",
                           "1.2.3-",
                           "1.2.3+",
                           "1.2.3-01",
                           "1.2.3-a..b",
                           "1.2.3-é",
                           "1.2.3+a..b",
                           "1.2.3+a+b",
                           "1.2.3 ",
                           " 1.2.3",
                           "+1.2.3",
                           "1.-2.3",
                           "1..3",
                           "1.2.x",
                           "1.2-a",
                           "1.2.3-a_b",
                           "1.2.3-a.01",
                           "18446744073709551616.0.0",
                           "1.2.3-18446744073709551616"})
    EXPECT_FALSE(decode_semver(text)) << text;
  EXPECT_EQ(decode_semver("x\n").error().what, "not a semantic version: \"x\\x0a\"");
}

TEST(CelSemver, AcceptsCommonVariantsWhenLoose) {
  const struct {
    const char* text;
    Semver version;
  } rows[] = {
      {"v1", {1, 0, 0, ""}},
      {"v1.2", {1, 2, 0, ""}},
      {"1.02.003", {1, 2, 3, ""}},
      {"000.0.0", {0, 0, 0, ""}},
      {"01.02.03-a", {1, 2, 3, "a"}},
      {"01.02.03+04", {1, 2, 3, ""}},
      {"1.2.00-alpha", {1, 2, 0, "alpha"}},
      {"1.2.-alpha", {1, 2, 0, "alpha"}},
      {"1.2.+b", {1, 2, 0, ""}},
  };
  for (const auto& row : rows) {
    const auto version = decode_loose_semver(row.text);
    ASSERT_TRUE(version) << row.text;
    EXPECT_EQ(*version, row.version) << row.text;
  }
  for (const char* text : {"", "v", "vv1", "V1", " v1", "1.2-alpha", "1-alpha", "1.2+b", "1.2.", "1..3",
                           "1.2.3.4", "1.2.3-04", "1-alpha.2.3"})
    EXPECT_FALSE(decode_loose_semver(text)) << text;
}

// The order of the specification's own example; comparing identifiers as text puts beta.11 before beta.2.
TEST(CelSemver, OrdersByPrecedence) {
  const std::vector<const char*> ascending = {
      "1.0.0-0",      "1.0.0-1.a",     "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",  "1.0.0",         "1.0.1-a",          "1.0.10",
      "1.2.0",        "1.10.0",        "2.0.0-a",     "10.0.0"};
  for (size_t i = 0; i < ascending.size(); ++i)
    for (size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(*decode_semver(ascending[i]) <=> *decode_semver(ascending[j]), i <=> j)
          << ascending[i] << " and " << ascending[j];
  EXPECT_EQ(*decode_semver("1.2.3+a"), *decode_semver("1.2.3+b"));
}

}  // namespace
}  // namespace sliced::cel
