#pragma once
// What allocating on one node starts from: copied to be changed, so that "what if" is the same question again.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "allocation/claim.h"
#include "allocation/features.h"
#include "allocation/held.h"
#include "allocation/pools.h"
#include "allocation/selectors.h"
#include "allocation/taint_rule.h"

namespace sliced::allocation {

/// What is pointed to outlives it. Copies share it, but for the pools of one with kCompletePools: their
/// devices are those of the same slices, so that what `selectors` has answered is good for each copy.
struct Scene {
  const std::vector<Pool>* pools = nullptr;  // that the node sees
  const Held* held = nullptr;
  Selectors* selectors = nullptr;
  const std::vector<TaintRule>* taint_rules = nullptr;  // that gave devices taints; nullptr: none did
  Features features;
  std::map<std::string, DeviceClass> classes;  // those that the claims name, as far as they are there
  std::vector<Claim> claims;                   // to be allocated, in the pod's order
  std::set<const Claim*> released;             // that count as if they held nothing
};

}  // namespace sliced::allocation
