#pragma once
#include <set>

#include "reactor/base/result.h"

namespace sliced::hotplug {

/// Asks the kernel (RTM_GETROUTE, main table, IPv4 and IPv6). Blocks, at most two seconds per answer; no
/// privilege needed.
Result<std::set<int>> ask_default_route_links();

}  // namespace sliced::hotplug
