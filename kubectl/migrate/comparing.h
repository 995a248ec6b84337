#pragma once
// What was offered before and what the new objects offer, device by device, on one host. Pure.
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

/// One device that is offered before or after. "" is not offered.
struct Compared {
  std::string device, interface, before, after;
  std::string why;           // where they differ: why the new policies do not offer it, or offer it
  bool loses_nodes = false;  // offered as before, and pods get fewer device nodes
  bool is_same() const { return before == after && !loses_nodes; }
  bool operator==(const Compared&) const = default;
};

/// The resource under which a device was offered; "" none. Holds copies: what it was made of may go.
using Before = std::function<std::string(const hotplug::HostDevice&)>;
/// As the device plugin does on that node by the configurations, of which the first that selects it counts.
Before by_plugin(const std::vector<Config>& configs, const kube::NodeView& node);

/// By PCI address: under which resource the policies alone would offer it on that node.
struct Offer {
  policy::Decision decision;
  std::map<std::string, std::string> resources;
};
/// A resource without a name is kNoName.
inline constexpr std::string_view kNoName = "(no resource name)";
Offer offer_of(policy::PolicySet policies, const hotplug::InventoryPtr& inventory, const kube::NodeView& node,
               const Target& target);
/// The policies and attributes among the objects, decoded by the daemon's decoders; classes and templates are
/// passed over.
policy::PolicySet policies_among(const std::vector<Made>& objects, const Target& target);

/// By device, in the order of the inventory; those that are offered neither before nor after are left out.
/// objects: without complaints; they alone decide, as if there were no other policies.
std::vector<Compared> compare(const Before& before, const std::vector<Made>& objects,
                              const hotplug::InventoryPtr& inventory, const kube::NodeView& node,
                              const Target& target);

/// Marks devices that the device plugin hands out with /dev/uio nodes, by the driver that they have.
void mark_lost_uio_nodes(std::vector<Compared>& rows, const hotplug::Inventory& inventory);

}  // namespace sliced::migrate
