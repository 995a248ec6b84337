#pragma once
// A file of `sliced snapshot` as a host (--host FILE).
#include <string>

#include "cli/snapshot/snapshot.h"
#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// Reads the whole file. Blocks. Errors: as snapshot::decode(), or it cannot be read.
Result<snapshot::Snapshot> read_snapshot(const std::string& path);

/// Returns whether it is a regular file; a directory is a host's root.
bool is_snapshot(const std::string& host_root);

/// Reads the file of --host. Blocks. Errors: as read_snapshot(); kInvalid for a command that watches the
/// host.
Result<snapshot::Snapshot> open_recorded(const config::Options& options);

}  // namespace sliced::cli
