#pragma once
#include <cstddef>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Sets outcome, summary, entry and rules by SriovResourcePolicies. rules_max: as for explain().
void explain_sriov(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                   Explanation& out);

}  // namespace sliced::policy
