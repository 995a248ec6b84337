#pragma once
// A file of `sliced snapshot` in place of a host (--host FILE).
#include <string>

#include "cli/snapshot/snapshot.h"
#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// The whole file. Blocks. Errors: as snapshot::decode(), or it cannot be read.
Result<snapshot::Snapshot> read_snapshot(const std::string& path);

/// A regular file; a directory is a host's root.
bool is_snapshot(const std::string& host_root);

/// The file that --host names. Blocks.
/// Errors: as read_snapshot(); kInvalid for a command that follows the host as it changes.
Result<snapshot::Snapshot> open_recorded(const config::Options& options);

}  // namespace sliced::cli
