#pragma once
// Whether claims can be allocated on a node: a search with backtracking that tries the same things in the same order as
// Kubernetes' allocator (k8s.io/dynamic-resource-allocation/structured, incubating, 1.37), because an error that is met
// on the way ends it.
#include <cstdint>
#include <string>
#include <vector>

#include "kubectl/why/scene.h"

namespace sliced::allocation {

enum class Found : uint8_t {
  kYes,
  kNo,
  kError,  // the scheduler ends its attempt for the pod, on all nodes: an expression that fails, and the like
  kUnsure,  // too much would have to be tried
};

struct Pick {
  std::string claim, request;  // "namespace/name", "request" or "request/alternative"
  DeviceId device;             // views into the scene's slices
};

struct Outcome {
  Found found = Found::kNo;
  /// "claim ns/name, request r: ...", or the selector and the device on which it failed.
  std::string error;  // of kError
  /// In the order in which they were picked: by claim, request, device.
  std::vector<Pick> picks;  // of kYes
};

/// Of one search: candidates that are tried, some 0.2 microseconds each.
inline constexpr uint64_t kTriesMax = 500'000;

/// Pure. What is asked of scene.selectors is kept there, and the work of the search is taken from their effort.
/// kError:  before anything is picked: a field that is not known here, a DeviceClass that is not there, a
///          feature that is off, more than kResultsMax devices, "all devices" where a pool is not usable. On
///          the way, if it is met before something fits: an expression or an amount that cannot be worked
///          out, a device of "all devices" with which a constraint is not kept.
/// kUnsure: tries_max or the effort is spent.
Outcome search(const Scene& scene, uint64_t tries_max = kTriesMax);

/// Whether the request's class and selectors take the device, as far as they can be asked, and it is on this
/// node. Not whether it is free. kNo where there is no such DeviceClass.
Says selects(const Scene& scene, const Request& request, const Candidate& candidate);

/// The attribute of that name, "domain/id"; where the domain is the driver's also by its id alone. nullptr
/// when there is none.
const kube::AttributeValue* find_attribute(const Candidate& candidate, const std::string& name);

/// Whether a constraint speaks of the request: of all where it names none, of each alternative where it names
/// the list.
bool concerns(const Constraint& constraint, const RequestGroup& group, const Request& request);

}  // namespace sliced::allocation
