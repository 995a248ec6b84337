#pragma once
// Runs a command on a snapshot as on a host and its cluster.
#include "cli/program.h"
#include "config/options.h"

namespace sliced::cli {

/// Calls work(options). If the host is a snapshot and no cluster is given, uses its node, and its objects as
/// the cluster.
int with_snapshot(const config::Options& options, int (*work)(const config::Options&));

/// The work of a command that accepts a snapshot (--host FILE).
template <int (*kWork)(const config::Options&)>
int of_host(const Invocation& invocation) {
  return with_snapshot(invocation.options, kWork);
}

}  // namespace sliced::cli
