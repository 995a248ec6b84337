#pragma once
// What publishing needs of the outside.
#include "kube/cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

struct Ports {
  kube::Cluster& cluster;
  reactor::Scheduler& scheduler;
  Log& log;
  reactor::Random random;
};

}  // namespace sliced::publishers
