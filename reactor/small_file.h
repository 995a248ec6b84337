#pragma once
// Reads whole small files: certificates, keys, tokens.
#include <cstddef>
#include <string>

#include "reactor/base/result.h"

namespace sliced::reactor {

constexpr size_t kSmallFileBytesMax = 1u << 20;

/// Blocks like the file system, but not on pipes and devices. Errors: kNotFound, kDenied, kIo, kInvalid (not
/// a regular file), kTooLarge (1 MiB); each names the file.
Result<std::string> read_small_file(const std::string& path);

}  // namespace sliced::reactor
