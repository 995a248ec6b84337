#include "kubelet/interfaces/hook_time.h"

#include "reactor/base/text.h"

namespace sliced::kubelet {

void HookTime::note(const std::string& namespace_, Millis took, const std::string& problem, TimePoint now) {
  std::erase_if(pauses_, [&](const auto& one) { return one.second.until <= now; });
  if (problem.empty())
    pauses_.erase(namespace_);
  else if (took >= slow_from_)
    pauses_.insert_or_assign(namespace_, Pause{now + kPause * took, took, problem});
}

std::string HookTime::refusal(const std::string& namespace_, TimePoint now) const {
  const auto at = pauses_.find(namespace_);
  if (at == pauses_.end() || at->second.until <= now) return "";
  const auto left = std::chrono::duration_cast<Millis>(at->second.until - now);
  return "for another " + std::to_string(left.count() / 1'000 + 1) +
         " s the container runtime does not wait for pods of namespace " + escaped(namespace_) +
         ", because one took " + std::to_string(at->second.took.count()) +
         " ms and failed: " + at->second.problem + "; the kubelet tries again";
}

}  // namespace sliced::kubelet
