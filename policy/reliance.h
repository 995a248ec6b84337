#pragma once
// Measures how much of the offer depends on given policies. Pure.
#include <set>

#include "policy/decision.h"

namespace sliced::policy {

/// Returns true if losing these policies by mistake would matter: they offer more than half of their kind's
/// entries and more than 8, or one of them is or may be an exclude for this node, whose loss would offer more
/// devices. Entries count even if another policy would offer them instead.
bool relies_on(const Decision& decision, const std::set<SriovPolicy::Id>& policies);
bool relies_on(const Decision& decision, const std::set<ExposurePolicy::Id>& policies);
/// The same for entries with attributes of these objects, because other claims would get them without the
/// attributes. Also true if one of them applies to a device whose entry is refused, and may be the cause.
bool relies_on(const Decision& decision, const std::set<DeviceAttributes::Id>& objects);

}  // namespace sliced::policy
