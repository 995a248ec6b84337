#include "reactor/base/shared.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "reactor/base/flat_map.h"

namespace sliced {
namespace {

TEST(Shared, CopiesAreOneObjectAndEqualityIsOfValues) {
  const Shared<std::string> a(std::string("x")), other(std::string("x"));
  Shared<std::string> copy = a;
  EXPECT_TRUE(is_same(a, copy));
  EXPECT_FALSE(is_same(a, other));
  EXPECT_EQ(a, other);
  copy.edit([](std::string& text) { text = "y"; });
  EXPECT_EQ(*copy, "y");
  EXPECT_EQ(*a, "x") << "an edit is one holder's alone";
  EXPECT_NE(a, copy);
}

TEST(Shared, TextIsOrderedAsBytes) {
  const SharedText a("a"), b("b"), high("\xff");
  EXPECT_LT(a, b);
  EXPECT_LT(b, high);
  EXPECT_EQ(a, SharedText(std::string("a")));
}

// Against std::map, over random edits: a lost key, a wrong place or a stale value shows.
TEST(FlatMap, IsAnOrderedMap) {
  std::mt19937 random(7);
  FlatMap<SharedText, int, std::string_view> flat;
  std::map<std::string, int> model;
  for (int step = 0; step < 5'000; ++step) {
    const std::string key = std::to_string(random() % 40);
    switch (random() % 4) {
      case 0:
        EXPECT_EQ(flat.emplace(key, step).second, model.emplace(key, step).second);
        break;
      case 1:
        flat.insert_or_assign(key, step);
        model.insert_or_assign(key, step);
        break;
      case 2:
        EXPECT_EQ(flat.erase(key), model.erase(key));
        break;
      default:
        flat[key] = model[key] = step;
    }
    ASSERT_EQ(flat.size(), model.size());
    auto at = flat.begin();
    for (const auto& [k, v] : model) {
      ASSERT_EQ(at->first.str(), k);
      ASSERT_EQ(at->second, v);
      ASSERT_EQ(flat.at(k), v);
      ++at;
    }
    ASSERT_EQ(flat.contains(key), model.contains(key));
  }
}

TEST(FlatMap, ReturnsNullForMissingKeys) {
  const FlatMap<SharedText, int, std::string_view> map = {{"b", 2}, {"d", 4}};
  for (const char* key : {"", "a", "c", "e"}) EXPECT_EQ(map.find(key), map.end()) << key;
  EXPECT_DEATH((void)map.at("c"), "");
  EXPECT_EQ(map.find("d")->second, 4);
}

}  // namespace
}  // namespace sliced
