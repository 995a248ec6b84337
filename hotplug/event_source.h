#pragma once
// Sources of host events. An event shows which files to read again; facts come only from these reads.
#include <functional>
#include <map>
#include <string>
#include <variant>

#include "reactor/base/result.h"

namespace sliced::hotplug {

/// A kernel object appeared, disappeared or changed (lib/kobject_uevent.c). The text is untrusted: a name is
/// checked before it becomes part of a path.
struct Uevent {
  std::string action;  // add remove change move bind unbind online offline
  // Below /sys. For a renamed interface the new path; the property DEVPATH_OLD has the old one.
  std::string devpath;    // "/devices/pci0000:00/.../0000:3b:00.0/net/eth0"
  std::string subsystem;  // pci net infiniband vdpa auxiliary
  std::map<std::string, std::string> properties;
  bool operator==(const Uevent&) const = default;
};

/// A link appeared, disappeared or changed (rtnetlink RTM_NEWLINK, RTM_DELLINK). The ifindex distinguishes a
/// rename from another interface, because a name may be reused within moments.
struct LinkChange {
  int ifindex = 0;
  std::string name;
  bool is_deleted = false;
  bool is_moved = false;  // with is_deleted: into another network namespace
  bool operator==(const LinkChange&) const = default;
};

/// A default route appeared or disappeared, or a rule or nexthop object that may affect one of the host's.
/// Routes, rules and nexthops together determine the interfaces with traffic of the host, so all are read
/// again. Of other routes, only new ones through a gateway are reported; removed ones are found by the next
/// full read.
struct RouteChange {
  int new_link = 0;  // link of a new route that is not a default route; 0 otherwise
  bool operator==(const RouteChange&) const = default;
};

/// Events were lost, so everything may have changed. The receiver reads the whole host once, for any number
/// of lost events.
struct Overflow {
  std::string why;
  bool operator==(const Overflow&) const = default;
};

/// Ordered within one source, but not between sources: udevd reports a link after its rules, netlink before.
using HostEvent = std::variant<Uevent, LinkChange, RouteChange, Overflow>;

/// A source of events. Its destruction stops the events. Runs on the loop's thread. An invalid message is
/// ignored or reported as an Overflow, as described by each source; the source continues.
class EventSource {
 public:
  using OnEvent = std::function<void(HostEvent)>;
  virtual ~EventSource() = default;
  /// Starts the source. After it returns, no event is lost without an Overflow. Called once. Errors: kIo,
  /// with the source's name and the system's error; no event is reported then.
  virtual Result<Unit> start(OnEvent on_event) = 0;
  /// Returns "udev", "kernel uevents" or "netlink", for the log.
  virtual std::string name() const = 0;
};

}  // namespace sliced::hotplug
