#pragma once
// Devices that the node still holds for a ResourceClaim that is gone: preparing another claim of them fails until the node has
// given them back, so nothing that needs them is offered meanwhile. A value that the kubelet plugin reports.
#include <string>
#include <vector>

#include "policy/holding.h"

namespace sliced::policy {

/// One device of such a claim.
struct NotReturned {
  Holding holding;  // what the claim had of the device
  std::string pf;   // host device id of the PF of its pool, as exclude_each_other() takes it; "" none
  std::string
      why;  // a clause whose subject is the device: "it could not be given back: ...; the daemon tries again"
  bool operator==(const NotReturned&) const = default;
};

/// In order of entry; empty where the plugin is off.
using AllNotReturned = std::vector<NotReturned>;

}  // namespace sliced::policy
