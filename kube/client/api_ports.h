#pragma once
// Dependencies of an ApiCluster.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "http/client.h"
#include "kube/client/credentials.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// Requires: scheduler and log outlive the cluster, which owns the rest. Tests inject dial (pipes) and random
/// (a known jitter). The server's audit log shows the user agent.
struct ApiPorts {
  reactor::Scheduler& scheduler;
  Log& log;
  std::unique_ptr<CredentialSource> credentials;
  http::Dial dial;
  reactor::Random random;
  std::string user_agent;  // "sliced/0.1.0"
};

}  // namespace sliced::kube
