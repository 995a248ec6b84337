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

/// Makes or replaces a file, which is then there whole, or as it was before: a file beside it is written and renamed. What is no
/// regular file (a pipe, a device) is written to as it is, and a link to one stays a link. Blocks.
/// Errors: kIo; the text does not name the file.
Result<Unit> write_whole(const std::string& path, std::string_view bytes);

}  // namespace sliced::cli
