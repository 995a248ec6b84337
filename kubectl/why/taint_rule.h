#pragma once
// DeviceTaintRules (resource.k8s.io/v1, KEP-5055): taints that administrators give devices of any driver. A scheduler sees
// them as if they stood in the slices, as k8s.io/dynamic-resource-allocation/resourceslice/tracker has it.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kubectl/why/slice.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

struct TaintRule {
  std::string name;
  bool selects = false;  // without a selector it is of no device; with an empty one, of all
  /// spec.deviceSelector, all of which must hold; what is absent is any.
  std::optional<std::string> driver, pool, device;
  /// As it stands there, timeAdded aside. Only NoSchedule and NoExecute keep a device from a request.
  kube::Taint taint;
};

/// kInvalid with the field's path when a known field has the wrong shape.
Result<TaintRule> decode_taint_rule(const kube::Json& object);

/// The rules that give the device this taint, by name, with commas; "" none: its driver gives it.
std::string rules_of(const std::vector<TaintRule>& rules, const Slice& slice, const kube::Device& device,
                     const kube::Taint& taint);

/// Taints of rules that are put into slices, some 100 bytes each.
inline constexpr size_t kRuleTaintsMax = 1'000'000;

struct Tainted {
  std::vector<SlicePtr> slices;
  size_t left_out = 0;  // taints for which there was no room: what is said of their devices is not sure
};
/// The slices with the rules' taints behind those of their drivers, in the order of the rules. Slices that no
/// rule is of stay the same objects; of others the devices that get a taint are copied.
/// taints_max: over all slices together.
Tainted with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules,
                    size_t taints_max = kRuleTaintsMax);

}  // namespace sliced::allocation
