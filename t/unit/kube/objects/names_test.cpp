#include "kube/objects/names.h"

#include <gtest/gtest.h>

#include <string>

namespace sliced::kube {
namespace {

using namespace std::string_literals;

TEST(Names, DnsLabel) {
  const struct {
    std::string in;
    bool good;
  } rows[] = {
      {"a", true},
      {"0", true},
      {"a-b", true},
      {std::string(63, 'a'), true},
      {std::string(64, 'a'), false},
      {"", false},
      {"-a", false},
      {"a-", false},
      {"A", false},
      {"a.b", false},
      {"a_b", false},
      {"ä", false},
      {"a\0"s, false},
  };
  for (const auto& row : rows) EXPECT_EQ(is_dns_label(row.in), row.good) << row.in;
}

TEST(Names, DnsSubdomain) {
  const struct {
    std::string in;
    bool good;
  } rows[] = {
      {"a", true},
      {"a.b-c.0", true},
      {std::string(253, 'a'), true},
      {std::string(254, 'a'), false},
      {"", false},
      {".a", false},
      {"a.", false},
      {"a..b", false},
      {"a.-b", false},
      {"a-.b", false},
      {"A.b", false},
      {"a/b", false},
  };
  for (const auto& row : rows) EXPECT_EQ(is_dns_subdomain(row.in), row.good) << row.in;
  EXPECT_FALSE(is_dns_subdomain("abcd", 3));
}

TEST(Names, DecodesVersions) {
  using Version = std::array<int64_t, 3>;
  const struct {
    std::string_view in;
    std::optional<Version> version;
  } rows[] = {
      {"v1.36.3", Version{1, 36, 3}},
      {"1.36.3", Version{1, 36, 3}},
      {"v1.36.2+k3s1", Version{1, 36, 2}},
      {"v1.37.0-alpha.1+x", Version{1, 37, 0}},
      {"v1.36", std::nullopt},
      {"v1.36.3.1", std::nullopt},
      {"v1.x.3", std::nullopt},
      {"v1.-36.3", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(decode_git_version(row.in), row.version) << row.in;
}

}  // namespace
}  // namespace sliced::kube
