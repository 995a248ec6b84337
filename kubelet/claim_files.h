#pragma once
// The files that follow what is prepared: CDI specs, what Multus reads, device metadata. Pure.
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// drivers: all whose specs of a pod are looked after, since one pod may have claims of both.
struct FileSettings {
  std::vector<std::string> drivers;
  std::string device_info_directory = {};  // "" there are none
  bool writes_device_infos = true;         // MULTUS; what was written in that mode is removed in any
  bool tells_metadata = false;
};

/// Of a claim among all that are prepared, it included: its spec, its pod's, its device infos and metadata.
/// The pod's spec is made of all claims of that pod, so each prepare of one of them writes it anew.
FileChange files_of(const PreparedClaim& claim, const PreparedClaims& prepared, const FileSettings& settings);
/// The same, where a record of the claim was there before: files that only that one has are removed.
FileChange files_of(const PreparedClaim& claim, const PreparedClaim& before, const PreparedClaims& prepared,
                    const FileSettings& settings);
/// Its metadata alone.
FileChange metadata_change(const PreparedClaim& claim, const FileSettings& settings);
/// The same files away; prepared has it no more.
FileChange removal_of(const PreparedClaim& claim, const PreparedClaims& prepared,
                      const FileSettings& settings);

}  // namespace sliced::kubelet
