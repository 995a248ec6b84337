#pragma once
// Which devices the scheduler can still give: the computation behind FREE.
//
// A device is free while no claim has it, no taint keeps pods from it, its pool is complete, and what is left of the pool's
// counters (KEP-4815) is enough for it. Each is judged alone: a claim that takes one may leave nothing for the others.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "kubectl/why/capacity.h"

namespace sliced::allocation {

/// Amounts by "counter set/counter".
Amounts counter_amounts(const kube::CounterConsumption& of);
Amounts counter_amounts(const std::vector<kube::CounterConsumption>& of);

/// Whether a pod without tolerations is kept from a device with the taint: effects NoSchedule and NoExecute.
bool keeps_pods_away(const kube::Taint& taint);

/// What is left of the counters of one pool.
class CountersLeft {
 public:
  void supply(const Amounts& amounts);
  /// By a device that a claim has; once for each device, however many claims share it.
  void draw(const Amounts& amounts);
  /// The first counter of which less is left than asked for; nullptr: there is enough. A counter that is not supplied has
  /// nothing left.
  const std::string* short_of(const Amounts& asked) const;
  Amount left(const std::string& counter) const;

 private:
  Amounts left_;
};

/// Compatibility groups of the devices of one pool that are allocated, by counter set (KEP-5963): they and another device may be allocated
/// together if one group is in the lists of all of them, or none has a group. Source: compatibility_groups.go of
/// k8s.io/dynamic-resource-allocation 1.37.
class GroupsInUse {
 public:
  using Consumptions = std::vector<kube::CounterConsumption>;  // of a device; counters are not looked at
  /// Once for each device, however many claims share it.
  void add(const Consumptions& device) { count(device, 1); }
  /// Requires that it was added.
  void remove(const Consumptions& device) { count(device, -1); }
  /// The first consumption of the device that those which were added keep from being allocated; nullptr: none.
  const kube::CounterConsumption* conflict(const Consumptions& device) const;

 private:
  void count(const Consumptions& device, int by);
  struct Members {
    int all = 0, without = 0;
    std::map<std::string, int> of_group;
  };
  std::map<std::string, Members> sets_;
};

}  // namespace sliced::allocation
