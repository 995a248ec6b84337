#pragma once
// Runs many small reads, each of which may hang, as jobs with deadlines, a few at a time. A read that hangs
// affects only itself. After several have hung, the rest of the round is skipped, because other users share
// the executor.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reactor/executor.h"

namespace sliced::hotplug {

/// Threads: called on the loop's thread; reads run on the executor's workers. Ownership: the destructor drops
/// waiting reads; a running one ends on its worker and uses nothing of this object. Reentry: the result of
/// read(), on_hung and on_idle run on the loop's thread, one after the other.
class CarefulReads {
 public:
  using Apply = std::function<void()>;
  /// Either read or on_hung is called, at most once; neither for a request that was replaced.
  struct Request {
    std::string key;  // identifies the read; reads of one key do not overlap, even while an earlier one hangs
    std::function<Apply()> read;  // on a worker; its result runs on the loop's thread
    Apply on_hung;                // instead of it
  };

  /// deadline: of each read. The executor outlives this object.
  CarefulReads(reactor::Executor& executor, Millis deadline) : executor_(executor), deadline_(deadline) {}
  CarefulReads(const CarefulReads&) = delete;

  /// Adds reads. A newer request replaces a waiting one with its key, and follows a running one. on_idle (the
  /// newest) is called when no read waits or runs, possibly within this call; it may call request(). on_hung is
  /// called without a read if an earlier read of the key still hangs, or after four reads of the round have
  /// hung. A round lasts while a read waits or runs.
  void request(std::vector<Request> requests, std::function<void()> on_idle);
  /// Returns whether a read waits or runs, not counting those that hang.
  bool is_running() const { return !waiting_.empty() || !jobs_.empty(); }
  /// Returns the number of reads past their deadline that have not returned. Each occupies a thread of the
  /// executor until the kernel returns.
  size_t hung() const;

 private:
  static constexpr size_t kAtOnceMax = 4, kHungPerRoundMax = 4;
  struct Running {
    Request request;
    std::unique_ptr<reactor::Job> job;
  };
  // Shared with the worker, which may outlive this object.
  struct Slot {
    std::atomic<bool> returned{false};
    Apply apply;
  };
  // Starts the reads that may start now. An executor that runs a job immediately calls finish() within this
  // call.
  void fill();
  void enqueue(Request request);
  bool is_in_progress(const std::string& key) const;
  void begin(Request request);
  // finished: within the deadline. A later result is dropped; the next request reads again.
  void finish(uint64_t number, const std::shared_ptr<Slot>& slot, bool finished);
  void notify_if_idle();

  reactor::Executor& executor_;
  const Millis deadline_;
  std::deque<std::string> waiting_;  // keys, in order
  std::map<std::string, Request> waiting_keys_;
  std::map<uint64_t, Running> jobs_;
  std::map<std::string, std::shared_ptr<Slot>> hung_;
  std::function<void()> on_idle_;
  uint64_t next_number_ = 0;
  size_t hung_in_round_ = 0;
  bool is_filling_ = false;
};

}  // namespace sliced::hotplug
