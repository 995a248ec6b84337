#pragma once
// Determines whether the cluster is reachable, and so whether writes are allowed, from the states of its
// sources (watchers/outage.h). During an outage one source probes for all; after its success the others
// reconnect, and nothing is written until they have answered or timed out.
//
//   served ──▶ away: all but one are parked ──▶ catching up: each is retried, every quarter of a second,
//     ▲                                             two seconds in total; while a server sends Retry-After,
//     └── all have answered, or timed out ──────────┘ up to a minute
//
// Units:     Millis. Steps of catching up are jittered, because a fleet reconnects at the same time.
// Ownership: sources, scheduler and random outlive this object; the owner reports each change of a sync
//            state.
// Reentry:   the owner is called on a turn of its own, never from inside note().
#include <functional>
#include <vector>

#include "reactor/backoff.h"
#include "reactor/scheduler.h"
#include "watchers/list_watch.h"
#include "watchers/outage.h"

namespace sliced::daemon {

class Connectivity {
 public:
  /// Consequences of the sources' states.
  struct Change {
    bool is_over = false;      // an outage ended: changes during it are decided before anything is written
    bool is_followed = false;  // a source is up to date and writes are allowed, so no wait is required
  };
  using OnChange = std::function<void(const Change&)>;

  Connectivity(reactor::Scheduler& scheduler, reactor::Random random, std::vector<watchers::Source*> sources,
               OnChange on_change);

  /// The state of a source has changed. Several calls in a turn are combined.
  void note();
  bool may_write() const { return outage_.may_write(); }

 private:
  void look();
  // The first unreachable source probes; parked ones reconnect after its success.
  void park_all_but_one(bool away);
  // One round of retries, a quarter of a second on average before the next. reported_steps_left: further
  // rounds for servers that send Retry-After, up to a minute.
  void retry_sources(int steps_left, int reported_steps_left);
  size_t count(watchers::SyncState::State state) const;

  reactor::Scheduler& scheduler_;
  const reactor::Random random_;
  const std::vector<watchers::Source*> sources_;
  const OnChange on_change_;
  watchers::Outage outage_;
  reactor::Ticket look_;          // check of the states, next turn
  reactor::Ticket retry_ticket_;  // between two rounds of retries
};

}  // namespace sliced::daemon
