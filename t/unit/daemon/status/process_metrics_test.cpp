#include "daemon/status/process_metrics.h"

#include <gtest/gtest.h>

namespace sliced::status {
namespace process_metrics_test {

TEST(ProcessMetrics, ReadsTheProcessAfterItsName) {
  // pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime ...
  const std::string stat =
      "12 (a) b) S 1 1 1 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 5 0 3000 1000000 25 18446744073709551615 1 1\n";
  ProcessMetrics metrics;
  read_process_stat(stat, 1'000, 100, 4'096, metrics);
  EXPECT_EQ(metrics.cpu, 2.0);
  EXPECT_EQ(metrics.started, 1'030.0);
  EXPECT_EQ(metrics.resident_bytes, 25u * 4'096);
  for (const char* none : {"", "12 (a", "12 (a)", "12 (a) S", "12 (a) S x y z"}) {
    ProcessMetrics zero;
    read_process_stat(none, 1'000, 100, 4'096, zero);
    EXPECT_EQ(zero.started, 0.0) << none;
    EXPECT_EQ(zero.resident_bytes, 0u) << none;
  }
}

}  // namespace process_metrics_test
}  // namespace sliced::status
