#pragma once
// Small files that are never seen half written, most of them also after a power cut. Knows neither loop nor libuv; every call blocks, so
// workers make them.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::reactor {

/// Makes or replaces the file: whoever opens it, also after a power cut, finds the text of before or this one.
/// A temporary file beside it (".<name>.tmp") is written, synced and renamed, then the directory is synced.
/// The directory is made where it is missing (0755).
/// Errors: kDenied, kIo; the text has the path and what the system said.
Result<Unit> write_durably(const std::string& path, std::string_view text, unsigned mode = 0644);

/// mode: as it will be, whatever the umask is (fchmod), since container runtimes and kubelets read some of
/// these files under other users.
struct DurableFile {
  std::string path, text;
  unsigned mode = 0644;
};
/// Several, each as above, and faster than one after the other: what all of them ask of the disk is asked at
/// once, and a directory is synced once for all of its files. They are named in their order, of several with
/// one path the last. After an error some may be there. None has its name before all of them are written and
/// synced, so that a full disk leaves everything as it was; a power cut between two renames may leave the
/// first of them alone.
Result<Unit> write_durably(const std::vector<DurableFile>& files);

/// Makes or replaces the file, as above but for the disk: whoever opens it while this kernel runs finds the text of before or this one, also after
/// this process was killed. After a power cut the file may be missing, be empty, or have the text of before.
Result<Unit> write_whole(const std::string& path, std::string_view text, unsigned mode = 0644);

/// Afterwards neither the file nor its temporary file exists, also after a power cut. One that is not there is no error.
Result<Unit> remove_durably(const std::string& path);

/// Removes the temporary files of writers that were killed: files ".<name>.tmp" in the directory for which is_ours(name) is
/// true. Yields their number; 0 without a directory.
/// Requires: no write_durably() into the directory runs meanwhile. Errors: kDenied, kIo.
Result<size_t> remove_temporaries(const std::string& directory,
                                  const std::function<bool(std::string_view name)>& is_ours);

/// Errors: kNotFound, kDenied, kTooLarge, kInvalid (no regular file), kIo.
/// The file of a path that somebody writes meanwhile may be read half; one of write_durably() never is.
/// Follows links, and waits for nobody: for files of our own.
Result<std::string> read_whole(const std::string& path, size_t size_max);

/// Names in a directory, sorted, without those that begin with a dot; none where there is no directory.
/// Errors: kTooLarge for more than count_max, kDenied, kIo.
Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max);

/// Only the names for which is_wanted(name) is true. Others do not count, however many there are: for a directory in which other
/// programs have files, too.
Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max,
                                            const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace sliced::reactor
