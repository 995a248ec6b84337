#pragma once
// Whether the cluster can be reached, and so whether anything may be written, of how its sources stand
// (watchers/outage.h). During an outage one source probes for all; once it is let in, the others are asked,
// and until they have answered, or had their time, nothing is written.
//
//   served ──▶ away: all but one are parked ──▶ catching up: each is asked again, every quarter of a second,
//     ▲                                             two seconds in all, and longer while a server says how
//     └── all have answered, or had their time ─────┘ long to wait
//
// Units:     Millis. Steps of catching up are jittered: a fleet comes back together.
// Ownership: sources, scheduler and random outlive this; the owner tells of each change of a sync state.
// Reentry:   the owner is told on a turn of its own, never from inside note().
#include <functional>
#include <vector>

#include "reactor/backoff.h"
#include "reactor/scheduler.h"
#include "watchers/list_watch.h"
#include "watchers/outage.h"

namespace sliced::daemon {

class Reach {
 public:
  /// What has come of the sources' standings.
  struct Change {
    bool is_over = false;      // an outage: what was told meanwhile is decided before anything is written
    bool is_followed = false;  // somebody is, and nothing keeps from writing: no wait need go on
  };
  using OnChange = std::function<void(const Change&)>;

  Reach(reactor::Scheduler& scheduler, reactor::Random random, std::vector<watchers::Source*> sources,
        OnChange on_change);

  /// A source stands otherwise than before.
  /// Several in a turn are one look.
  void note();
  bool may_write() const { return outage_.may_write(); }

 private:
  void look();
  // The first that is unreachable probes; parked ones go on when somebody is let in.
  void park_all_but_one(bool away);
  // A round; the steps count down, those in which a server says how long to wait separately, up to a minute.
  void catch_up(int steps_left, int reported_steps_left);
  size_t count(watchers::SyncState::State state) const;

  reactor::Scheduler& scheduler_;
  const reactor::Random random_;
  const std::vector<watchers::Source*> sources_;
  const OnChange on_change_;
  watchers::Outage outage_;
  reactor::Ticket look_;      // at the standings, next turn
  reactor::Ticket catch_up_;  // between two rounds of asking those that still wait
};

}  // namespace sliced::daemon
