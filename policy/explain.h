#pragma once
// Why a host device is offered or is not, from the same functions and gates that decided.
#include <cstddef>
#include <string>

#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::policy {

/// Rules are as many as policies and filters: at most rules_max of those that say no are shown, and policies
/// beyond that are not looked at. The one that decides is always there.
/// What is wrong with a device for VFIO: it shares its IOMMU group with other functions. "" it has a group of its own, or none.
std::string iommu_problem(const hotplug::HostDevice& device);

inline constexpr size_t kRulesMax = 1'000;
Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max = kRulesMax);

}  // namespace sliced::policy
