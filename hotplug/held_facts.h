#pragma once
// What is decided over while a pod has a device: the facts of before it was bound to another driver, or its interface
// moved away. Else preparing a device would take it from the policy that offers it. Pure.
#include <map>
#include <string>

#include "hotplug/facts.h"

namespace sliced::hotplug {

/// By id of the device.
using HeldFacts = std::map<std::string, HostDevice>;

/// What of a device changes so: of a function its driver, interfaces, RDMA device and admin MAC, and which function it
/// is; a link may leave as a whole.
HostDevice facts_to_hold(const HostDevice& device);

/// The device with the facts that are held of it. What is broken, another function than that, or another kind of
/// link, is as it is now; whether the host uses it is, too.
HostDevice as_held(const HostDevice& now, const HostDevice& held);

/// Each device as it is held, and links that are away. A function that is gone is gone. `now` itself where nothing
/// differs.
InventoryPtr with_held(const InventoryPtr& now, const HeldFacts& held);

/// Nothing is to be waited for: driver and interfaces are those of before, under their names and with the address of
/// before, or the function is gone.
/// now: nullptr the device is not there.
bool is_back(const HostDevice* now, const HostDevice& held);

}  // namespace sliced::hotplug
