#pragma once
// Work that shares something comes one after the other, in the order in which it came; the rest goes on beside it.
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// Two pieces of work with a key in common never run at once, and the earlier one is first, also where it waits itself
/// for something else: nobody is passed over for ever. There is no bound on how many wait; who adds them has one.
/// Ownership: dropping it drops what waits. What runs belongs to whoever began it; its done is then passed over.
/// Reentry:   nothing begins within add() or done.
/// Cost: each change looks through all that wait.
/// Threads: the loop's.
class Turns {
 public:
  using Done = std::function<void()>;
  explicit Turns(reactor::Scheduler& scheduler) : scheduler_(scheduler) {}
  Turns(const Turns&) = delete;

  /// keys: what it needs for itself; none: it waits for nobody. begin: called when its turn comes; it calls done once, when it has ended.
  /// It begins in a later turn of the loop, behind everything that came before with a key of its own. done
  /// may be called within begin, and does nothing once this is dropped.
  /// shared: further keys, each with the name of a group: work of one group runs at once, and excludes all other work with the key.
  void add(std::set<std::string> keys, std::function<void(Done done)> begin,
           std::map<std::string, std::string> shared = {});
  /// Nothing waits and nothing runs.
  bool idle() const { return waiting_.empty(); }

 private:
  // begin is empty once it was called: what it holds goes with the work's end, not with this list.
  struct Work {
    std::map<std::string, std::string> keys;  // to the group that shares it; "" it is needed alone
    std::function<void(Done)> begin;
    bool is_running = false;
  };
  void look();

  reactor::Scheduler& scheduler_;
  std::list<Work> waiting_;  // and what runs
  reactor::Ticket next_;
  const std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace sliced::kubelet
