#pragma once
// The policies of all kinds as one immutable value. Decisions on a worker hold it while the next one is
// built. Sets share policies, so that an edit of one policy copies one.
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "policy/exposure/policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/shared.h"

namespace sliced::policy {

/// The complete policies of a decision.
struct PolicySet {
  std::vector<Shared<SriovPolicy>> sriov;            // highest priority first, then name, then namespace
  std::vector<Shared<DeviceAttributes>> attributes;  // by name, then namespace
  std::vector<Shared<ExposurePolicy>> exposures;     // highest priority first, then name
  /// By SriovResourcePolicy: maximum number of filter entries that are compared for a VF.
  std::vector<uint64_t> filter_entries;
  /// By SriovResourcePolicy: maximum number of DeviceAttributes entries that its configs compare.
  std::vector<uint64_t> attribute_entries;
  /// A policy's readiness depends on published entries (stableFor, onLoss other than withdraw).
  bool looks_back = false;
  /// A policy's readiness has holdBinding.
  bool holds_binding = false;
  /// A policy's readiness requires nodeState.
  bool asks_node_state = false;
  /// Values in node selectors of all SriovResourcePolicies.
  uint64_t node_selector_entries = 0;
};
using PolicySetPtr = std::shared_ptr<const PolicySet>;
/// Sorts the policies in the order of evaluation, and counts their maximum work, by which budgets are
/// distributed (budget.h). Pure; costs a sort of each kind.
PolicySet make_policy_set(std::vector<Shared<SriovPolicy>> sriov,
                          std::vector<Shared<DeviceAttributes>> attributes,
                          std::vector<Shared<ExposurePolicy>> exposures = {});

/// For tests and commands. Watchers create each Shared when its object arrives.
template <class T>
std::vector<Shared<T>> share(std::vector<T> all) {
  return {std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
}

}  // namespace sliced::policy
