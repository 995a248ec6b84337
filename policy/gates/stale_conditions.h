#pragma once
// Decides whether the VF settings that were read from a PF are recent enough. A PF sends no notification when
// a VF's settings change, so they must be queried after a policy began to require them
// (docs/design/word-of-pfs.md).
//
// New entries:       wait until the PF has answered one query.
// Published entries: stay unchanged until then, for at most kQueryWaitMax; then the known values count.
// New devices:       a value that is at most kRecentQuery old counts. The same holds for all devices in the
// first decision.
#include "policy/inputs.h"

namespace sliced::policy {

inline constexpr Millis kQueryWaitMax{2'000};
inline constexpr Millis kRecentQuery{2'000};

/// Returns true if the PF has, or may have, an interface to query. Also true for a PF that is not in the
/// inventory: it may appear.
bool is_queryable(const Inputs& in, const hotplug::PciAddress& pf);
/// Returns the required conditions that need a query of the device's PF. Empty if no condition needs one, if
/// the PF cannot be queried and no condition depends on it, or if every known value counts
/// (Inputs::query_times is nullopt).
ConditionSet queried_conditions(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand);
/// Returns the time since which an answer counts: a query that began then or later is recent enough.
/// Requires: `asked` is a result of queried_conditions() and not empty.
TimePoint queried_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked);

/// Conditions whose known values are too old to count, and the time until which a published entry waits for
/// the query.
struct StaleConditions {
  ConditionSet conditions;
  TimePoint until{};
  bool is_any() const { return conditions.any(); }
};
/// Returns the conditions that still wait for a query; none after kQueryWaitMax if the entry is published.
/// asked: a result of queried_conditions(). is_published: the entry is published for this device; false for a
/// new entry.
StaleConditions stale_conditions(const Inputs& in, const hotplug::HostDevice& device,
                                 const ConditionSet& asked, bool is_published);

}  // namespace sliced::policy
