#pragma once
// Whether claims can be allocated on a node: a search with backtracking that tries the same things in the same order as
// Kubernetes' allocator (k8s.io/dynamic-resource-allocation/structured, incubating, 1.37), because an error that is met
// on the way ends it.
#include <cstdint>
#include <string>
#include <vector>

#include "allocation/scene.h"

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
  std::string error;        // of kError
  std::vector<Pick> picks;  // of kYes
};

/// Of one search: candidates that are tried, some 0.2 microseconds each.
inline constexpr uint64_t kTriesMax = 500'000;

/// Pure. What is asked of scene.selectors is kept there.
Outcome search(const Scene& scene, uint64_t tries_max = kTriesMax);

/// Whether the request's class and selectors take the device, as far as they can be asked.
Says selects(const Scene& scene, const Request& request, const Candidate& candidate);

/// The attribute of that name, also by the driver's short form; nullptr when there is none.
const kube::AttributeValue* find_attribute(const Candidate& candidate, const std::string& name);

/// Whether a constraint speaks of the request.
bool concerns(const Constraint& constraint, const RequestGroup& group, const Request& request);

}  // namespace sliced::allocation
