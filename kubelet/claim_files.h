#pragma once
// The files that follow from the prepared claims: CDI specs, device infos for Multus, device metadata. Pure.
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// drivers: all drivers of this process. A pod's specs cover all of them, because one pod may have claims of
/// several.
struct FileSettings {
  std::vector<std::string> drivers;
  std::string device_info_directory = {};  // "" if no device infos are written
  bool writes_device_infos = true;         // mode MULTUS. Files that were written in that mode are removed in
                                           // any mode
  bool writes_metadata = false;            // writes device metadata (kubelet/device_metadata.h)
};

/// Returns the claim's spec, its pod's spec, its device infos and its metadata. Requires: `prepared` includes
/// the claim. The pod's spec depends on all claims of the pod, so each prepare of one of them rewrites it.
FileChange files_of(const PreparedClaim& claim, const PreparedClaims& prepared, const FileSettings& settings);
/// The same for a claim that replaces its record `before`: files that only the old record has are removed.
FileChange files_of(const PreparedClaim& claim, const PreparedClaim& before, const PreparedClaims& prepared,
                    const FileSettings& settings);
/// Returns the claim's metadata only.
FileChange metadata_change(const PreparedClaim& claim, const FileSettings& settings);
/// Returns the removal of the claim's files. Requires: `prepared` no longer includes the claim.
FileChange removal_of(const PreparedClaim& claim, const PreparedClaims& prepared,
                      const FileSettings& settings);

}  // namespace sliced::kubelet
