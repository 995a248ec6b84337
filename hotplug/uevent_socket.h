#pragma once
// Events of another root: whoever changes the tree below ROOT sends kernel uevent text, one datagram each, to
// the unix socket ROOT/run/sliced/uevents.
#include <memory>
#include <string>

#include "hotplug/event_source.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Makes ROOT/run/sliced where it is missing, beneath ROOT whatever links say, and takes the place of a
/// socket left there. What is no uevent is logged by
/// nobody and changes nothing.
std::unique_ptr<EventSource> make_uevent_socket(reactor::Loop& loop, std::string root);

}  // namespace sliced::hotplug
