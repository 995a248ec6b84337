#pragma once
// Facts that decisions use while a pod has a device: those from before it was bound to another driver or its
// interface was moved. With the current facts, the policy that offers the device would no longer match it.
// Pure.
#include <map>
#include <string>

#include "hotplug/facts.h"

namespace sliced::hotplug {

/// By id of the device.
using PinnedFacts = std::map<std::string, HostDevice>;

/// Returns the facts that preparing a device changes: a function's driver, interfaces, RDMA device and admin
/// MAC, with its identity; all facts of a link, which may leave as a whole.
HostDevice facts_to_pin(const HostDevice& device);

/// Returns the device with its pinned facts. A broken device, another function or another kind of link is
/// returned unchanged. Host use is always the current one.
HostDevice as_pinned(const HostDevice& now, const HostDevice& held);

/// Returns the inventory with pinned facts, and with links that are in another namespace. A function that no
/// longer exists is not added. Returns `now` itself if nothing differs.
InventoryPtr with_pinned(const InventoryPtr& now, const PinnedFacts& held);

/// Returns whether the device has returned: it has its former driver and interfaces, with names and address,
/// or the function no longer exists. now: nullptr if the device does not exist.
bool is_back(const HostDevice* now, const HostDevice& held);

}  // namespace sliced::hotplug
