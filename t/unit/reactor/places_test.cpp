#include "reactor/places.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "t/fake/fake_scheduler.h"

namespace sliced::reactor {
namespace places_test {
namespace {

struct PlacesTest : testing::Test {
  // One that says when it begins, and stays.
  Places::Taken take(const std::string& name) {
    return places->take([this, name] { begun.push_back(name); });
  }
  void turn() { scheduler.advance(Millis{1}); }

  fake::FakeScheduler scheduler;
  std::optional<Places> places{std::in_place, scheduler, 2};
  std::vector<std::string> begun;
};

using Names = std::vector<std::string>;

TEST_F(PlacesTest, SoManyAreInAndTheOthersComeInOrder) {
  std::vector<Places::Taken> all;
  for (const char* name : {"a", "b", "c", "d", "e"}) all.push_back(take(name));
  EXPECT_TRUE(begun.empty()) << "not from within take()";
  turn();
  EXPECT_EQ(begun, (Names{"a", "b"}));
  EXPECT_EQ(places->taken(), 2u);
  EXPECT_EQ(places->waiting(), 3u);
  all[1].reset();
  EXPECT_EQ(begun.size(), 2u) << "not from within the end of another";
  turn();
  EXPECT_EQ(begun, (Names{"a", "b", "c"}));
  all[3].reset();  // waits no more
  all[0].reset(), all[2].reset();
  turn();
  EXPECT_EQ(begun, (Names{"a", "b", "c", "e"}));
  all.clear();
  EXPECT_EQ(places->taken() + places->waiting(), 0u);
}

TEST_F(PlacesTest, WhatEndsAsItBeginsLetsTheNextBegin) {
  std::vector<Places::Taken> all(4);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = places->take([&, i] {
      begun.push_back(std::to_string(i));
      all[i].reset();
    });
  turn();
  EXPECT_EQ(begun, (Names{"0", "1", "2", "3"}));
  EXPECT_EQ(places->taken(), 0u);
}

TEST_F(PlacesTest, DroppedNobodyBeginsAndWhoIsInMayStay) {
  const auto in = take("a");
  turn();
  std::vector<Places::Taken> waiting;
  waiting.push_back(take("b"));
  waiting.push_back(places->take([this] { places.reset(); }));
  waiting.push_back(take("c"));
  waiting[0].reset();
  turn();
  EXPECT_FALSE(places) << "from within";
  turn();
  EXPECT_EQ(begun, Names{"a"});
}

}  // namespace
}  // namespace places_test
}  // namespace sliced::reactor
