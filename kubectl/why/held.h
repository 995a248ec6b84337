#pragma once
// The allocated devices and their claims, as counted by the scheduler's allocateddevices.go.
//
// Ownership: keys and holds are views into the claims, which must not move or change while a Held is used.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/capacity.h"
#include "kubectl/why/claim.h"
#include "kubectl/why/pools.h"

namespace sliced::why {

/// One device in one claim's allocation. Points into the claim, which outlives it.
struct Hold {
  const Claim* claim = nullptr;
  bool is_share = false;
  const std::map<std::string, kube::Quantity>* consumed = nullptr;  // of a share; may be nullptr
};
using Held = std::map<DeviceId, std::vector<Hold>>;

/// Devices with admin access (KEP-5018) do not count as allocated. Without consumable capacity a share counts
/// as a whole device. The devices may be withdrawn: a claim keeps them.
Held held_by(const std::vector<Claim>& claims, const Features& features);

/// The allocation of one device.
struct Use {
  bool is_exclusive = false;  // a claim holds it exclusively
  bool is_shared = false;     // a claim holds a share
  Amounts amounts;            // consumed by the shares
  bool is_any() const { return is_exclusive || is_shared; }
};
/// released: claims that count as holding nothing. Linear in the holds of that device.
Use use_of(const DeviceId& id, const Held& held, const std::set<const Claim*>& released = {});

}  // namespace sliced::why
