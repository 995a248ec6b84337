#pragma once
// What DeviceExposurePolicies offer: host devices, in one way or several, as entries of a pool a PF.
#include "policy/deciding.h"

namespace sliced::policy {

/// Adds personas, pools, problems and notes: where there is such a policy, or something may be allocated that
/// one has offered. After decide_sriov().
void decide_exposures(Deciding& deciding);

}  // namespace sliced::policy
