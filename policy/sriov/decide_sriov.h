#pragma once
// The offers of SriovResourcePolicies: VFs, as entries of one pool.
#include "policy/deciding.h"

namespace sliced::policy {

/// Adds a verdict for each host device, the pool, problems and notes. Excludes of DeviceExposurePolicies
/// apply here, too.
void decide_sriov(Deciding& deciding);

}  // namespace sliced::policy
