#pragma once
// rtnetlink's links, default routes, routing rules and nexthop objects, of the network namespace this process
// is in.
#include <functional>
#include <map>
#include <memory>

#include "hotplug/event_source.h"
#include "hotplug/facts.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Overflow: the receive buffer ran full (ENOBUFS), or a datagram could not be understood.
std::unique_ptr<EventSource> make_netlink_monitor(reactor::Loop& loop);

/// VF index -> what the PF with this netdev enforces, in one request without statistics. Blocks for at most
/// two seconds for each message; no privilege needed. Where the kernel refuses with EMSGSIZE, it is asked by a dump of all links.
/// Errors: kNotFound for a netdev that is gone; kTooLarge where the kernel has no message that is large enough; kTimeout; kIo.
Result<std::map<int, VfConfig>> read_vf_configs(int ifindex);

}  // namespace sliced::hotplug
