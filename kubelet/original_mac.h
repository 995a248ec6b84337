#pragma once
// The MAC address that a PF enforced for a VF before sliced replaced it by a pod's: one small file per VF,
// independent of the checkpoint. It is written and synced before the first write to the VF, and removed after
// the VF is restored. So a lost or damaged checkpoint does not lose the address.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {

struct OriginalMac {
  std::string pci;      // of the VF
  std::string pf;       // PCI address of its PF; "" if unknown
  std::string boot_id;  // each boot creates new VFs; "" if unknown
  std::string mac;      // kNoMac: the PF enforced none. "": unknown; a later reading does not replace it
  /// If the original is unknown: the address that the PF enforced when the VF was returned, which may be a
  /// pod's; "" if it was not returned yet. If the PF enforces another address later, the host has set it, and
  /// it becomes the original.
  std::string left = {};
  bool operator==(const OriginalMac&) const = default;
};
/// By the VF's PCI address.
using OriginalMacs = std::map<std::string, OriginalMac>;

/// One line of JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge.
std::string encode_original_mac(const OriginalMac& value);
Result<OriginalMac> decode_original_mac(std::string_view text);

/// Returns the address to restore; "" if unknown, or not restorable (multicast). kept: the VF's file; null:
/// none, so the PF still enforces the original. now: the address that the PF enforces; "" if it was not read.
std::string original_mac(const OriginalMac* kept, const std::string& now);

/// Returns unknown_mac_text() by VF, for each unknown address. now: returns the address that the PF enforces
/// for that VF; "" if unknown. An address that was set after the VF was returned is known.
std::map<std::string, std::string> unknown_macs(
    const OriginalMacs& all, const std::function<std::string(const std::string& pci)>& now);
/// Returns "0000:03:00.2: original MAC address unknown: ..." with the consequence and the remedy.
std::string unknown_mac_text(const OriginalMac& one);

/// The directory of these files; sliced owns it. Every call blocks; for a worker. Threads: const, safe on
/// workers; the caller serializes calls about one VF.
class OriginalMacFiles {
 public:
  static constexpr size_t kFilesMax = 65'536;
  explicit OriginalMacFiles(std::string directory) : directory_(std::move(directory)) {}

  /// Returns all files, sorted. A file that cannot be decoded counts as an unknown address of its VF. A
  /// missing directory is empty. Errors: of the directory (kDenied, kIo, kTooLarge).
  Result<std::vector<OriginalMac>> read() const;
  /// Writes and syncs. Errors: kInvalid for a text that is not a PCI address, kDenied, kIo.
  Result<Unit> write(const OriginalMac& value) const;
  /// Returns the file without writing it, for callers that write several at a time.
  Result<reactor::DurableFile> file_of(const OriginalMac& value) const;
  /// A missing file is not an error.
  Result<Unit> remove(const std::string& pci) const;
  /// Removes temporary files that a killed writer left. Requires: no writer runs.
  Result<Unit> remove_temporaries() const;

 private:
  Result<std::string> path_of(const std::string& pci) const;
  const std::string directory_;
};

}  // namespace sliced::kubelet
