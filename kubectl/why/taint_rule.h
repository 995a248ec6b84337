#pragma once
// DeviceTaintRules (resource.k8s.io/v1, KEP-5055): taints from administrators for devices of any driver. The
// scheduler treats them as part of the slices, as in
// k8s.io/dynamic-resource-allocation/resourceslice/tracker.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kubectl/why/slice.h"
#include "reactor/base/result.h"

namespace sliced::why {

struct TaintRule {
  std::string name;
  bool selects = false;  // without a selector it matches no device; with an empty one, all
  /// spec.deviceSelector, all of which must match; a missing one matches any.
  std::optional<std::string> driver, pool, device;
  /// Unchanged, without timeAdded. Only NoSchedule and NoExecute keep a device from a request.
  kube::Taint taint;
};

/// Errors: kInvalid with the field's path if a known field has the wrong type.
Result<TaintRule> decode_taint_rule(const kube::Json& object);

/// Returns the names of the rules with this taint for the device, separated by commas; "" if none: its driver
/// set it.
std::string rules_of(const std::vector<TaintRule>& rules, const Slice& slice, const kube::Device& device,
                     const kube::Taint& taint);

/// Limit of taints from rules in slices, about 100 bytes each.
inline constexpr size_t kRuleTaintsMax = 1'000'000;

struct Tainted {
  std::vector<SlicePtr> slices;
  size_t left_out = 0;  // omitted taints: results for their devices are uncertain
};
/// Returns the slices with the rules' taints after those of their drivers, in the order of the rules. Slices
/// without a matching rule stay the same objects; in others, tainted devices are copied. taints_max: over all
/// slices together.
Tainted with_taints(const std::vector<SlicePtr>& slices, const std::vector<TaintRule>& rules,
                    size_t taints_max = kRuleTaintsMax);

}  // namespace sliced::why
