#pragma once
// Kernel object events from libudev: after udev's rules if a udevd runs, otherwise directly from the kernel.
#include <memory>
#include <string>

#include "hotplug/event_source.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::hotplug {

/// The sender: udevd after its rules, or the kernel.
enum class UdevKind { kUdev, kKernel };

/// Returns kUdev if /run/udev/control exists. Without a udevd, the udev source can be opened but stays
/// silent.
UdevKind udev_kind_here();

/// Subsystems pci, net, infiniband, vdpa, auxiliary. Overflow: ENOBUFS.
std::unique_ptr<EventSource> make_udev_monitor(reactor::Loop& loop, UdevKind kind);

}  // namespace sliced::hotplug
