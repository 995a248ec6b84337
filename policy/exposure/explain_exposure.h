#pragma once
#include <cstddef>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Adds what DeviceExposurePolicies say of the device: their rules, its personas, and what comes of them for
/// outcome and summary. rules_max: as explain() has it.
void explain_exposures(const Decision& decision, const hotplug::HostDevice& device, size_t rules_max,
                       Explanation& out);

}  // namespace sliced::policy
