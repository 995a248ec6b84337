#pragma once
// Writes small files atomically, most of them durably. Independent of loop and libuv; every call blocks: for
// workers.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::reactor {

/// Creates or replaces the file: readers find the old or the new text, also after a power failure. Writes,
/// syncs and renames a temporary file beside it (".<name>.tmp"), then syncs the directory, which is created
/// if missing (0755).
/// Errors: kDenied, kIo; the text has the path and the system's error.
Result<Unit> write_durably(const std::string& path, std::string_view text, unsigned mode = 0644);

/// mode: exact, independent of the umask (fchmod), because runtimes and kubelets read some of these files as
/// other users.
struct DurableFile {
  std::string path, text;
  unsigned mode = 0644;
};
/// The same for several files, faster: their syncs run concurrently, and each directory is synced once. Files
/// are renamed in order; of several with one path the last counts. No file is renamed before all are written
/// and synced, so that a full disk changes nothing; a power failure between renames may leave the first ones
/// only.
Result<Unit> write_durably(const std::vector<DurableFile>& files);
/// The same for several sets of files. Returns the result of each set: one that fails does not affect the others. Each
/// directory is synced once for all sets. One descriptor is open for each path.
std::vector<Result<Unit>> write_each_durably(const std::vector<std::vector<DurableFile>>& sets);

/// Creates or replaces the file atomically without syncing: readers find the old or the new text, also after
/// this process was killed. After a power failure the file may be missing, empty, or old.
Result<Unit> write_whole(const std::string& path, std::string_view text, unsigned mode = 0644);

/// Afterwards neither the file nor its temporary file exists, also after a power failure. A missing file is
/// no error.
Result<Unit> remove_durably(const std::string& path);

/// Removes temporary files of killed writers: ".<name>.tmp" in the directory if is_ours(name) is true.
/// Returns their number; 0 without a directory. Requires: no concurrent write_durably() into the directory.
/// Errors: kDenied, kIo.
Result<size_t> remove_temporaries(const std::string& directory,
                                  const std::function<bool(std::string_view name)>& is_ours);

/// Reads a file of this program. Follows links and does not wait for writers: a concurrent write may be read
/// in part, except one of write_durably().
/// Errors: kNotFound, kDenied, kTooLarge, kInvalid (not a regular file), kIo.
Result<std::string> read_whole(const std::string& path, size_t size_max);

/// Returns the names in a directory, sorted, without those that start with a dot; empty without a directory.
/// Errors: kTooLarge for more than count_max, kDenied, kIo.
Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max);

/// The same with only the names for which is_wanted(name) is true; others do not count. For directories with
/// files of other programs.
Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max,
                                            const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace sliced::reactor
