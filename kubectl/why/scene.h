#pragma once
// What allocating on one node starts from: copied to be changed, so that "what if" is the same question again.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/claim.h"
#include "kubectl/why/features.h"
#include "kubectl/why/held.h"
#include "kubectl/why/misread.h"
#include "kubectl/why/pools.h"
#include "kubectl/why/selectors.h"
#include "kubectl/why/taint_rule.h"

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
  std::map<std::string, Misread> misread;      // by expression, of those that read a name that no device has
  std::vector<Claim> claims;                   // to be allocated, in the pod's order
  std::set<const Claim*> released;             // that count as if they held nothing
};

}  // namespace sliced::allocation
