#pragma once
// Dependencies of clients of a cluster, shared by watchers/ and publishers/.
#include "kube/objects/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// Requires: all members outlive their users. Loop thread only. Tests and the simulation inject fakes, so
/// implementations must not use another clock, socket or random source.
struct ClusterPorts {
  Cluster& cluster;
  reactor::Scheduler& scheduler;  // time and timers
  Log& log;
  reactor::Random random;  // jitter
};

}  // namespace sliced::kube
