#pragma once
// What an ApiCluster is made of.
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

/// Scheduler and log outlive the cluster; the rest becomes its own.
/// dial and random are ports too: tests dial pipes and know the jitter. The user agent is how a server's
/// audit log names us.
struct ApiPorts {
  reactor::Scheduler& scheduler;
  Log& log;
  std::unique_ptr<CredentialSource> credentials;
  http::Dial dial;
  reactor::Random random;
  std::string user_agent;  // "sliced/0.1.0"
};

}  // namespace sliced::kube
