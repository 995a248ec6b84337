#pragma once
// A command that is asked of a snapshot as it would be of a host and its cluster.
#include "cli/program.h"
#include "config/options.h"

namespace sliced::cli {

/// work(options); where the host is a snapshot and no cluster is named, with its node and with its objects as the cluster.
int with_snapshot(const config::Options& options, int (*work)(const config::Options&));

/// The work of a command that can be run on a snapshot (--host FILE).
template <int (*kWork)(const config::Options&)>
int of_host(const Invocation& invocation) {
  return with_snapshot(invocation.options, kWork);
}

}  // namespace sliced::cli
