#pragma once
// rtnetlink events of links, default routes, routing rules and nexthop objects, in this process' network
// namespace.
#include <functional>
#include <map>
#include <memory>

#include "hotplug/event_source.h"
#include "hotplug/facts.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Overflow: the receive buffer was full (ENOBUFS), or a datagram was invalid.
std::unique_ptr<EventSource> make_netlink_monitor(reactor::Loop& loop);

/// Returns the settings that the PF with this netdev enforces, by VF index, with one request without
/// statistics. Uses a dump of all links if the kernel refuses with EMSGSIZE. Blocks for at most two seconds
/// for each message. Requires no privilege. Errors: kNotFound for a missing netdev; kTooLarge if the answer
/// fits in no message; kTimeout; kIo.
Result<std::map<int, VfConfig>> read_vf_configs(int ifindex);

}  // namespace sliced::hotplug
