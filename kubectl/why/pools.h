#pragma once
// Which pools a node sees, and which devices of them: newest generation, completeness, validity, as
// k8s.io/dynamic-resource-allocation/structured GatherPools has it.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/selector.h"
#include "kubectl/why/features.h"
#include "kubectl/why/slice.h"

namespace sliced::allocation {

/// A device as everybody names it.
struct DeviceId {
  std::string_view driver, pool, device;  // views into a slice or a claim
  auto operator<=>(const DeviceId&) const = default;
};
std::string describe(const DeviceId& id);  // "driver/pool/device"

using PoolId = std::pair<std::string, std::string>;  // driver, name

/// The slices of a whole cluster, found by node and by pool. Immutable.
/// Every generation is in it: which one counts is gather_pools()'s to say. What is not there is an empty list.
class SliceIndex {
 public:
  explicit SliceIndex(std::vector<SlicePtr> slices);
  const std::vector<SlicePtr>& of_node(const std::string& node) const;
  const std::vector<SlicePtr>& of_no_node() const { return of_no_node_; }  // others than by spec.nodeName
  const std::vector<SlicePtr>& of_pool(const PoolId& pool) const;
  const std::map<PoolId, std::vector<SlicePtr>>& pools() const { return by_pool_; }

 private:
  std::map<std::string, std::vector<SlicePtr>> by_node_;
  std::map<PoolId, std::vector<SlicePtr>> by_pool_;
  std::vector<SlicePtr> of_no_node_;
};

/// A device of a pool, on this node unless it says otherwise. Lives as long as its slice.
struct Candidate {
  const kube::Device* device = nullptr;
  const Slice* slice = nullptr;
  bool is_here = true;  // false: perDeviceNodeSelection puts it elsewhere
  bool binds = false;   // has bindingConditions
  DeviceId id() const { return {slice->common.driver, slice->common.pool.name, device->name}; }
};

/// What a node sees of a pool. Of an incomplete or an invalid one nothing is given away: devices, elsewhere
/// and counter_sets are empty then.
/// Passed over are slices of older generations, those with compatibilityGroups (alpha), and without
/// partitionable devices those with counters or perDeviceNodeSelection.
struct Pool {
  /// slices_here: those for this node, or, if these are not as many as resourceSliceCount says, of all nodes.
  PoolId id;
  int64_t generation = 0, slices_here = 0, slices_wanted = 0;
  bool is_incomplete = false;
  std::string invalid;  // why; "" it is valid
  /// Slices by their names, and the devices of each as they stand in it.
  std::vector<Candidate> devices;              // in the order in which they are tried
  std::vector<const kube::Device*> elsewhere;  // of the same pool, and not on this node: for counters
  std::map<std::string_view, const kube::Counters*> counter_sets;
  std::vector<SlicePtr> slices;  // owners of the above
  bool is_usable() const { return !is_incomplete && invalid.empty(); }
};

/// In the order in which they are tried: by name, those with binding conditions last.
/// Where slices of a pool are missing and other nodes have a newer generation of it, it is left out: what
/// this node has is obsolete.
/// as_if_complete: with what is there of those of which slices are missing.
/// Ownership: pools hold their slices; candidates and counters point into those.
std::vector<Pool> gather_pools(const SliceIndex& slices, const kube::NodeView& node, const Features& features,
                               bool as_if_complete = false);

}  // namespace sliced::allocation
