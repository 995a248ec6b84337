#pragma once
// What a change of readings can have changed of devices, so that the others need not be concluded anew. Pure.
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Functions of which something is another than before: in themselves, their interfaces, RDMA devices or MACs, and
/// the VFs that their PFs have gained, lost or numbered anew. What VFs take from their PF's device is for the caller
/// to compare.
/// nullopt: other devices may differ too (a link or a representor came or went, a default route moved, somebody was
/// enslaved, an interface got its function, a PF came or went). Neither has interfaces with a switch id but among
/// what is told by this.
std::optional<std::set<PciAddress>> affected_functions(const HostReadings& before, const HostReadings& now);

/// What can decide whether the host uses a PCI function: interfaces that are stacked on an interface of a function, directly or through
/// others, and routes over these. Interfaces of pods (veths, with their routes) are in none of it, and neither is an interface of a
/// function while nothing is stacked on it and no route leads over it.
struct FunctionRelations {
  using Interface = std::pair<std::string, int>;                    // name, ifindex
  std::set<std::pair<Interface, Interface>> stacked;                // lower, upper
  std::set<Interface> default_routes, other_routes, below_missing;  // as HostReadings has them
  std::set<std::string> missing_links;
  bool operator==(const FunctionRelations&) const = default;
};
FunctionRelations function_relations(const HostReadings& readings);

/// A representor, or what may have some: which function it concerns is not said by what has changed.
bool has_switch_id(const NetdevReading& netdev);

}  // namespace sliced::hotplug
