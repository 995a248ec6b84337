#pragma once
// Which devices a policy would take as well, if another one of its kind were not asked first: conflicts within one kind, which
// the rules resolve and whose writers may not know of each other.
#include <cstdint>
#include <map>

#include "policy/decision.h"

namespace sliced::reports {

/// Of one policy.
struct Overruled {
  int64_t devices = 0;
  std::map<int32_t, int64_t> by;  // how many of them each of the winners has, by index into the same list
  bool operator==(const Overruled&) const = default;
};
/// By index into PolicySet::sriov and PolicySet::exposures.
struct OverruledPolicies {
  std::map<int32_t, Overruled> sriov, exposures;
};

/// Counted are devices that a policy takes and a later one would have taken and offered in another way: a
/// SriovResourcePolicy under another resource name; a DeviceExposurePolicy, of the same suffix, with another exposure. Of who would
/// offer the same nobody loses anything. What is excluded is nobody's.
/// Pure, for a worker: it asks of each VF all policies that the decision has asked of some, and so within their budget of work;
/// selectors are not asked again.
/// Bounds: policies that the budget leaves unasked are not counted; with fewer than two that are asked there
///         is nothing to count.
OverruledPolicies overruled_in(const policy::Decision& decision);

}  // namespace sliced::reports
