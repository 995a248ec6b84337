#pragma once
// Watches a file of policies, and computes its effect after each change.
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

namespace sliced::kubectl {

/// The cluster changes too: a result older than kEditOldAfter is computed again at the next request. Nothing
/// runs without requests. One computation at a time. Ownership: the objects in World outlive this object,
/// which outlives its calls. Reentry: `then` may drop its call.
class FollowedEdit {
 public:
  struct World {
    std::string file;
    reactor::Scheduler& scheduler;
    /// Identifies a state of the file; "" if it cannot be read.
    std::function<std::string()> stamp;
    /// Starts a computation, which is cancelled when the result is dropped. done: never called from within
    /// this call, and may drop the result.
    std::function<Result<std::shared_ptr<void>>(Questions::Done done)> start;
  };
  explicit FollowedEdit(World world)
      : world_(std::move(world)), effect_{.file = world_.file, .problem = "it is being asked"} {}

  /// Returns the last result, and starts a new computation if the file has changed or the result is old.
  const EditEffect& look();
  /// Grows with each different result.
  uint64_t moment() const { return moment_; }
  /// Calls `then` when the result is that of the current file: immediately (returns nullptr), or later, until
  /// the call is dropped. If kEditWaitingMax calls wait already, calls it immediately with the last result.
  std::unique_ptr<http::Call> when_current(std::function<void()> then);

 private:
  struct Waiting;
  void ask();
  void take(const CommandResult& result);

  const World world_;
  EditEffect effect_;
  std::string stamp_, shown_stamp_;  // of the file that is computed, and of the last result
  std::string shown_text_;           // effect_, as it is shown
  bool is_known_ = false;
  TimePoint computed_at_{};
  int again_ = 0;
  uint64_t moment_ = 0;
  std::list<Waiting*> waiting_;
  std::shared_ptr<void> question_;
};
inline constexpr Millis kEditOldAfter{30'000};
inline constexpr size_t kEditWaitingMax = 16;
inline constexpr int kEditedAgainMax = 3;  // for waiting calls while the file is being written

/// The file of options.diff_file, and answer_edit(). The references outlive the result.
FollowedEdit::World edit_world(reactor::Scheduler& scheduler, Questions& questions,
                               const config::Options& options);

}  // namespace sliced::kubectl
