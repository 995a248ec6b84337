#pragma once
// How much of what is offered stands on some of the policies. Pure.
#include <set>

#include "policy/decision.h"

namespace sliced::policy {

/// Whether losing these policies by mistake would matter: more than half of what their kind offers stands on
/// them, and more than 8 entries; or one of them is an exclude for this node, or may be: then losing it would add,
/// if not now then with the next device. Entries count that another policy would offer in their place.
bool relies_on(const Decision& decision, const std::set<SriovPolicy::Id>& policies);
bool relies_on(const Decision& decision, const std::set<ExposurePolicy::Id>& policies);
/// The same of the entries that these say something of, since without them other claims would be given them;
/// or one of them is for a device whose entry is refused, and may be why.
bool relies_on(const Decision& decision, const std::set<DeviceAttributes::Id>& objects);

}  // namespace sliced::policy
