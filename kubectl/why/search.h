#pragma once
// Determines whether claims can be allocated on a node: backtracking in the same order as Kubernetes'
// allocator (k8s.io/dynamic-resource-allocation/structured, incubating, 1.37), because an error on the way
// ends the scheduler's attempt.
#include <cstdint>
#include <string>
#include <vector>

#include "kubectl/why/scene.h"

namespace sliced::why {

enum class SearchResult : uint8_t {
  kYes,
  kNo,
  kError,   // the scheduler ends its attempt for the pod, on all nodes: for example, an expression fails
  kUnsure,  // too many combinations
};

struct Pick {
  std::string claim, request;  // "namespace/name", "request" or "request/alternative"
  DeviceId device;             // views into the scene's slices
};

struct Outcome {
  SearchResult found = SearchResult::kNo;
  /// "claim ns/name, request r: ...", or the selector and the device on which it failed.
  std::string error;  // for kError
  /// In the order of picking: by claim, request, device.
  std::vector<Pick> picks;  // for kYes
};

/// Limit of one search: tried candidates, about 0.2 microseconds each.
inline constexpr uint64_t kTriesMax = 500'000;

/// Pure. Results of scene.selectors are cached there, and the work of the search counts against their budget.
/// kError: before anything is picked: an unknown field, a missing DeviceClass, a feature that is off, more
/// than kResultsMax devices, "all devices" with an unusable pool. During the search, if it occurs before a
/// solution: an expression or an amount that cannot be computed, a device of "all devices" that violates a
/// constraint.
/// kUnsure: tries_max or the budget is used up.
Outcome search(const Scene& scene, uint64_t tries_max = kTriesMax);

/// Returns whether the request's class and selectors match the device, as far as they can be evaluated, and
/// it is on this node. Ignores allocation. kNo without such a DeviceClass.
SelectorResult selects(const Scene& scene, const Request& request, const Candidate& candidate);

/// Returns the attribute of that name, "domain/id", or for the driver's domain also the id alone; nullptr if
/// there is none.
const kube::AttributeValue* find_attribute(const Candidate& candidate, const std::string& name);

/// Returns whether a constraint applies to the request: to all if it names none, to each alternative if it
/// names the list.
bool concerns(const Constraint& constraint, const RequestGroup& group, const Request& request);

}  // namespace sliced::why
