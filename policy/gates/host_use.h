#pragma once
// The rule of the gate host-use: a device that the host uses is not offered exclusively, unless its policy
// sets allowHostUse or allowDefaultRoutes. The host uses an interface that is enslaved, or that carries a
// default route or a route beyond its own subnet.
#include "hotplug/facts.h"
#include "policy/allowed_routes.h"

namespace sliced::policy {

/// Returns true if the use by the host forbids the offer. is_exclusive: the claim gets the whole device; a
/// shared entry (macvlan) leaves the interface on the host.
bool is_withheld_for_host(const hotplug::HostDevice& device, bool is_exclusive,
                          const HostUseAllowance& allowance);

}  // namespace sliced::policy
