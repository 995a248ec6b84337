#pragma once
// Named texts as one file: a tar (POSIX ustar), compressed with zstd (RFC 8878), readable with `tar --zstd
// -xf`. Pure. Deterministic for one version of zstd: times and owners are 0.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::snapshot {

/// By name: at most 99 bytes, without '/'.
using Members = std::map<std::string, std::string>;

/// Limits of the file, of its uncompressed size, and of its members, including those that are not regular
/// files.
inline constexpr size_t kArchiveBytesMax = 32u << 20, kUnpackedBytesMax = 64u << 20;
inline constexpr size_t kMembersMax = 64;

/// Packs without limits. Mode 0600, uid and gid 0.
std::string pack(const Members& members);
/// Returns the regular files; ignores other members, and names with a '/'. Removes a leading "./", as written
/// by `tar -c .`; the last member of a name counts. Writes nothing. Errors: kTooLarge beyond the limits,
/// kInvalid for another format or a truncated file. Memory: the uncompressed size, and once more for the
/// members; a zstd window of at most 128 MiB (RFC 8878).
Result<Members> unpack(std::string_view bytes);

}  // namespace sliced::snapshot
