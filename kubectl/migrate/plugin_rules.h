#pragma once
// To which resource the device plugin gives a device of a host: its documented rules, over facts as we have them. Pure.
#include "hotplug/facts.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Returns whether the plugin looks at the device: a function with a driver; a PF only while it has no VFs. Default routes
/// do not count: since v3.8.0 the plugin finds none (netlink v1.3 reports the destination 0.0.0.0/0 where the plugin
/// expects nil), and it never looked at IPv6 and at other tables than main.
bool is_plugin_device(const hotplug::HostDevice& device);
/// Types of links are ARPHRD_ETHER and ARPHRD_INFINIBAND (linux/if_arp.h), of the function's interface or,
/// where it has none, of its PF's. Of the entries for one PF the first alone is asked.
bool takes(const Selector& selector, const hotplug::HostDevice& device);
/// The first that takes it; nullptr: none.
const Resource* plugin_resource_of(const Config& config, const hotplug::HostDevice& device);

}  // namespace sliced::migrate
