#pragma once
// Compares, device by device on one host, the resource that offered the device before with the resource under
// which the new objects offer it. Pure.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/selector.h"
#include "kubectl/migrate/objects.h"
#include "policy/decision.h"
#include "policy/policy_set.h"

namespace sliced::migrate {

/// One device that is offered before or after the migration. before and after: its resource; "": not offered.
struct ComparedDevice {
  std::string device, interface, before, after;
  std::string why;  // set where before and after differ: the new policies' reason to offer the device or not
  bool loses_nodes = false;  // offered under the same resource, but pods get fewer device nodes
  bool is_same() const { return before == after && !loses_nodes; }
  bool operator==(const ComparedDevice&) const = default;
};

/// Returns the resource under which a device was offered, "" if it was not. The function owns copies of all
/// that it needs.
using Before = std::function<std::string(const hotplug::HostDevice&)>;
/// Returns the resources as the device plugin assigns them on the node. The plugin reads the first of the
/// configurations that selects the node.
Before by_plugin(const std::vector<Config>& configs, const kube::NodeView& node);

/// The decision of the policies on one node, and by device id the resource that each offered device gets.
struct OfferedResources {
  policy::Decision decision;
  std::map<std::string, std::string> resources;
};
/// Stands for a device that is offered without a resource name.
inline constexpr std::string_view kNoName = "(no resource name)";
OfferedResources offered_resources(policy::PolicySet policies, const hotplug::InventoryPtr& inventory,
                                   const kube::NodeView& node, const Target& target);
/// Returns the policies and DeviceAttributes among the objects, decoded by the daemon's decoders. Other kinds
/// are skipped.
policy::PolicySet policies_among(const std::vector<ConvertedObject>& objects, const Target& target);

/// Returns the devices that are offered before or after, in the order of the inventory.
/// REQUIRES: objects have been checked without errors. Only these objects decide; no other policies are read.
std::vector<ComparedDevice> compare(const Before& before, const std::vector<ConvertedObject>& objects,
                                    const hotplug::InventoryPtr& inventory, const kube::NodeView& node,
                                    const Target& target);

/// Sets loses_nodes for devices whose driver (uio, igb_uio) makes the device plugin add a /dev/uio node to
/// the pod; sliced adds none.
void mark_lost_uio_nodes(std::vector<ComparedDevice>& rows, const hotplug::Inventory& inventory);

}  // namespace sliced::migrate
