#pragma once
#include "policy/decide.h"

namespace sliced::policy {

/// Adds what DeviceExposurePolicies say of the device: their rules, its personas, and what comes of them for
/// outcome and summary.
void explain_exposures(const Decision& decision, const hotplug::HostDevice& device, Explanation& out);

}  // namespace sliced::policy
