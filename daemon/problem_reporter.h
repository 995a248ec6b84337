#pragma once
// Logs the problems of policies, and the entries that a decision drops or holds back. Log: each once while it
// lasts, with a limit per change. Reasons that a decision waits for are not problems: "waiting", level info.
#include <functional>
#include <string>

#include "daemon/policy_book.h"
#include "policy/decision.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::daemon {

/// Calls say for the current problems of every policy, for those that the decision found, and for objects
/// that were left out: "policy ns/name: spec.configs[0]....: ...". decision: nullptr if none.
void for_each_problem(const PolicyBook& policies, const policy::Decision* decision,
                      const std::function<void(const std::string&)>& say);

class ProblemReporter {
 public:
  /// The log outlives this object.
  explicit ProblemReporter(Log& log) : log_(log) {}

  /// Called after each decision. Logs at most 100 lines per change (RateLimitedLog), and one with the number
  /// of further ones. are_devices: also logs messages about single devices.
  void tell(const PolicyBook& policies, const policy::Decision& decision, bool are_devices = true);

 private:
  void say(const std::string& why);

  Log& log_;
  RateLimitedLog problems_, notes_, waits_;
};

}  // namespace sliced::daemon
