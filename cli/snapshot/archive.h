#pragma once
// A few named texts as one file: a tar (POSIX ustar), compressed with zstd (RFC 8878), so that `tar --zstd -xf` shows it to
// people. Pure.
// Of one version of zstd the same members give the same bytes: times and owners are 0.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::snapshot {

/// By name: at most 99 bytes, no '/'.
using Members = std::map<std::string, std::string>;

/// Of the file; of what it is uncompressed; of its members, those that are no regular files counted.
inline constexpr size_t kArchiveBytesMax = 32u << 20, kUnpackedBytesMax = 64u << 20;
inline constexpr size_t kMembersMax = 64;

/// Not bounded: whoever packs knows what is in it. Mode 0600, uid and gid 0.
std::string pack(const Members& members);
/// Only regular files are read; what else a tar may hold is passed over, and so are names with a '/'. "./" in
/// front is dropped, as `tar -c .` writes it; of one name the last counts. Nothing is written anywhere.
/// Errors: kTooLarge beyond the bounds, kInvalid for what is no such file or is cut off.
/// Memory: what it is uncompressed, and once more for the members; a window of zstd of 128 MiB at most (RFC 8878).
Result<Members> unpack(std::string_view bytes);

}  // namespace sliced::snapshot
