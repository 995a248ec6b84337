#pragma once
// A ResourceSlice of any driver for allocation: kube/objects/resource_slice.h, with fields that sliced itself
// does not write.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "reactor/base/result.h"

namespace sliced::why {

/// The nodes of a slice, or of one device; without any field, none. The API server permits one of the three;
/// otherwise the first counts.
struct Placement {
  std::string node_name;
  bool all_nodes = false;
  std::optional<kube::NodeSelector> selector;
  bool operator==(const Placement&) const = default;
};
bool is_on(const Placement& placement, const kube::NodeView& node);

/// Unknown fields are ignored, because it is never written back.
struct Slice {
  /// unknown_fields is empty.
  kube::ResourceSlice common;
  Placement where;
  bool is_per_device = false;  // perDeviceNodeSelection
  /// Both lists are in the order of common.devices.
  std::vector<Placement> device_where;  // with is_per_device; otherwise empty
  bool has_binding_conditions = false;  // any device
  std::vector<bool> binds;              // devices with bindingConditions; empty: none
  bool has_compatibility_groups = false;
  bool operator==(const Slice&) const = default;
};
using SlicePtr = std::shared_ptr<const Slice>;

/// Errors: kInvalid with the field's path if a known field has the wrong type; the text begins with the
/// slice's kind and name.
Result<Slice> decode_slice(const kube::Json& object);

}  // namespace sliced::why
