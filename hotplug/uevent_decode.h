#pragma once
// Kernel uevents as they come in a datagram (lib/kobject_uevent.c).
#include <string_view>

#include "hotplug/event_source.h"

namespace sliced::hotplug {

inline constexpr size_t kUeventSizeMax = 16384;  // the kernel's own bound is 2 KiB of properties and a path
inline constexpr size_t kUeventPropertiesMax = 256;

/// One kernel uevent as it comes in a datagram: "add@/devices/...", then NUL-terminated KEY=value.
/// Errors: kInvalid for what is no uevent (libudev's own format included), kTooLarge beyond the bounds.
Result<Uevent> decode_uevent(std::string_view bytes);

}  // namespace sliced::hotplug
