#pragma once
// What tells us that the host has changed. Events say where to look, never what is true: facts are read
// afterwards.
#include <functional>
#include <map>
#include <string>
#include <variant>

#include "reactor/base/result.h"

namespace sliced::hotplug {

/// A kernel object came, went or changed (lib/kobject_uevent.c).
/// Nobody vouches for its text: a name in it is checked before it becomes a part of a path.
struct Uevent {
  std::string action;  // add remove change move bind unbind online offline
  // Below /sys; of an interface that was renamed the new one, the old one being the property DEVPATH_OLD.
  std::string devpath;    // "/devices/pci0000:00/.../0000:3b:00.0/net/eth0"
  std::string subsystem;  // pci net infiniband vdpa auxiliary
  std::map<std::string, std::string> properties;
  bool operator==(const Uevent&) const = default;
};

/// A link came, went or changed (rtnetlink RTM_NEWLINK, RTM_DELLINK).
/// The number tells a rename from another interface: a name may be somebody else's in a moment.
struct LinkChange {
  int ifindex = 0;
  std::string name;
  bool is_deleted = false;
  bool is_moved = false;  // with is_deleted: into another network namespace
  bool operator==(const LinkChange&) const = default;
};

/// A default route came or went, or a rule or nexthop object that may make one of the host's.
/// It does not say which: several of them together make an interface carry the host's traffic, so all are
/// read.
/// Of other routes only those through a gateway that come: what goes waits for the next full read.
struct RouteChange {
  int new_link = 0;  // another route than a default one came, through that link; 0: all else
  bool operator==(const RouteChange&) const = default;
};

/// Events were lost: everything may have changed.
/// Whoever hears it reads the whole host, once for however many were lost.
struct Overflow {
  std::string why;
  bool operator==(const Overflow&) const = default;
};

/// In order within one source, not between two: udevd tells of a link when its rules are done, netlink
/// before.
using HostEvent = std::variant<Uevent, LinkChange, RouteChange, Overflow>;

/// A source of events. Dropping it stops it; on_event is not called after that. On the loop's thread.
/// A message that cannot be understood is passed over, or is an Overflow, as each source says; it ends no
/// source.
class EventSource {
 public:
  using OnEvent = std::function<void(HostEvent)>;
  virtual ~EventSource() = default;
  /// From its return on no event is missed without an Overflow that says so.
  /// Once. Errors: kIo, with the source's name and what the system says. Nothing is heard of it then.
  virtual Result<Unit> start(OnEvent on_event) = 0;
  /// "udev", "kernel uevents", "netlink": for the log.
  virtual std::string name() const = 0;
};

}  // namespace sliced::hotplug
