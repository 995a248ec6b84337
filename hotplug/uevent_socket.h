#pragma once
// Events of another root: a process that changes the tree below ROOT sends kernel uevent texts, one per
// datagram, to the unix socket ROOT/run/sliced/uevents.
#include <memory>
#include <string>

#include "hotplug/event_source.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Creates ROOT/run/sliced if it is missing, confined to ROOT, and replaces an old socket. Invalid texts are
/// ignored without a log entry.
std::unique_ptr<EventSource> make_uevent_socket(reactor::Loop& loop, std::string root);

}  // namespace sliced::hotplug
