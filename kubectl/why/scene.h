#pragma once
// The input of an allocation on one node; copied and changed for "what if" questions.
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

namespace sliced::why {

/// Pointers must outlive it. Copies share them, except for the pools after kCompletePools: these contain
/// devices of the same slices, so results in `selectors` stay valid for each copy.
struct Scene {
  const std::vector<Pool>* pools = nullptr;  // visible to the node
  const Held* held = nullptr;
  Selectors* selectors = nullptr;
  const std::vector<TaintRule>* taint_rules = nullptr;  // rules that tainted devices; nullptr: none
  Features features;
  std::map<std::string, DeviceClass> classes;  // existing classes that the claims name
  std::map<std::string, Misread> misread;      // by expression: those that read a name that no device has
  std::set<std::string> drivers;               // Cluster::drivers
  std::set<std::string> guarded;               // expressions that do not match a device on which they fail
  std::vector<Claim> claims;                   // to be allocated, in the pod's order
  std::set<const Claim*> released;             // claims that count as holding nothing
  bool ignores_counters_of_picks = false;      // picks consume no shared counters; allocated devices do
};

}  // namespace sliced::why
