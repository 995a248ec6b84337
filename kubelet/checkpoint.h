#pragma once
// The prepared claims as one file: versioned, checksummed, and valid for one boot, because drivers, IOMMU
// groups and CDI files of an earlier boot no longer exist. Pure; kubelet/preparer.h reads and writes the
// file.
//
// The first line holds all claims that were prepared when the file was written. In an open file (version 2)
// changes follow, one line each, and spaces that later changes replace. A version of sliced that knows only
// version 1 refuses an open file. A daemon that stops closes the file.
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Holds only the state that a restarted daemon cannot read again from the host or the API server. Attributes
/// and network data are not part of it.
struct Checkpoint {
  std::string boot_id;  // proc/sys/kernel/random/boot_id at the time of writing
  PreparedClaims claims;
  bool is_open = false;  // version 2: changes may follow
  // Of a file that was read, without its last change:
  bool is_cut = false;      // its beginning is there, and room behind it: a kill interrupted its write
  bool is_damaged = false;  // it cannot be read
  bool operator==(const Checkpoint&) const = default;
};

/// Claims that are new or changed, and keys of those that are no longer prepared.
struct CheckpointChange {
  std::vector<const PreparedClaim*> claims;
  std::vector<PreparedKey> removed;
};

inline constexpr size_t kCheckpointBytesMax = size_t{32} << 20;
/// Limit for the claims of one namespace. Users of a namespace write its network definitions, and must not
/// prevent claims of other namespaces from being prepared.
inline constexpr size_t kCheckpointNamespaceBytesMax = kCheckpointBytesMax / 4;
inline constexpr size_t kCheckpointClaimsMax = 8'192;
/// Of the changes that follow the first line.
inline constexpr size_t kCheckpointChangesBytesMax = size_t{512} << 10;
inline constexpr size_t kCheckpointFileBytesMax = kCheckpointBytesMax + kCheckpointChangesBytesMax;

/// Returns one line of JSON with a version and a checksum over the rest. Each distinct
/// PreparedDevice::network appears once. Equal claims give equal bytes.
std::string encode_checkpoint(const Checkpoint& checkpoint);
/// Returns one line that follows it. number: 1 for the first change behind the first line, then 2, ...
std::string encode_change(const CheckpointChange& change, size_t number);
/// Decodes a whole file. Leaves out a last change that is not complete: a kill or a power cut interrupted its
/// write, and the kubelet got no answer.
/// Errors: kInvalid if the text is truncated, edited, lacks a change, or is of an unknown version; the message
/// says which. kTooLarge above kCheckpointFileBytesMax.
Result<Checkpoint> decode_checkpoint(std::string_view text);

}  // namespace sliced::kubelet
