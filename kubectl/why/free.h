#pragma once
// Computes which devices the scheduler can still allocate: the column FREE. A device is free if it is not
// allocated, has no taint that keeps pods away, its pool is complete, and the pool's remaining counters
// (KEP-4815) are sufficient. Each is judged alone: allocating one may leave none for others.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "kubectl/why/capacity.h"

namespace sliced::why {

/// Amounts by "counter set/counter".
Amounts counter_amounts(const kube::CounterConsumption& of);
Amounts counter_amounts(const std::vector<kube::CounterConsumption>& of);

/// Returns whether the taint keeps away pods without tolerations: effects NoSchedule and NoExecute.
bool keeps_pods_away(const kube::Taint& taint);

/// The remaining counters of one pool.
class CountersLeft {
 public:
  void supply(const Amounts& amounts);
  /// Subtracts the consumption of an allocated device; once per device, even if several claims share it.
  void draw(const Amounts& amounts);
  /// Returns the first counter with less left than requested; nullptr if there is enough. A counter that is
  /// not supplied has zero left.
  const std::string* short_of(const Amounts& asked) const;
  Amount left(const std::string& counter) const;

 private:
  Amounts left_;
};

/// Compatibility groups of the allocated devices of one pool, by counter set (KEP-5963). These and another
/// device may be allocated together if one group is in the lists of all of them, or none has a group. Source:
/// compatibility_groups.go of k8s.io/dynamic-resource-allocation 1.37.
class GroupsInUse {
 public:
  using Consumptions = std::vector<kube::CounterConsumption>;  // of a device; counters are ignored
  /// Once per device, even if several claims share it.
  void add(const Consumptions& device) { count(device, 1); }
  /// Requires: it was added.
  void remove(const Consumptions& device) { count(device, -1); }
  /// Returns the first consumption of the device that conflicts with the added ones; nullptr if none.
  const kube::CounterConsumption* conflict(const Consumptions& device) const;

 private:
  void count(const Consumptions& device, int by);
  struct Members {
    int all = 0, without = 0;
    std::map<std::string, int> of_group;
  };
  std::map<std::string, Members> sets_;
};

}  // namespace sliced::why
