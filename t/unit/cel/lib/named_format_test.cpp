#include "cel/lib/named_format.h"

#include <gtest/gtest.h>

namespace sliced::cel {
namespace {

std::string many(size_t times) { return std::string(times, 'a'); }

// The number of violated rules is the one that Kubernetes counts, so that size() and hasValue() agree.
TEST(CelNamedFormat, CountsProblemsLikeUpstream) {
  const struct {
    const char* format;
    std::vector<std::string> texts;
    size_t problems;
  } rows[] = {
      {"dns1123Label", {"my-label", "1a", many(63)}, 0},
      {"dns1123Label", {"My", "-a", "a-", "a.b", "", "é", many(64), "a\n"}, 1},
      {"dns1123Label", {std::string(64, 'A'), many(63) + ".b"}, 2},
      {"dns1123Subdomain", {"a.b", many(253), many(64) + ".y"}, 0},
      {"dns1123Subdomain", {"a..b", "", "A.b", ".a", "a.", "a-.b", many(254)}, 1},
      {"dns1035Label", {"abc", "a1"}, 0},
      {"dns1035Label", {"1a", "a-", "", "A", "a.b", many(64)}, 1},
      {"dns1123LabelPrefix", {"abc-", "abc", "a--", "A-", "_-", "a-b--", many(63) + "-"}, 0},
      {"dns1123LabelPrefix", {"-", "", "-a", "é-", many(64) + "-"}, 1},
      {"dns1123SubdomainPrefix", {"abc-", "a.b-"}, 0},
      {"dns1123SubdomainPrefix", {"abc.", "abc..", "."}, 1},
      {"dns1035LabelPrefix", {"abc-", "1-"}, 0},
      {"dns1035LabelPrefix", {"1abc-"}, 1},
      {"qualifiedName", {"my.name", "a/b", "example.com/Name_1", "a"}, 0},
      {"qualifiedName",
       {"/b", "a/b/c", "//", "A.b/c", "_a", "a/-b", "é", many(64), many(254) + "/b", "a\n"},
       1},
      {"qualifiedName", {"a/", "", "_" + many(63), "A/-"}, 2},
      {"qualifiedName", {"/"}, 3},
      {"labelValue", {"", "a", "a_b.C", many(63)}, 0},
      {"labelValue", {"-a", "a-", "é", " ", many(64)}, 1},
      {"labelValue", {many(63) + "-"}, 2},
      {"uri", {"http://a", "/p"}, 0},
      {"uri", {"foo", "", "http://[::1"}, 1},
      {"uuid",
       {"123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000",
        "123e4567-e89b12d3-a456-426614174000"},
       0},
      {"uuid", {"x", "123e4567-e89b-12d3-a456-42661417400", "{123e4567-e89b-12d3-a456-426614174000}"}, 1},
      {"byte", {"aGVsbG8=", "YQ==", "YR==", "abcd"}, 0},
      {"byte", {"", "aGVsbG8", "a===", "YQ", "a GVs", "YQ==\n", "Y-_/", "YQ=", "====", "aGVsbG8=x"}, 1},
      {"date", {"2020-01-31", "2020-02-29", "0000-01-01", "0000-02-29"}, 0},
      {"date",
       {"", "2020-02-30", "2021-02-29", "2020-2-3", "20200101", "2020-01-01T00:00:00Z", "2020-01-1 "},
       1},
      {"datetime",
       {"2020-01-31T10:00:00Z", "2020-01-31t10:00:00z", "2020-01-31T10:00:00.123456+01:00",
        "2020-01-31T10:00:00,5Z", "2020-01-31T10:00:00é5Z", "2020-01-31T10:00:00+99:99",
        "2020-01-31T10:00:00ZTfoo"},
       0},
      {"datetime",
       {"", "2020-01-31", "2020-01-31 10:00:00Z", "2020-01-31T10:00:00", "2020-01-31T24:00:00Z",
        "2020-01-31T10:00:60Z", "2020-01-31T10:00:00.Z", "2020-01-31T10:00:00+0100", "2020-02-30T10:00:00Z",
        "2020-01-31T10:00Z", "2020-01-31T10:00:00Z\n"},
       1},
  };
  for (const auto& row : rows) {
    const NamedFormat* format = named_format(row.format);
    ASSERT_NE(format, nullptr) << row.format;
    for (const auto& text : row.texts)
      EXPECT_EQ(format->validate(text).size(), row.problems) << row.format << " " << text;
  }
}

TEST(CelNamedFormat, ChecksNamesAndWords) {
  EXPECT_EQ(named_format("nope"), nullptr);
  EXPECT_EQ(named_format("DNS1123Label"), nullptr);
  EXPECT_EQ(named_format("qualifiedName")->validate("/b"),
            (std::vector<std::string>{"the prefix must not be empty"}));
  EXPECT_EQ(named_format("labelValue")->validate(many(64)),
            (std::vector<std::string>{"must have at most 63 bytes"}));
}

}  // namespace
}  // namespace sliced::cel
