#pragma once
// Devices that this node still holds for a deleted ResourceClaim, or that do not have their original
// settings. Prepare fails for them and for entries that they exclude, so the gate not-returned withholds
// these entries. The kubelet plugin reports them.
#include <string>
#include <vector>

#include "policy/holding.h"

namespace sliced::policy {

/// One such device.
struct NotReturned {
  Holding holding;  // the part of the device that the claim had
  std::string pf;   // host device id of the PF of its pool, for exclude_each_other(); "" if none
  std::string
      why;  // a clause whose subject is the device: "it could not be restored: ...; the daemon tries again"
  bool operator==(const NotReturned&) const = default;
};

/// By entry; empty if the plugin is off.
using NotReturnedDevices = std::vector<NotReturned>;

}  // namespace sliced::policy
