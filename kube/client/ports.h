#pragma once
// What whoever talks to a cluster needs of its surroundings: the one set of ports of watchers/ and publishers/.
#include "kube/objects/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// All of it outlives whoever is given it; on one thread, the loop's. Tests and the simulation give stepped ones,
/// so nothing behind these may ask a clock, a socket or a random device by itself.
struct Ports {
  Cluster& cluster;
  reactor::Scheduler& scheduler;  // time and timers
  Log& log;
  reactor::Random random;  // jitter
};

}  // namespace sliced::kube
