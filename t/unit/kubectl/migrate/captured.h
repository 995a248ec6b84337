#pragma once
// What a command of `migrate`'s tests printed.
#include <gtest/gtest.h>

#include <string>

#include "config/options.h"

namespace sliced::kubectl {

struct Answer {
  int status = 0;
  std::string out, err;
  bool says(const std::string& text) const { return (out + err).find(text) != std::string::npos; }
};

inline Answer captured(int (*command)(const config::Options&), const config::Options& options) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Answer answer;
  answer.status = command(options);
  answer.out = testing::internal::GetCapturedStdout();
  answer.err = testing::internal::GetCapturedStderr();
  return answer;
}

}  // namespace sliced::kubectl
