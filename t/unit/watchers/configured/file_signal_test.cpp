#include "watchers/configured/file_signal.h"

#include <gtest/gtest.h>

#include <optional>

#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/golden.h"

namespace sliced::configured {
namespace {

TEST(FileSign, AcceptsAnEmptyFileOrOneOfThisBoot) {
  const struct {
    Result<std::string> text;
    const char* boot_id;
    bool is_sign;
  } rows[] = {
      {std::string(""), "b1", true},
      {std::string(" \n"), "b1", true},
      {std::string("b1\n"), "b1", true},
      {std::string("b0\n"), "b1", false},
      {std::string(3, '\0'), "b1", false},  // a crash left it
      {std::string("b1\0", 3), "b1", false},
      {std::string("b1"), "", false},  // the present boot is unknown
      {std::string(""), "", true},
      {Error{Errc::kNotFound, "read"}, "b1", false},
      {Error{Errc::kDenied, "read"}, "b1", false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(fault_of_file(row.text, row.boot_id).empty(), row.is_sign)
        << (row.text ? *row.text : row.text.error().what) << " in boot " << row.boot_id;
}

struct FileSignTest : testing::Test {
  void wait() {
    sign.emplace(FileSignalPorts{scheduler, executor, log,
                                 [this](const std::string& path) -> Result<std::string> {
                                   EXPECT_EQ(path, "/run/sliced/configured");
                                   if (!text) return Error{Errc::kNotFound, "read " + path};
                                   return *text;
                                 }},
                 "/run/sliced/configured", "b1", [this] { ++changes; });
    sign->start();
    EXPECT_EQ(changes, 0);
    scheduler.advance(Millis{500});
  }

  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::MemoryLog log;
  std::optional<std::string> text;
  std::optional<FileSignal> sign;
  int changes = 0;
};

TEST_F(FileSignTest, IsDetectedWithinASecondAndRemembered) {
  wait();
  EXPECT_FALSE(sign->is_seen());
  EXPECT_EQ(sign->awaited(), "/run/sliced/configured: there is no such file");
  scheduler.advance(Millis{60'000});
  EXPECT_FALSE(sign->is_seen());
  EXPECT_EQ(log.count("waiting for the configuration of this node"), 1u);
  text = "b1\n";
  scheduler.advance(Millis{1'000});
  EXPECT_TRUE(sign->is_seen());
  EXPECT_EQ(sign->awaited(), "");
  const size_t jobs = executor.jobs;
  text.reset();
  scheduler.advance(Millis{60'000});
  EXPECT_TRUE(sign->is_seen());
  EXPECT_EQ(executor.jobs, jobs) << "nobody looks any more";
}

TEST_F(FileSignTest, IgnoresAFileOfAnotherBoot) {
  text = "b0\n";
  wait();
  scheduler.advance(Millis{10'000});
  EXPECT_FALSE(sign->is_seen());
  fixture::expect_golden(sign->awaited());
}

TEST_F(FileSignTest, RetriesAHangingRead) {
  text = "";
  executor.hang_next = 1;
  wait();
  scheduler.advance(Millis{5'000});
  EXPECT_FALSE(sign->is_seen());
  EXPECT_NE(sign->awaited().find("hangs"), std::string::npos) << sign->awaited();
  scheduler.advance(Millis{1'000});
  EXPECT_TRUE(sign->is_seen());
}

}  // namespace
}  // namespace sliced::configured
