#pragma once
// What SriovResourcePolicies offer: VFs, as entries of one pool.
#include <vector>

#include "policy/decision.h"
#include "policy/exposure/resolve.h"
#include "policy/gates/gates.h"

namespace sliced::policy {

/// Adds a verdict for each host device, the pool, problems and notes. resolutions: what DeviceExposurePolicies
/// say of each device, in the inventory's order; their excludes hold for this kind too. circumstances: those
/// of the gates; what these policies take is noted there.
void decide_sriov(const Inputs& inputs, const std::vector<Resolution>& resolutions, const Gates& gates,
                  Circumstances& circumstances, Decision& out);

}  // namespace sliced::policy
