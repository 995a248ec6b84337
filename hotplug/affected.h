#pragma once
// Finds the devices that a change of readings can affect, so that the others need not be resolved again.
// Pure.
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Returns the functions whose reading changed: of themselves, their interfaces, RDMA devices or MAC
/// addresses, and the VFs that their PFs gained, lost or renumbered. The caller compares the facts that VFs
/// inherit from their PF's device. Returns nullopt if other devices may be affected: a link, a representor or
/// a PF appeared or disappeared, a default route moved, an interface was enslaved or got its function.
/// Requires: neither side has an interface with a switch id.
std::optional<std::set<PciAddress>> affected_functions(const HostReadings& before, const HostReadings& now);

/// The facts that determine whether the host uses a PCI function: interfaces that are stacked on an interface
/// of a function, directly or through others, and routes over these. Interfaces of pods (veths, with their
/// routes) are not part of it. An interface of a function is not part of it while it has neither an upper
/// interface nor a route.
struct FunctionRelations {
  using Interface = std::pair<std::string, int>;                    // name, ifindex
  std::set<std::pair<Interface, Interface>> stacked;                // lower, upper
  std::set<Interface> default_routes, other_routes, below_missing;  // as in HostReadings
  std::set<std::string> missing_links;
  bool operator==(const FunctionRelations&) const = default;
};
FunctionRelations function_relations(const HostReadings& readings);

/// Returns whether this is a representor, or may have representors. A change of one does not show the
/// affected function.
bool has_switch_id(const NetdevReading& netdev);

}  // namespace sliced::hotplug
