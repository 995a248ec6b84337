#pragma once
// Which devices are allocated, by which claims, as the scheduler's allocateddevices.go counts them.
//
// Ownership: keys and holds are views into the claims, which stay where they are, unchanged, as long as a
//            Held is used.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/capacity.h"
#include "kubectl/why/claim.h"
#include "kubectl/why/pools.h"

namespace sliced::allocation {

/// One device in one claim's allocation. Points into the claim, which outlives it.
struct Hold {
  const Claim* claim = nullptr;
  bool is_share = false;
  const std::map<std::string, kube::Quantity>* consumed = nullptr;  // of a share; may be nullptr
};
using Held = std::map<DeviceId, std::vector<Hold>>;

/// What is held with admin access (KEP-5018) is held by nobody. Without consumable capacity a share is a
/// whole device. The devices need not be published: a claim keeps what was withdrawn.
Held held_by(const std::vector<Claim>& claims, const Features& features);

/// What is held of one device.
struct Use {
  bool is_exclusive = false;  // somebody has it alone
  bool is_shared = false;     // somebody has a share
  Amounts amounts;            // that the shares consume
  bool is_any() const { return is_exclusive || is_shared; }
};
/// released: claims that count as if they held nothing.
/// Linear in the holds of that device.
Use use_of(const DeviceId& id, const Held& held, const std::set<const Claim*>& released = {});

}  // namespace sliced::allocation
