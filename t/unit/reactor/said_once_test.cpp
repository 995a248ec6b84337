#include "reactor/base/said_once.h"

#include <gtest/gtest.h>

namespace sliced {
namespace {

TEST(SaidLast, WhatLastsIsSaidOnceAndAgainWhenItComesBack) {
  SaidLast said;
  EXPECT_FALSE(said.is_new("")) << "all is well";
  EXPECT_TRUE(said.is_new("a"));
  EXPECT_FALSE(said.is_new("a"));
  EXPECT_TRUE(said.is_new("b"));
  EXPECT_TRUE(said.is_new("a"));
  EXPECT_EQ(said.text(), "a");
  EXPECT_FALSE(said.is_new(""));
  EXPECT_TRUE(said.is_new("a"));
  said.forget();
  EXPECT_TRUE(said.is_new("a"));
}

TEST(SaidOnce, ARoundForgetsWhatIsNoLongerSoAndCountsWhatIsTooMuch) {
  SaidOnce said(2);
  EXPECT_TRUE(said.note("a"));
  EXPECT_TRUE(said.note("b"));
  EXPECT_FALSE(said.note("c")) << "too many at once";
  EXPECT_EQ(said.end_round(), 1u);
  EXPECT_FALSE(said.note("a"));
  EXPECT_EQ(said.end_round(), 0u);
  EXPECT_FALSE(said.note("a"));
  EXPECT_TRUE(said.note("b")) << "it was not so in between";
}

}  // namespace
}  // namespace sliced
