#pragma once
// The host, read for a command that prints it.
#include "daemon/process.h"
#include "hotplug/host_source.h"

namespace sliced::cli {

/// How long a command waits for the host: a full reading with its slow facts takes well below a second.
inline constexpr Millis kReadHostMax{30'000};
/// On stderr: that the host was not read in that time, and what to look at.
void complain_of_slow_host();

/// ports: of `process`, without live events (file_ports(), HostProcess::host_ports()).
/// nullptr when the host cannot be read in time; stderr then says so.
hotplug::InventoryPtr read_host_once(Process& process, hotplug::HostSource::Ports ports);

}  // namespace sliced::cli
