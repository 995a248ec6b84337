#include "reactor/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace sliced {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  const Result<int> bad = Error{Errc::kGone, "too old"};
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), (Error{Errc::kGone, "too old"}));
  EXPECT_EQ(bad.value_or(3), 3);
  EXPECT_EQ(good.value_or(3), 7);
}

TEST(Result, AValueMayBeAnErrorOfTheSameShape) {
  const Result<std::string> text = std::string("fine");
  EXPECT_EQ(text->size(), 4u);
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Error, TheTrailReadsOutermostFirst) {
  const Error error = Error{Errc::kNotFound, "no such file"}.in("token").in("credentials");
  EXPECT_EQ(error, (Error{Errc::kNotFound, "credentials: token: no such file"}));
}

TEST(ResultDeathTest, ReadingTheWrongSideAborts) {
  const Result<int> bad = Error{Errc::kIo, "no"};
  EXPECT_DEATH((void)bad.value(), "");
  const Result<int> good = 1;
  EXPECT_DEATH((void)good.error(), "");
}

}  // namespace
}  // namespace sliced
