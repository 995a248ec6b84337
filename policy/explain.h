#pragma once
// Explains why a host device is or is not offered, with the functions and gates of the decision.
#include <cstddef>
#include <string>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Returns the problem of a device for VFIO: it shares its IOMMU group with other functions. "" if it has a
/// group of its own, or none.
std::string iommu_problem(const hotplug::HostDevice& device);

inline constexpr size_t kRulesMax = 1'000;
Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max = kRulesMax);

}  // namespace sliced::policy
