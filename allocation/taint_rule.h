#pragma once
// DeviceTaintRules (resource.k8s.io/v1, KEP-5055): taints that administrators give devices of any driver. A scheduler sees
// them as if they stood in the slices, as k8s.io/dynamic-resource-allocation/resourceslice/tracker has it.
#include <optional>
#include <string>
#include <vector>

#include "allocation/slice.h"
#include "kube/json.h"
#include "kube/resource_slice.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

struct TaintRule {
  std::string name;
  bool selects = false;  // without a selector it is of no device; with an empty one, of all
  std::optional<std::string> driver, pool, device;
  kube::Taint taint;
};

/// kInvalid with the field's path when a known field has the wrong shape.
Result<TaintRule> decode_taint_rule(const kube::Json& object);

/// The slices with the rules' taints behind those of their drivers. Slices that no rule is of stay the same objects.
std::vector<SlicePtr> with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules);

}  // namespace sliced::allocation
