#pragma once
// Reads and writes files of the command line.
#include <functional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cli {

/// Returns the whole file, or standard input for "-". Blocks. Errors: kTooLarge beyond bytes_max, kIo; the
/// text does not name the file.
Result<std::string> read_whole(const std::string& path, size_t bytes_max);

/// Calls each for every line, without its end, of a file or stream of any length. Blocks. Errors: kTooLarge
/// for a line beyond line_bytes_max, kIo; the text does not name the file.
Result<Unit> for_each_line(const std::string& path, size_t line_bytes_max,
                           const std::function<void(std::string_view)>& each);

/// Creates or replaces a file atomically: writes a temporary file beside it, with owner and mode of the old
/// one, and renames it. Keeps a symbolic link, also a dangling one. Writes in place if the file cannot be
/// replaced (no write access to its folder, or a mount point) or is not a regular file; an open descriptor
/// (/dev/stdout, /dev/fd/N) is continued at its position. Blocks. Errors: kIo; the text does not name the
/// file. A file without write permission is not replaced.
Result<Unit> write_whole(const std::string& path, std::string_view bytes);

}  // namespace sliced::cli
