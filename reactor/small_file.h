#pragma once
// Whole files that are small: certificates, keys, tokens.
#include <cstddef>
#include <string>

#include "reactor/base/result.h"

namespace sliced::reactor {

constexpr size_t kSmallFileBytesMax = 1u << 20;

/// Blocks, as the file's system does; a pipe or a device is no file here, and holds nobody.
/// Errors: kNotFound, kDenied, kIo, kInvalid (no regular file), kTooLarge (1 MiB); each names the file.
Result<std::string> read_small_file(const std::string& path);

}  // namespace sliced::reactor
