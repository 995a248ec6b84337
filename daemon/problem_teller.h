#pragma once
// What is wrong with the policies, and what a decision drops or holds back, as people are told.
//
// Log: each of it once while it lasts, and of one change no more than somebody reads. What the decision waits for is
// no problem: "waiting", level info.
#include <functional>
#include <string>

#include "daemon/policy_book.h"
#include "policy/decision.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::daemon {

/// The problems of every policy as they stand, those that a decision has found, and of what is not kept how
/// much that is: "policy ns/name: spec.configs[0]....: ...". decision: nullptr none.
void for_each_problem(const PolicyBook& policies, const policy::Decision* decision,
                      const std::function<void(const std::string&)>& say);

class ProblemTeller {
 public:
  /// The log outlives this.
  explicit ProblemTeller(Log& log) : log_(log) {}

  /// After each decision.
  /// At most 100 lines of one change (RateLimitedLog); the rest is counted in one more.
  /// are_devices: also what is said of single devices.
  void tell(const PolicyBook& policies, const policy::Decision& decision, bool are_devices = true);

 private:
  void say(const std::string& why);

  Log& log_;
  RateLimitedLog problems_, notes_, waits_;
};

}  // namespace sliced::daemon
