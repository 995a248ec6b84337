#pragma once
// What should be published: the result of a decision, before anybody looks at what is there. Slices, their names
// and generations are made of it by publishers/.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/reserved/record.h"

namespace sliced::policy {

/// What must be published together: consumers wait until all slices of a pool's highest generation are there
/// (ResourcePool.resourceSliceCount).
/// Compared as a value, devices by pointer first: what has not changed is found the same without being looked
/// through.
struct DesiredPool {
  std::string driver, name;
  std::vector<kube::DevicePtr> devices;  // by name
  std::vector<kube::CounterSet> counters;
  bool can_count = false;              // it has counters, or could get them
  bool skips_node_operations = false;  // the kubelet starts pods without asking a plugin
  std::string excludes;  // that entries of functions stand under, for each slice with some (exclude_record.h)
  // The ledger's, not the decision's (charged/ledger.h):
  Record record;  // of what was withdrawn of it, on its first slice
  Groups groups;  // of its entries, where can_count
  bool operator==(const DesiredPool&) const = default;
};

/// By driver. Both drivers are there, also one of which nothing is to be published.
using DesiredPools = std::map<std::string, std::vector<DesiredPool>>;
using DesiredPoolsPtr = std::shared_ptr<const DesiredPools>;

}  // namespace sliced::policy
