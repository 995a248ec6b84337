#pragma once
// DeviceTaintRules (resource.k8s.io/v1, KEP-5055): taints that administrators give devices of any driver. A scheduler sees
// them as if they stood in the slices, as k8s.io/dynamic-resource-allocation/resourceslice/tracker has it.
#include <cstddef>
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

/// Taints of rules that are put into slices, some 100 bytes each.
inline constexpr size_t kRuleTaintsMax = 1'000'000;

struct Tainted {
  std::vector<SlicePtr> slices;
  size_t left_out = 0;  // taints for which there was no room: what is said of their devices is not sure
};
/// The slices with the rules' taints behind those of their drivers. Slices that no rule is of stay the same objects.
Tainted with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules,
                    size_t taints_max = kRuleTaintsMax);

}  // namespace sliced::allocation
