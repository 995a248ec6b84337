#pragma once
// A ResourceSlice of any driver as allocating sees it: kube/objects/resource_slice.h, and what only others than us write.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// On which nodes: of a slice, or of one device. With nothing set, on none. The API server lets one of the
/// three be set; of more the first counts.
struct Placement {
  std::string node_name;
  bool all_nodes = false;
  std::optional<kube::NodeSelector> selector;
  bool operator==(const Placement&) const = default;
};
bool is_on(const Placement& placement, const kube::NodeView& node);

/// Fields that are not known here are passed over: this is read, and never written back.
struct Slice {
  /// unknown_fields is empty.
  kube::ResourceSlice common;
  Placement where;
  bool is_per_device = false;  // perDeviceNodeSelection
  /// Both lists in the order of common.devices.
  std::vector<Placement> device_where;  // of each device then; else empty
  bool has_binding_conditions = false;  // any device
  std::vector<bool> binds;              // which devices have bindingConditions; empty: none
  bool has_compatibility_groups = false;
  bool operator==(const Slice&) const = default;
};
using SlicePtr = std::shared_ptr<const Slice>;

/// kInvalid with the field's path when a known field has the wrong shape; the text begins with the slice's
/// kind and name.
Result<Slice> decode_slice(const kube::Json& object);

}  // namespace sliced::allocation
