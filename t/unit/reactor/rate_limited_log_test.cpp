#include "reactor/base/rate_limited_log.h"

#include <gtest/gtest.h>

#include "reactor/base/failure_log.h"

namespace sliced {
namespace {

TEST(LastMessage, LogsALastingMessageOnceAndAgainAfterItsReturn) {
  LastMessage said;
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

TEST(RateLimitedLog, ForgetsEndedMessagesAndCountsExcessOnes) {
  RateLimitedLog said(2);
  EXPECT_TRUE(said.note("a"));
  EXPECT_TRUE(said.note("b"));
  EXPECT_FALSE(said.note("c")) << "too many at once";
  EXPECT_EQ(said.end_round(), 1u);
  EXPECT_FALSE(said.note("a"));
  EXPECT_EQ(said.end_round(), 0u);
  EXPECT_FALSE(said.note("a"));
  EXPECT_TRUE(said.note("b")) << "it was not so in between";
}

// Red when a problem that lasts is logged each time, or one that has changed is not.
TEST(FailureLog, LogsARepeatedFailureOnceUntilItEndsOrChanges) {
  FailureLog said;
  EXPECT_TRUE(said.is_new("claim-1", "busy"));
  EXPECT_FALSE(said.is_new("claim-1", "busy"));
  EXPECT_TRUE(said.is_new("claim-2", "busy")) << "another claim";
  EXPECT_TRUE(said.is_new("claim-1", "gone"));
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(said.is_new("claim-1", i % 2 == 0 ? "busy" : "gone")) << "in turn";
  EXPECT_EQ(said.end("claim-1"), 103u);
  EXPECT_EQ(said.end("claim-1"), 0u);
  EXPECT_TRUE(said.is_new("claim-1", "busy")) << "it begins again";
  EXPECT_EQ(said.end("claim-2"), 1u);
}

TEST(FailureLog, ForgetsTheLeastRecentFailure) {
  FailureLog said(2);
  EXPECT_TRUE(said.is_new("a", "x"));
  EXPECT_TRUE(said.is_new("b", "x"));
  EXPECT_FALSE(said.is_new("a", "x"));
  EXPECT_TRUE(said.is_new("c", "x"));
  EXPECT_FALSE(said.is_new("a", "x"));
  EXPECT_EQ(said.end("b"), 0u);
}

}  // namespace
}  // namespace sliced
