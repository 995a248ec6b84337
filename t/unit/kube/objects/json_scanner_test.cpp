#include "kube/objects/json_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace sliced::kube {
namespace {

const std::string kClaim =
    R"({"spec":{"status":{"a":"decoy"}},"metadata":{"name":"m"},)"
    R"( "status" : { "reservedFor":[{"a":"}"}], "a" : [1, {"b":"]"}] , "n":null},"x":1})";

TEST(FindRaw, FollowsOnlyThePath) {
  const struct {
    const char* why;
    std::string text;
    std::initializer_list<std::string_view> path;
    const char* found;  // nullptr: an error
  } rows[] = {
      {"of several of a name the one on the path", kClaim, {"status", "a"}, R"([1, {"b":"]"}])"},
      {"a text with its quotes", kClaim, {"metadata", "name"}, R"("m")"},
      {"a number", kClaim, {"x"}, "1"},
      {"none", kClaim, {"status", "b"}, ""},
      {"none on the way", kClaim, {"y", "a"}, ""},
      {"null", kClaim, {"status", "n"}, ""},
      {"null on the way", kClaim, {"status", "n", "a"}, ""},
      {"an empty object", "{}", {"a"}, ""},
      {"repeated keys, half a surrogate and depth beside it",
       R"({"a":1,"a":2,"s":"\ud800","d":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') +
           R"(,"b":{"c":3}})",
       {"b", "c"},
       "3"},
      {"what follows is not looked at", R"({"a":1,]]])", {"a"}, "1"},
      {"no object", "[1]", {"a"}, nullptr},
      {"no object on the way", R"({"a":[1]})", {"a", "b"}, nullptr},
      {"a page", "<html>", {"a"}, nullptr},
      {"nothing", "", {"a"}, nullptr},
  };
  for (const auto& row : rows) {
    const auto found = find_raw(row.text, row.path);
    ASSERT_EQ(found.ok(), row.found != nullptr) << row.why;
    if (found) {
      EXPECT_EQ(*found, row.found) << row.why;
    }
  }
}

TEST(FindRaw, ReturnsTheSameOrAnErrorHoweverTheTextIsCut) {
  const size_t end = kClaim.find(R"( , "n")");
  for (size_t cut = 0; cut <= kClaim.size(); ++cut) {
    const auto found = find_raw(std::string_view(kClaim).substr(0, cut), {"status", "a"});
    ASSERT_EQ(found.ok(), cut >= end) << "cut at " << cut;
    if (found) {
      ASSERT_EQ(*found, R"([1, {"b":"]"}])");
    }
  }
}

}  // namespace
}  // namespace sliced::kube
