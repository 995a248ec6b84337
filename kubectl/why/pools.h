#pragma once
// The pools and devices that a node sees: newest generation, completeness, validity, as in GatherPools of
// k8s.io/dynamic-resource-allocation/structured.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/selector.h"
#include "kubectl/why/features.h"
#include "kubectl/why/slice.h"

namespace sliced::why {

/// Identity of a device.
struct DeviceId {
  std::string_view driver, pool, device;  // views into a slice or a claim
  auto operator<=>(const DeviceId&) const = default;
};
std::string describe(const DeviceId& id);  // "driver/pool/device"

using PoolId = std::pair<std::string, std::string>;  // driver, name

/// The slices of a whole cluster, by node and by pool. Immutable. Contains all generations; gather_pools()
/// selects. A missing key is an empty list.
class SliceIndex {
 public:
  explicit SliceIndex(std::vector<SlicePtr> slices);
  const std::vector<SlicePtr>& of_node(const std::string& node) const;
  const std::vector<SlicePtr>& of_no_node() const { return of_no_node_; }  // without spec.nodeName
  const std::vector<SlicePtr>& of_pool(const PoolId& pool) const;
  const std::map<PoolId, std::vector<SlicePtr>>& pools() const { return by_pool_; }

 private:
  std::map<std::string, std::vector<SlicePtr>> by_node_;
  std::map<PoolId, std::vector<SlicePtr>> by_pool_;
  std::vector<SlicePtr> of_no_node_;
};

/// A device of a pool, available on this node unless is_here is false. Valid as long as its slice.
struct Candidate {
  const kube::Device* device = nullptr;
  const Slice* slice = nullptr;
  bool is_here = true;  // false: perDeviceNodeSelection excludes this node
  bool binds = false;   // has bindingConditions
  DeviceId id() const { return {slice->common.driver, slice->common.pool.name, device->name}; }
};

/// A node's view of a pool. An incomplete or invalid pool cannot be allocated from: devices, elsewhere and
/// counter_sets are empty then. Ignored: slices of older generations, slices with compatibilityGroups
/// (alpha), and without partitionable devices slices with counters or perDeviceNodeSelection.
struct Pool {
  /// slices_here: those for this node or, if these are fewer than resourceSliceCount, of all nodes.
  PoolId id;
  int64_t generation = 0, slices_here = 0, slices_wanted = 0;
  bool is_incomplete = false;
  std::string invalid;  // the reason; "" if it is valid
  /// Slices by name, and the devices of each in order.
  std::vector<Candidate> devices;              // in the order in which they are tried
  std::vector<const kube::Device*> elsewhere;  // of the same pool, and not on this node: for counters
  std::map<std::string_view, const kube::Counters*> counter_sets;
  std::vector<SlicePtr> slices;  // owners of the above
  bool is_usable() const { return !is_incomplete && invalid.empty(); }
};

/// Returns the pools in the order in which they are tried: by name, those with binding conditions last. If
/// slices of a pool are missing and other nodes have a newer generation of it, the pool is omitted: this
/// node's part is obsolete. as_if_complete: treats incomplete pools as complete. Ownership: pools hold their
/// slices; candidates and counters point into these.
std::vector<Pool> gather_pools(const SliceIndex& slices, const kube::NodeView& node, const Features& features,
                               bool as_if_complete = false);

}  // namespace sliced::why
