#pragma once
// What an ApiCluster is made of, and what it counts.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "http/client.h"
#include "kube/credentials.h"
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

/// Requests sent, by (verb, resource): ("list", "nodes"), ("create", "resourceslices.resource.k8s.io"). Pages
/// of a list and repetitions after a 401 count each. Non-resource requests are ("discover" | "schema" |
/// "version", "").
struct RequestCount {
  /// sent: with credentials, to the server. failed: ended otherwise than by a whole 2xx, dropped ones not
  /// among them.
  uint64_t sent = 0, failed = 0;
  bool operator==(const RequestCount&) const = default;
};
using RequestCounts = std::map<std::pair<std::string, std::string>, RequestCount>;

}  // namespace sliced::kube
