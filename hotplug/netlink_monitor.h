#pragma once
// rtnetlink's links, default routes, routing rules and nexthop objects, of the network namespace this process
// is in.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "hotplug/event_source.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Overflow: the receive buffer ran full (ENOBUFS), or a datagram could not be understood.
std::unique_ptr<EventSource> make_netlink_monitor(reactor::Loop& loop);

/// VF index -> the MAC that the PF with this netdev enforces (rtnetlink IFLA_VF_MAC). Blocks for at most
/// two seconds; no privilege needed.
/// Errors: kNotFound for a netdev that is gone; kTimeout; kIo.
Result<std::map<int, std::string>> read_admin_macs(int ifindex);

}  // namespace sliced::hotplug
