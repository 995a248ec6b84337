#pragma once
#include <cstddef>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Outcome, summary, entry and rules of what SriovResourcePolicies say of the device. rules_max: as explain()
/// has it.
void explain_sriov(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                   Explanation& out);

}  // namespace sliced::policy
