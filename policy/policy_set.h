#pragma once
// The policies of all kinds as one value: what is decided from, beside host and Node. Immutable once it is made;
// decisions on a worker hold it while the next one is put together. Policies are shared between sets, so that an
// edit of one copies one.
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "policy/exposure/policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/shared.h"

namespace sliced::policy {

/// Everything that is decided from, beside the host: immutable and shared.
struct PolicySet {
  std::vector<Shared<SriovPolicy>> sriov;            // highest priority first, then name, then namespace
  std::vector<Shared<DeviceAttributes>> attributes;  // by name, then namespace
  std::vector<Shared<ExposurePolicy>> exposures;     // highest priority first, then name
  /// By SriovResourcePolicy: what of it is looked at for a VF at most.
  std::vector<uint64_t> filter_entries;
  /// By SriovResourcePolicy: what of DeviceAttributes its configs look at, at most.
  std::vector<uint64_t> attribute_entries;
  /// The readiness of some of them asks what was published before (stableFor, onLoss other than withdraw).
  bool looks_back = false;
  /// The readiness of some of them requires nodeState.
  bool asks_node_state = false;
  /// Of all SriovResourcePolicies: values of node selectors to look at.
  uint64_t node_selector_entries = 0;
};
using PolicySetPtr = std::shared_ptr<const PolicySet>;
/// Puts them into the order of evaluation, and counts what they may ask for at most: budgets of work are dealt
/// out by these numbers (budget.h). Pure; takes a sort of each kind.
PolicySet make_policy_set(std::vector<Shared<SriovPolicy>> sriov,
                          std::vector<Shared<DeviceAttributes>> attributes,
                          std::vector<Shared<ExposurePolicy>> exposures = {});

/// For tests and commands, which have values; watchers make each Shared as its object comes.
template <class T>
std::vector<Shared<T>> share(std::vector<T> all) {
  return {std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
}

}  // namespace sliced::policy
