#pragma once
// What was prepared here before this process began, from wherever it is told: our checkpoint, that of
// dra-driver-sriov at the first start, or the CDI specs.
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// What of it another boot has undone is not said to be done (kubelet/recall.h, forget_boot()).
struct Records {
  PreparedClaims claims;
  std::string from = "nothing";
  bool is_checkpoint = false;       // from is ours, whole
  std::string problem;              // why it is not the checkpoint that tells; "" it does, or there is none
  OriginalMacs original_macs;       // of this boot, as they are to be on disk
  FileChange original_macs_change;  // what makes the disk so, of original_settings too
  OriginalSettingsByDevice original_settings;  // of this boot
  std::vector<std::string> unknown_macs;       // VFs on vfio-pci whose address of before is unknown
  std::vector<std::string> unknown;            // devices on vfio-pci whose facts of before nobody knows
  std::string leftovers;                       // why temporary files could not be removed; "" they were
  std::string unread;                          // why nothing was read, and may be later; "" it was
};

/// Blocks: for a worker. drivers: whose specs are looked at where no checkpoint tells. boot_id: of this boot, "" not known,
/// which counts as another one.
/// A checkpoint that cannot be understood is set aside and never keeps anything from starting. dra-driver-sriov's is read
/// where there is none of ours, which is at the first start alone, and is left as it is.
/// sets_macs: pods' addresses are written over VFs' own (--mac-annotation). Then a VF that specs alone tell of, whose PF enforces
/// an address, and of which no file tells, may have a pod's: its own is unknown.
/// may_wait: what a disk does not give is not spoilt, and is asked for again by whoever can; else it is set aside as well.
Records read_records(const Host& host, const std::vector<std::string>& drivers, const std::string& boot_id,
                     bool may_wait = false, bool sets_macs = false);

}  // namespace sliced::kubelet
