#pragma once
// What is wrong with the objects of a scope, said to people: each once while it lasts.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "watchers/object_head.h"

namespace sliced::watchers {

/// Tells once what is wrong with an object, and forgets when it is mended or gone. Of one list no more than
/// kProblemsMax are told by name.
/// Memory: 8 bytes and the name of each object that has a problem.
/// Order: of a list: report() of each object, then retain(). Of one change: report(), then end_round().
class ProblemLog {
 public:
  ProblemLog(Log& log, std::string resource) : log_(log), resource_(std::move(resource)) {}
  /// Says it unless it was said of this object already. The same problem in other words is another one.
  /// nullptr forgets what was told. A text for the log is cut to kMessageBytesMax.
  void report(const ObjectHead& head, const Error* problem);  // nullptr: it is well
  /// Gone, or well: the same problem later is said anew.
  void forget(const ObjectHead& head) { told_.erase({head.namespace_, head.name}); }
  /// A list is whole: keeps only what is in it.
  template <class Known>
  void retain(Known known) {
    std::erase_if(told_, [&](const auto& entry) { return !known(entry.first.first, entry.first.second); });
    end_round();
  }
  /// What was reported since is all of one change.
  void end_round();

 private:
  Log& log_;
  const std::string resource_;
  std::map<std::pair<std::string, std::string>, uint64_t> told_;  // namespace and name -> hash of the problem
  size_t new_count_ = 0;                                          // of this round
};

}  // namespace sliced::watchers
