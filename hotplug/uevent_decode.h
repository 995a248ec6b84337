#pragma once
// Kernel uevents in a datagram (lib/kobject_uevent.c).
#include <string_view>

#include "hotplug/event_source.h"

namespace sliced::hotplug {

inline constexpr size_t kUeventSizeMax = 16384;  // the kernel's own limit is 2 KiB of properties and a path
inline constexpr size_t kUeventPropertiesMax = 256;

/// Decodes one kernel uevent: "add@/devices/...", then NUL-terminated KEY=value. Errors: kInvalid for another
/// format (including libudev's own), kTooLarge beyond the bounds.
Result<Uevent> decode_uevent(std::string_view bytes);

}  // namespace sliced::hotplug
