#pragma once
// The host, read for a command that prints it.
#include "cli/process.h"

namespace sliced::cli {

/// How long a command waits for the host: a full reading with its slow facts takes well below a second.
inline constexpr Millis kReadHostMax{30'000};
/// On stderr: that the host was not read in that time, and what to look at.
void complain_of_slow_host();

/// nullptr when the host cannot be read in time; stderr then says so.
hotplug::InventoryPtr read_host_once(Process& process);

}  // namespace sliced::cli
