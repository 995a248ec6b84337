#pragma once
// The pools to publish, as a decision results in them, independent of the existing slices. publishers/
// derives slices, their names and generations.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/reserved/record.h"

namespace sliced::policy {

/// One pool. Consumers use a pool only when all slices of its highest generation exist
/// (ResourcePool.resourceSliceCount), so it is published as a whole.
/// Compared as a value, devices by pointer first, so that comparing unchanged pools is cheap.
struct DesiredPool {
  std::string driver, name;
  std::vector<kube::DevicePtr> devices;  // by name
  std::vector<kube::CounterSet> counters;
  bool can_count = false;              // it has counters, or may get them
  bool skips_node_operations = false;  // pods start without a call of a plugin on the node
  std::string excludes;                // record of the excludes, for each slice with entries of functions
                                       // (exclude_record.h)
  // Set by the ledger (reserved/ledger.h):
  Record record;  // record of withdrawn entries, for the first slice
  Groups groups;  // exclusionGroups of its entries, if can_count
  bool operator==(const DesiredPool&) const = default;
};

/// By driver. Contains both drivers, also one without pools.
using DesiredPools = std::map<std::string, std::vector<DesiredPool>>;
using DesiredPoolsPtr = std::shared_ptr<const DesiredPools>;

}  // namespace sliced::policy
