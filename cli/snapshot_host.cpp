#include "cli/snapshot_host.h"

#include <filesystem>

#include "cli/read_file.h"
#include "cli/snapshot/archive.h"

namespace sliced::cli {

Result<snapshot::Snapshot> read_snapshot(const std::string& path) {
  auto bytes = read_whole(path, snapshot::kArchiveBytesMax);
  if (!bytes) return std::move(bytes.error());
  return snapshot::decode(*bytes);
}

bool is_snapshot(const std::string& host_root) {
  std::error_code failed;
  return std::filesystem::is_regular_file(host_root, failed);
}

Result<snapshot::Snapshot> open_recorded(const config::Options& options) {
  if (options.command == config::Command::kRun || options.command == config::Command::kSnapshot ||
      options.watch)
    return Error{Errc::kInvalid,
                 "is a file: a snapshot does not change, and is read by plan, explain, match, discover and "
                 "migrate --check alone"};
  return read_snapshot(options.host_root);
}

}  // namespace sliced::cli
