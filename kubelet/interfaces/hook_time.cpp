#include "kubelet/interfaces/hook_time.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kubelet {

Millis HookTime::owed(const Debt& debt, TimePoint now) {
  const auto passed = std::chrono::duration_cast<Millis>(now - debt.noted);
  return std::max(Millis{0}, debt.time - passed / kTimesAsLong);
}

void HookTime::record_failure(const std::string& namespace_, Millis took, const std::string& problem,
                              TimePoint now) {
  std::erase_if(debts_, [&](const auto& one) { return owed(one.second, now) == Millis{0}; });
  Debt& debt = debts_[namespace_];
  debt = {owed(debt, now) + took, now, took, problem};
}

std::string HookTime::refusal(const std::string& namespace_, TimePoint now) const {
  const auto at = debts_.find(namespace_);
  if (at == debts_.end()) return "";
  const Millis over = owed(at->second, now) - free_;
  if (over <= Millis{0}) return "";
  return "calls for pods of namespace " + escaped(namespace_) + " are refused for another " +
         std::to_string(kTimesAsLong * over.count() / 1'000 + 1) +
         " s, because earlier ones took long and failed (the last one " +
         std::to_string(at->second.took.count()) + " ms: " + at->second.problem + "); the kubelet retries";
}

}  // namespace sliced::kubelet
