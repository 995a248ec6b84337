#pragma once
// What SriovResourcePolicies offer: VFs, as entries of one pool.
#include "policy/deciding.h"

namespace sliced::policy {

/// Adds a verdict for each host device, the pool, problems and notes. The excludes of DeviceExposurePolicies
/// hold for this kind too.
void decide_sriov(Deciding& deciding);

}  // namespace sliced::policy
