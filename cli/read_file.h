#pragma once
// Files that are named on the command line.
#include <functional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cli {

/// The whole file, or standard input for "-". Blocks.
/// Errors: kTooLarge beyond bytes_max, kIo; the text does not name the file.
Result<std::string> read_whole(const std::string& path, size_t bytes_max);

/// Each line without its end, one after the other, of a file or stream of any length. Blocks.
/// Errors: kTooLarge of a line beyond line_bytes_max, kIo; the text does not name the file.
Result<Unit> for_each_line(const std::string& path, size_t line_bytes_max,
                           const std::function<void(std::string_view)>& each);

/// Makes or replaces a file, which is then there whole, or as it was before: one beside it is written, with owner and mode of the
/// old one, and renamed. A link stays a link, also one that leads to nothing yet. Where nobody may put another file in its place (its
/// folder is not theirs, it is mounted alone) it is written as it stands, and so is what is no regular file; an open descriptor
/// (/dev/stdout, /dev/fd/N) is written on from where it stands. Blocks.
/// Errors: kIo; the text does not name the file. One that may not be written is not replaced either.
Result<Unit> write_whole(const std::string& path, std::string_view bytes);

}  // namespace sliced::cli
