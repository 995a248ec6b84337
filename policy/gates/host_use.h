#pragma once
#include "hotplug/facts.h"

namespace sliced::policy {

/// Whether the host's own use of a device forbids to offer it as a whole.
bool is_held_for_host(const hotplug::HostDevice& device, bool is_exclusive, bool allows_host_use);

}  // namespace sliced::policy
