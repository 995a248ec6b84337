#include "kubelet/checkpoint_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace sliced::kubelet {
namespace checkpoint_log_test {
namespace {

PreparedClaim claim(int number, const std::string& text = "") {
  PreparedClaim out{.driver = "d", .namespace_ = "ns", .name = "n", .uid = std::to_string(number)};
  out.devices.push_back({.device = text, .network = text});
  return out;
}

class CheckpointLogTest : public testing::Test {
 protected:
  // The file after the next write, which may fail: then the file has a part of it.
  bool write(bool is_failing = false) {
    const auto next = log_.next(boot_id_, prepared_);
    if (next) take(*next, is_failing);
    return next.has_value();
  }
  void take(const CheckpointLog::Write& next, bool is_failing = false) {
    wholes_ += next.is_whole ? 1 : 0;
    if (!next.is_whole) {
      ASSERT_LE(used_ + next.text.size(), room_) << "the file has no room";
      used_ += next.text.size();
      file_ += is_failing ? next.text.substr(0, next.text.size() / 2) : next.text;
    } else if (!is_failing) {
      file_ = next.text;
      room_ = next.room;
      used_ = 0;
    }
    log_.done(!is_failing);
  }
  PreparedClaims on_disk() const { return decode_checkpoint(file_).value().claims; }
  void put(const PreparedClaim& one) { prepared_.insert_or_assign(key_of(one), one); }

  CheckpointLog log_;
  std::string boot_id_ = "boot", file_;
  PreparedClaims prepared_;
  size_t wholes_ = 0, room_ = 0, used_ = 0;
};

TEST_F(CheckpointLogTest, OnlyTheFirstWriteIsAWholeFile) {
  for (int i = 0; i < 100; ++i) put(claim(i, "text"));
  EXPECT_TRUE(write());
  const size_t size = file_.size();
  put(claim(7, "changed"));
  prepared_.erase({"d", "8"});
  EXPECT_TRUE(write());
  EXPECT_EQ(wholes_, 1u);
  EXPECT_LT(file_.size() - size, 1'000u) << "a change has what changed";
  EXPECT_EQ(on_disk(), prepared_);
  EXPECT_FALSE(write()) << "nothing changed";
  boot_id_ = "another";
  EXPECT_TRUE(write());
  EXPECT_EQ(decode_checkpoint(file_)->boot_id, "another");
}

// Whatever happens and whichever writes fail, after a write the file says what is prepared.
TEST_F(CheckpointLogTest, TheFileSaysWhatIsPrepared) {
  std::minstd_rand random(7);
  const auto dice = [&](uint32_t sides) { return random() % sides; };
  for (int i = 0; i < 3'000; ++i) {
    for (uint32_t n = dice(3); n > 0; --n) {
      const int number = static_cast<int>(dice(20));
      if (dice(3) == 0)
        prepared_.erase(key_of(claim(number)));
      else
        put(claim(number, std::string(1 + dice(2'000), static_cast<char>('a' + dice(26)))));
    }
    const bool is_failing = dice(50) == 0;
    write(is_failing);
    ASSERT_FALSE(HasFatalFailure());
    if (is_failing) write();
    if (!file_.empty()) ASSERT_EQ(on_disk(), prepared_) << i;
    if (log_.wants_rewrite() && dice(4) == 0) {
      take(log_.rewrite(boot_id_, prepared_));
      EXPECT_FALSE(log_.wants_rewrite());
      ASSERT_EQ(on_disk(), prepared_) << i;
    }
  }
  EXPECT_GT(wholes_, 3u) << "the room was used up";
  EXPECT_LT(wholes_, 300u);
}

TEST_F(CheckpointLogTest, AClosedFileIsOneThatEarlierVersionsRead) {
  log_.close();
  EXPECT_FALSE(log_.wants_rewrite()) << "nothing was written";
  log_.note_open();
  EXPECT_TRUE(log_.wants_rewrite()) << "another process has written it";

  CheckpointLog other;
  std::swap(log_, other);
  put(claim(1));
  write();
  EXPECT_TRUE(decode_checkpoint(file_)->is_open);
  log_.close();
  ASSERT_TRUE(log_.wants_rewrite());
  take(log_.rewrite(boot_id_, prepared_));
  EXPECT_FALSE(log_.wants_rewrite());
  EXPECT_EQ(room_, 0u);
  EXPECT_FALSE(write());
  put(claim(2));
  write();
  EXPECT_FALSE(decode_checkpoint(file_)->is_open);
  EXPECT_EQ(on_disk(), prepared_);
}

}  // namespace
}  // namespace checkpoint_log_test
}  // namespace sliced::kubelet
