#pragma once
// A few named texts as one file: a tar (POSIX ustar), compressed with zstd (RFC 8878), so that `tar --zstd -xf` shows it to
// people. Pure.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::snapshot {

/// By name: at most 100 bytes, no '/'.
using Members = std::map<std::string, std::string>;

/// Of the file; of what it is uncompressed; of its members, those that are no regular files counted.
inline constexpr size_t kArchiveBytesMax = 32u << 20, kUnpackedBytesMax = 64u << 20;
inline constexpr size_t kMembersMax = 64;

std::string pack(const Members& members);
/// Only regular files are read; what else a tar may hold is passed over.
/// Errors: kTooLarge beyond the bounds, kInvalid for what is no such file or is cut off.
Result<Members> unpack(std::string_view bytes);

}  // namespace sliced::snapshot
