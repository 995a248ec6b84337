#pragma once
// The gate host-use: a device that the host uses (enslaved, or with a default route or a route beyond its own subnet) is not offered
// exclusively, unless its policy sets allowHostUse or allowDefaultRoutes.
#include "hotplug/facts.h"
#include "policy/allowed_routes.h"

namespace sliced::policy {

/// Whether the use by the host forbids an exclusive offer. is_exclusive: the claim gets the whole device; a shared entry (macvlan) leaves
/// it to the host.
bool is_held_for_host(const hotplug::HostDevice& device, bool is_exclusive,
                      const HostUseAllowance& allowance);

}  // namespace sliced::policy
