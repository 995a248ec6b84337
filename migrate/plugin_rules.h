#pragma once
// To which resource the device plugin gives a device of a host: its documented rules, over facts as we have them. Pure.
#include "hotplug/facts.h"
#include "migrate/pool.h"

namespace sliced::migrate {

/// What the plugin looks at: a function with a driver over which no default route leads. A PF is one only while it has
/// no VFs.
bool is_plugin_device(const hotplug::HostDevice& device);
/// Types of links are ARPHRD_ETHER and ARPHRD_INFINIBAND (linux/if_arp.h), of the function's interface or,
/// where it has none, of its PF's. Of the entries for one PF the first alone is asked.
bool takes(const Selector& selector, const hotplug::HostDevice& device);
/// The first that takes it; nullptr: none.
const Resource* plugin_resource_of(const Config& config, const hotplug::HostDevice& device);

}  // namespace sliced::migrate
