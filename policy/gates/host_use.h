#pragma once
// The gate host-use: what the host itself works with (it is enslaved, or a default route, or one beyond its own subnet, runs over it) is
// given to nobody else as a whole, unless its policy says allowHostUse or allowDefaultRoutes.
#include "hotplug/facts.h"
#include "policy/allowed_routes.h"

namespace sliced::policy {

/// Whether the host's own use of a device forbids to offer it as a whole. is_exclusive: who is given the entry has
/// the device alone; a shared one (macvlan) leaves it to the host.
bool is_held_for_host(const hotplug::HostDevice& device, bool is_exclusive,
                      const HostUseAllowance& allowance);

}  // namespace sliced::policy
