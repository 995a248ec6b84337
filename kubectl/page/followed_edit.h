#pragma once
// A file of policies that somebody edits, and what it would change, made anew as the file changes.
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "config/options.h"
#include "http/service.h"
#include "kubectl/page/edit_section.h"
#include "kubectl/page/questions.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"

namespace sliced::cli {

/// The cluster changes too: what is older than kEditOldAfter is made anew when somebody asks. While nobody asks nothing
/// runs. One question at a time.
/// Ownership: what World refers to outlives it; it outlives the calls that it has given.
/// Reentry:   `then` may drop its call.
class FollowedEdit {
 public:
  struct World {
    std::string file;
    reactor::Scheduler& scheduler;
    /// What tells one state of the file from another; "" it cannot be looked at.
    std::function<std::string()> stamp;
    /// Asks; the question is given up when what is returned goes. done: never from within this call, and may drop it.
    std::function<Result<std::shared_ptr<void>>(Questions::Done done)> start;
  };
  explicit FollowedEdit(World world)
      : world_(std::move(world)), told_{.file = world_.file, .problem = "it is being asked"} {}

  /// As it was last told; a file that has changed, or an old answer, is asked about from now on.
  const EditEffect& look();
  /// Grows with each answer that is another one.
  uint64_t moment() const { return moment_; }
  /// Calls `then` once what is told is of the file as it is: at once (nullptr), or later, until the call is dropped. Where
  /// kEditWaitingMax wait already, at once with what is told now: whoever else comes has to find a place.
  std::unique_ptr<http::Call> when_current(std::function<void()> then);

 private:
  struct Waiting;
  void ask();
  void take(const CommandResult& result);

  const World world_;
  EditEffect told_;
  std::string stamp_, shown_stamp_;  // of the file that is asked about, and that was told of
  std::string said_;                 // told_, as it is shown
  bool is_known_ = false;
  TimePoint query_times_{};
  int again_ = 0;
  uint64_t moment_ = 0;
  std::list<Waiting*> waiting_;
  std::shared_ptr<void> question_;
};
inline constexpr Millis kEditOldAfter{30'000};
inline constexpr size_t kEditWaitingMax = 16;
inline constexpr int kEditedAgainMax = 3;  // for those who wait while somebody writes the file

/// The file of options.diff_file, and answer_edit(). The references outlive it.
FollowedEdit::World edit_world(reactor::Scheduler& scheduler, Questions& questions,
                               const config::Options& options);

}  // namespace sliced::cli
