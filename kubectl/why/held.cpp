#include "kubectl/why/held.h"

namespace sliced::why {

Held held_by(const std::vector<Claim>& claims, const Features& features) {
  Held out;
  for (const Claim& claim : claims) {
    if (!claim.allocation) continue;
    for (const AllocationResult& one : claim.allocation->devices) {
      if (one.admin_access) continue;
      const bool is_share = one.is_share && features.consumable_capacity;
      out[{one.driver, one.pool, one.device}].push_back(
          {&claim, is_share, is_share && one.consumed ? &*one.consumed : nullptr});
    }
  }
  return out;
}

Use use_of(const DeviceId& id, const Held& held, const std::set<const Claim*>& released) {
  Use out;
  const auto found = held.find(id);
  if (found == held.end()) return out;
  for (const Hold& hold : found->second) {
    if (released.contains(hold.claim)) continue;
    (hold.is_share ? out.is_shared : out.is_exclusive) = true;
    if (hold.consumed == nullptr) continue;
    for (const auto& [key, amount] : *hold.consumed) out.amounts[key] += amount.nanos();
  }
  return out;
}

}  // namespace sliced::why
