#pragma once
// Determines the resource to which the device plugin assigns a device of a host, by the plugin's documented
// rules. Pure.
#include "hotplug/facts.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Returns true if the plugin considers the device: a function with a driver; a PF only while it has no VFs.
/// Default routes do not count: since v3.8.0 the plugin finds none (netlink v1.3 reports the destination
/// 0.0.0.0/0 where the plugin expects nil), and it never read IPv6 routes or tables other than main.
bool is_plugin_device(const hotplug::HostDevice& device);
/// Returns true if the selector matches the device. Link types are ARPHRD_ETHER and ARPHRD_INFINIBAND
/// (linux/if_arp.h) of the function's interface or, without one, of its PF's. Only the first entry for a PF
/// is evaluated.
bool takes(const Selector& selector, const hotplug::HostDevice& device);
/// Returns the first resource that matches the device, nullptr if there is none.
const Resource* plugin_resource_of(const Config& config, const hotplug::HostDevice& device);

}  // namespace sliced::migrate
