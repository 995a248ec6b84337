#pragma once
// Files that are named on the command line.
#include <string>

#include "reactor/base/result.h"

namespace sliced::cli {

/// The whole file, or standard input for "-". Blocks.
/// Errors: kTooLarge beyond bytes_max, kIo; the text does not name the file.
Result<std::string> read_whole(const std::string& path, size_t bytes_max);

}  // namespace sliced::cli
