#pragma once
// The MAC address that a PF enforced for a VF before a pod's was written over it: one small file per VF, beside the checkpoint
// and independent of it. Written and synced before the first write to the VF, removed when the VF is given back. So a
// checkpoint that is cut, lost or damaged does not lose the address.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::kubelet {

struct OriginalMac {
  std::string pci;      // of the VF
  std::string pf;       // PCI address of its PF; "" unknown
  std::string boot_id;  // VFs are made anew by each boot; "" unknown
  std::string mac;      // kNoMac: the PF enforced none. "" unknown: nothing read later takes its place
  /// Of an unknown one: what the PF enforced when the VF was given back, which may be a pod's; "" it was not given back. Once
  /// the PF enforces another address, it was set by the host, and the original is known again.
  std::string left = {};
  bool operator==(const OriginalMac&) const = default;
};
/// By the VF's PCI address.
using OriginalMacs = std::map<std::string, OriginalMac>;

/// One line of JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge.
std::string encode_original_mac(const OriginalMac& value);
Result<OriginalMac> decode_original_mac(std::string_view text);

/// The address to give back to the VF; "" unknown. kept: of its file; null: there is none, so the PF still enforces its own.
/// now: what the PF enforces; "" it was not read. One that could not be given back (multicast) is unknown as well.
std::string original_mac(const OriginalMac* kept, const std::string& now);

/// Returns the sentences of unknown_mac_text() for all whose address is unknown, by the VF. now: what the PF enforces for that VF;
/// "" unknown. One that was set again since the VF was given back is known.
std::map<std::string, std::string> unknown_macs(
    const OriginalMacs& all, const std::function<std::string(const std::string& pci)>& now);
/// "0000:03:00.2: original MAC address unknown: ..." with what that means for the VF, and the remedy.
std::string unknown_mac_text(const OriginalMac& one);

/// The directory of these files, which is nobody else's. Every call blocks, and is for a worker.
/// Threads: const, safe from workers; two calls about one VF come one after the other.
class OriginalMacFiles {
 public:
  static constexpr size_t kFilesMax = 65'536;
  explicit OriginalMacFiles(std::string directory) : directory_(std::move(directory)) {}

  /// What is kept, in order. A file that cannot be understood is kept too: as one of its VF that is unknown.
  /// Errors: of the directory (kDenied, kIo, kTooLarge). No directory: none.
  Result<std::vector<OriginalMac>> read() const;
  /// On disk when it returns. Errors: kInvalid for a text that is no PCI address, kDenied, kIo.
  Result<Unit> write(const OriginalMac& value) const;
  /// One that is not there is no error.
  Result<Unit> remove(const std::string& pci) const;
  /// What a writer that was killed left. Requires: nothing is written meanwhile.
  Result<Unit> remove_temporaries() const;

 private:
  Result<std::string> path_of(const std::string& pci) const;
  const std::string directory_;
};

}  // namespace sliced::kubelet
