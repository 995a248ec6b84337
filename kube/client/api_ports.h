#pragma once
// Dependencies of an ApiCluster.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/client.h"
#include "kube/client/credentials.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// Keeps the OpenAPI documents between processes, as kubectl does: the server then sends a document only if it
/// has changed (ETag).
struct SchemaCache {
  reactor::Executor& executor;  // reads and writes the files
  std::string directory;        // exists; other users cannot write to it
};

/// Requires: scheduler and log outlive the cluster, which owns the rest. Tests inject dial (pipes) and random
/// (a known jitter). The server's audit log shows the user agent.
struct ApiPorts {
  reactor::Scheduler& scheduler;
  Log& log;
  std::unique_ptr<CredentialSource> credentials;
  http::Dial dial;
  reactor::Random random;
  std::string user_agent;  // "sliced/0.1.0"
  std::optional<SchemaCache> schema_cache = std::nullopt;
};

}  // namespace sliced::kube
