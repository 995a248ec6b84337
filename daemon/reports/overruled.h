#pragma once
// Finds devices that a policy would also match if another one of its kind did not precede it: conflicts
// within one kind, whose authors may not know of each other.
#include <cstdint>
#include <map>

#include "policy/decision.h"

namespace sliced::reports {

/// Result for one policy.
struct Overruled {
  int64_t devices = 0;
  std::map<int32_t, int64_t> by;  // their number for each preceding policy, by index into the same list
  bool operator==(const Overruled&) const = default;
};
/// By index into PolicySet::sriov and PolicySet::exposures.
struct OverruledPolicies {
  std::map<int32_t, Overruled> sriov, exposures;
};

/// Counts devices for which a later policy also matches and would offer them differently: a
/// SriovResourcePolicy under another resource name; a DeviceExposurePolicy, of the same suffix, with another
/// exposure. Equal offers do not count, nor do excluded devices.
/// Pure, for a worker: evaluates for each VF all policies that the decision has evaluated for some, within
/// their work budget; selectors are not evaluated again.
/// Bounds: policies that the budget skipped are not counted; the result is empty with fewer than two
/// policies.
OverruledPolicies overruled_in(const policy::Decision& decision);

}  // namespace sliced::reports
