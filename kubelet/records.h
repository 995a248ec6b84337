#pragma once
// Reads the claims that earlier processes prepared: from sliced's checkpoint, from that of dra-driver-sriov
// at the first start, or from CDI specs.
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// Effects that a reboot undid are not marked as done (kubelet/recall.h, undo_by_reboot()).
struct Records {
  PreparedClaims claims;
  std::string from = "nothing";
  bool is_checkpoint = false;        // `from` is sliced's checkpoint, complete
  std::string problem;               // why the checkpoint was not used; "" if it was, or there is none
  OriginalMacs original_macs;        // of this boot, as the files will be
  FileChange original_files_change;  // the change that updates these files, including those of
                                     // original_settings
  OriginalSettingsByDevice original_settings;  // of this boot
  std::vector<std::string> unknown_macs;       // VFs on vfio-pci whose original address is unknown
  std::vector<std::string> unknown;            // devices on vfio-pci whose original facts are unknown
  std::string leftovers;                       // why temporary files could not be removed; "" if they were
  std::string unread;                          // why nothing was read now, while a later attempt may succeed;
                                               // "" if it was
};

/// Blocks; for a worker.
///  - drivers: those whose specs are read without a checkpoint.
///  - boot_id: of this boot; "" if unknown, which counts as another boot.
///  - sets_macs: pods' addresses replace VFs' own (--mac-annotation). Then the original address is unknown
///    for a VF that is only known from specs, has an enforced address, and has no file.
///  - may_wait: a checkpoint that the disk cannot read now is left for a later attempt; otherwise it is set
///    aside.
/// A checkpoint that cannot be decoded is set aside, and never prevents the start. The one of
/// dra-driver-sriov is read only without sliced's own, which is at the first start, and stays unchanged.
Records read_records(const Host& host, const std::vector<std::string>& drivers, const std::string& boot_id,
                     bool may_wait = false, bool sets_macs = false);

}  // namespace sliced::kubelet
