#include "watchers/problem_log.h"

#include <utility>

#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::watchers {

void ProblemLog::report(const ObjectHead& head, const Error* problem) {
  if (problem == nullptr) return forget(head);
  const uint64_t now = stable_hash(problem->what);
  const auto [at, is_new] = reported_.try_emplace({head.namespace_, head.name}, now);
  if (!is_new && std::exchange(at->second, now) == now) return;
  if (++new_count_ > kProblemsMax) return;
  log_.warning("invalid object", {{"resource", resource_},
                                  {"namespace", head.namespace_},
                                  {"name", head.name},
                                  {"why", cut(problem->what, kMessageBytesMax)}});
}

void ProblemLog::end_round() {
  const size_t new_count = std::exchange(new_count_, 0);
  if (new_count > kProblemsMax)
    log_.warning("invalid objects",
                 {{"resource", resource_}, {"why", and_more(new_count - kProblemsMax, "object")}});
}

}  // namespace sliced::watchers
