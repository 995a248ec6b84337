#pragma once
// Logs the problems of a scope's objects, each once.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "watchers/object_head.h"

namespace sliced::watchers {

/// Logs a problem when it is new. At most kProblemsMax per list are logged by name.
/// Use: for a list report() for each object, then retain(); for one change report(), then end_round().
class ProblemLog {
 public:
  ProblemLog(Log& log, std::string resource) : log_(log), resource_(std::move(resource)) {}
  /// Logs the problem if its text has changed; nullptr: the object is valid. Texts are limited to
  /// kMessageBytesMax.
  void report(const ObjectHead& head, const Error* problem);
  /// The object was deleted.
  void forget(const ObjectHead& head) { reported_.erase({head.namespace_, head.name}); }
  /// Ends a list: forgets all other objects.
  template <class Known>
  void retain(Known known) {
    std::erase_if(reported_,
                  [&](const auto& entry) { return !known(entry.first.first, entry.first.second); });
    end_round();
  }
  /// Ends one change.
  void end_round();

 private:
  Log& log_;
  const std::string resource_;
  std::map<std::pair<std::string, std::string>, uint64_t>
      reported_;          // namespace and name -> hash of the problem
  size_t new_count_ = 0;  // of this round
};

}  // namespace sliced::watchers
