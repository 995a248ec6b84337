#include "kubectl/why/slice.h"

#include "kubectl/why/fields.h"

namespace sliced::why {
namespace {

Placement read_placement(const Fields& at) {
  Placement out;
  out.node_name = at["nodeName"].text();
  out.all_nodes = at["allNodes"].flag();
  if (const Fields selector = at["nodeSelector"]; selector.is_there()) {
    kube::FieldProblems problems;
    out.selector = kube::decode_node_selector(*selector.value(), problems);
    if (!problems.empty()) selector.wrong(problems.front().field + ": " + problems.front().what);
  }
  return out;
}

void read_devices(const Fields& devices, Slice& out) {
  size_t index = 0;
  devices.each([&](const Fields& device) {
    if (out.is_per_device) out.device_where.push_back(read_placement(device));
    if (device["bindingConditions"].is_there()) {
      out.binds.resize(out.common.devices.size());
      if (index < out.binds.size()) out.binds[index] = out.has_binding_conditions = true;
    }
    device["consumesCounters"].each([&](const Fields& consumption) {
      const Fields groups = consumption["compatibilityGroups"];
      if (groups.is_there() && !groups.texts().empty()) out.has_compatibility_groups = true;
    });
    ++index;
  });
}

}  // namespace

bool is_on(const Placement& placement, const kube::NodeView& node) {
  if (!placement.node_name.empty()) return placement.node_name == node.name;
  if (placement.all_nodes) return true;
  return placement.selector && kube::match_node(*placement.selector, node).matched;
}

Result<Slice> decode_slice(const kube::Json& object) {
  auto common = kube::decode_resource_slice(object);
  if (!common) return std::move(common.error());
  Slice out;
  out.common = *std::move(common);
  Error error{Errc::kInvalid, ""};
  const Fields spec = Fields(&object, "", error)["spec"];
  out.where = read_placement(spec);
  out.is_per_device = spec["perDeviceNodeSelection"].flag();
  read_devices(spec["devices"], out);
  if (!error.what.empty()) return std::move(error).in(kube::describe_object(object));
  out.common.unknown_fields.clear();
  return out;
}

}  // namespace sliced::why
