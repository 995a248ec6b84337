#pragma once
// What DeviceExposurePolicies offer: host devices, in one way or several, as entries of a pool a PF.
#include <vector>

#include "policy/decision.h"
#include "policy/exposure/resolve.h"
#include "policy/gates/gates.h"

namespace sliced::policy {

/// Adds personas, pools, problems and notes: where there is such a policy, or something may be allocated that
/// one has offered. After decide_sriov(); the arguments are the same.
void decide_exposures(const Inputs& inputs, const std::vector<Resolution>& resolutions, const Gates& gates,
                      Circumstances& circumstances, Decision& out);

}  // namespace sliced::policy
