#pragma once
// Kernel objects by way of libudev: after udev's rules where a udevd runs, straight from the kernel where
// none does.
#include <memory>
#include <string>

#include "hotplug/event_source.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// Whose messages: udevd's, sent when its rules are done, or the kernel's own.
enum class UdevKind { kUdev, kKernel };

/// kUdev where /run/udev/control exists. (The udev source opens without complaint where no udevd runs, and
/// stays silent.)
UdevKind udev_kind_here();

/// Subsystems pci, net, infiniband, vdpa, auxiliary. Overflow: ENOBUFS.
std::unique_ptr<EventSource> make_udev_monitor(reactor::Loop& loop, UdevKind kind);

}  // namespace sliced::hotplug
