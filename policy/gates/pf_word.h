#pragma once
// Decides whether the VF settings read from a PF are recent enough: they must have been queried after a policy began to require them
// (docs/design/word-of-pfs.md).
//
// Additions:  wait until the PF has answered one query.
// Published:  entries stay unchanged until then, at most for kWordMax; then the known values count.
// New device: (and all devices in the first decision) a value that is at most kYoungWord old counts.
#include "policy/inputs.h"

namespace sliced::policy {

inline constexpr Millis kWordMax{2'000};
inline constexpr Millis kYoungWord{2'000};

/// Whether the PF has, or may have, an interface to query. True for an unknown PF.
bool can_be_asked(const Inputs& in, const hotplug::PciAddress& pf);
/// Returns the conditions that need a query of the PF. Empty if there are none, if the PF cannot be queried and no condition depends on it, or
/// if every known value counts (Inputs::query_times).
ConditionSet asked_of_pf(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand);
/// Requires: asked is not empty, and a result of asked_of_pf().
TimePoint asked_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked);

/// Conditions whose known values do not count yet, and until when (for published entries).
struct Untold {
  ConditionSet conditions;
  TimePoint until{};
  bool is_any() const { return conditions.any(); }
};
/// asked: a result of asked_of_pf(). stands: for a published entry of the device; otherwise for an addition.
Untold untold(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked, bool stands);

}  // namespace sliced::policy
