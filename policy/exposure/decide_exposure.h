#pragma once
// What DeviceExposurePolicies offer: host devices, in one way or several, as entries of a pool a PF.
#include "policy/decision.h"
#include "policy/gates/gates.h"
#include "policy/resolution.h"

namespace sliced::policy {

/// Adds personas, pools, problems and notes: where there is such a policy, or something may be allocated that
/// one has offered. After decide_sriov(); the arguments are the same.
void decide_exposures(const Inputs& inputs, const Resolutions& resolutions, const Gates& gates,
                      Circumstances& circumstances, Decision& out);

}  // namespace sliced::policy
