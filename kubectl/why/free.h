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

}  // namespace sliced::allocation
