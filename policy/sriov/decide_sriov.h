#pragma once
// What SriovResourcePolicies offer: VFs, as entries of one pool.
#include "policy/decision.h"
#include "policy/gates/gates.h"
#include "policy/resolution.h"

namespace sliced::policy {

/// Adds a verdict for each host device, the pool, problems and notes. resolutions: the excludes of DeviceExposurePolicies
/// hold for this kind too. circumstances: those
/// of the gates; what these policies take is noted there.
void decide_sriov(const Inputs& inputs, const Resolutions& resolutions, const Gates& gates,
                  Circumstances& circumstances, Decision& out);

}  // namespace sliced::policy
