#pragma once
// Runs work with a common key one after the other, in order of arrival, and other work concurrently.
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// Two works with a common key never overlap, and the earlier one runs first even if it waits for another
/// key, so none waits forever. The caller bounds the number of waiting works. Ownership: the destructor drops
/// waiting works; the `done` of a running one is then ignored. Reentry: nothing starts within add() or done.
/// Cost: each change scans all waiting works. Threads: the loop's.
class KeyedQueue {
 public:
  using Done = std::function<void()>;
  explicit KeyedQueue(reactor::Scheduler& scheduler) : scheduler_(scheduler) {}
  KeyedQueue(const KeyedQueue&) = delete;

  /// keys: used exclusively; without any, the work does not wait. shared: further keys, each with the name of
  /// a group: works of one group run concurrently, and exclude all other works with the key. begin: called in
  /// a later turn of the loop, after all earlier works with a common key; it calls `done` once, when the work
  /// has ended. `done` may be called within begin, and does nothing after the destruction of this object.
  void add(std::set<std::string> keys, std::function<void(Done done)> begin,
           std::map<std::string, std::string> shared = {});
  /// Returns whether no work waits or runs.
  bool idle() const { return waiting_.empty(); }

 private:
  // begin is empty after the call, so that its captures end with the work and not with this list.
  struct Work {
    std::map<std::string, std::string> keys;  // to the group that shares it; "": exclusive
    std::function<void(Done)> begin;
    bool is_running = false;
  };
  void look();

  reactor::Scheduler& scheduler_;
  std::list<Work> waiting_;  // including running works
  reactor::Ticket next_;
  const std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace sliced::kubelet
