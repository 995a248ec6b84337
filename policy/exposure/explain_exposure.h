#pragma once
#include <cstddef>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Adds the results of DeviceExposurePolicies for the device: rules, personas, outcome and summary.
/// rules_max: as for explain().
void explain_exposures(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                       Explanation& out);

}  // namespace sliced::policy
