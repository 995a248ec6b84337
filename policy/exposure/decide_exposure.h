#pragma once
// The offers of DeviceExposurePolicies: host devices, each with one or several personas, as entries of one
// pool for each PF.
#include "policy/deciding.h"

namespace sliced::policy {

/// Adds personas, pools, problems and notes, if there is such a policy or a former entry of one may still be
/// allocated. Called after decide_sriov().
void decide_exposures(Deciding& deciding);

}  // namespace sliced::policy
