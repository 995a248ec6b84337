#pragma once
// The host, read for a command that prints it.
#include "cli/process.h"

namespace sliced::cli {

inline constexpr Millis kReadHostMax{30'000};
void complain_of_slow_host();

/// nullptr when the host cannot be read in time; stderr then says so.
hotplug::InventoryPtr read_host_once(Process& process);

}  // namespace sliced::cli
