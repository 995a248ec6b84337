#pragma once
// Many small reads of which any may hang: each is a job with a deadline, a few at a time. One that hangs
// costs itself; when several do, the rest of the round is not begun, so that they do not use up the executor
// that others share.
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

/// Threads: used on the loop's thread; what is read is read on the executor's workers.
/// Ownership: dropping it forgets what waits; a read that runs ends on its worker and touches nothing of
/// ours.
/// Reentry: what read() returned, on_hung and on_all run on the loop's thread, one after the other.
class CarefulReads {
 public:
  using Apply = std::function<void()>;
  /// read and on_hung are called once at most, and never both; neither of an ask that was replaced.
  struct Ask {
    std::string key;  // what is read; one read of a key at a time, and none while an earlier one still hangs
    std::function<Apply()> read;  // on a worker; what it returns runs on the loop's thread
    Apply on_hung;                // instead of it
  };

  /// deadline: of each read by itself. The executor outlives this.
  CarefulReads(reactor::Executor& executor, Millis deadline) : executor_(executor), deadline_(deadline) {}
  CarefulReads(const CarefulReads&) = delete;

  /// Adds to what is waiting; a newer ask replaces an older one of its key, and follows one that runs. on_all
  /// (the newest) is called once nothing waits or runs, within this call when there is nothing to do; it may
  /// ask again.
  /// An ask of a key whose earlier read still hangs is answered by on_hung without being begun, and so is
  /// every further one once four of a round have hung. A round lasts while something waits or runs.
  void ask(std::vector<Ask> asks, std::function<void()> on_all);
  /// Something waits or runs; what hangs does not count.
  bool is_running() const { return !waiting_.empty() || !jobs_.empty(); }
  /// Reads past their deadline that have not returned.
  /// Each holds one of the executor's threads until the kernel lets go of it.
  size_t hung() const;

 private:
  static constexpr size_t kAtOnceMax = 4, kHungPerRoundMax = 4;
  struct Running {
    Ask ask;
    std::unique_ptr<reactor::Job> job;
  };
  // Shared with the worker, which may outlive us.
  struct Slot {
    std::atomic<bool> returned{false};
    Apply apply;
  };
  // Begins what may be begun now. An executor that runs a job at once calls finish() within it.
  void fill();
  void enqueue(Ask ask);
  bool is_asked_now(const std::string& key) const;
  void begin(Ask ask);
  // finished: within the deadline. What returns later puts its answer where nobody looks: the next ask reads
  // anew.
  void finish(uint64_t number, const std::shared_ptr<Slot>& slot, bool finished);
  void end_if_done();

  reactor::Executor& executor_;
  const Millis deadline_;
  std::deque<std::string> waiting_;  // keys, in order
  std::map<std::string, Ask> waiting_keys_;
  std::map<uint64_t, Running> jobs_;
  std::map<std::string, std::shared_ptr<Slot>> hung_;
  std::function<void()> on_all_;
  uint64_t next_number_ = 0;
  size_t hung_in_round_ = 0;
  bool is_filling_ = false;
};

}  // namespace sliced::hotplug
