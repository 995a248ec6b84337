#pragma once
// Reads the host for a command that prints it.
#include "daemon/process.h"
#include "hotplug/host_source.h"

namespace sliced::cli {

/// Limit for reading the host. A full reading with its slow facts takes well below a second.
inline constexpr Millis kReadHostMax{30'000};
/// Reports on stderr that the host was not read in that time, with a hint.
void print_slow_host();

/// ports: of `process`, without live events (file_ports(), HostProcess::host_ports()). Returns nullptr and
/// reports on stderr if the host cannot be read in time.
hotplug::InventoryPtr read_host_once(daemon::Process& process, hotplug::HostSourcePorts ports);

}  // namespace sliced::cli
