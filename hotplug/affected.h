#pragma once
// What a change of readings can have changed of devices, so that the others need not be concluded anew. Pure.
#include <optional>
#include <set>

#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Functions of which something is another than before: in themselves, their interfaces, RDMA devices or MACs, and
/// the VFs that their PFs have gained, lost or numbered anew. What VFs take from their PF's device is for the caller
/// to compare.
/// nullopt: other devices may differ too (a link or a representor came or went, a default route moved, somebody was
/// enslaved, an interface got its function, a PF came or went). Neither has interfaces with a switch id but among
/// what is told by this.
std::optional<std::set<PciAddress>> affected_functions(const HostReadings& before, const HostReadings& now);

/// Whether interfaces stand on each other, carry routes and miss links alike in both.
bool has_same_relations(const HostReadings& a, const HostReadings& b);

/// A representor, or what may have some: which function it concerns is not said by what has changed.
bool has_switch_id(const NetdevReading& netdev);

}  // namespace sliced::hotplug
