#pragma once
// Whether what is known of a VF by its PF's word has been asked for since policies ask for it (docs/design/word-of-pfs.md).
// What was read while nobody asked is no answer to who begins to ask.
//
// Additions:   wait until the PF has answered once.
// What stands: stays as it is until then, for kWordMax at most; then what is known counts.
// New:         what is known of a device that came since the decision before was read with it.
#include "policy/inputs.h"

namespace sliced::policy {

inline constexpr Millis kWordMax{2'000};
/// What was read so shortly before the first decision has been asked for.
inline constexpr Millis kWordAtStart{2'000};

/// None where no PF is to be asked, or whatever is known counts (Inputs::told_at).
ConditionSet asked_of_pf(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand);
/// asked: not none, and by asked_of_pf().
TimePoint asked_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked);

/// Conditions that apply and are not to be judged by what is known; until when, of what stands.
struct Untold {
  ConditionSet conditions;
  TimePoint until{};
  bool is_any() const { return conditions.any(); }
};
/// stands: of an entry of the device that stands; else of one that would be added.
Untold untold(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand, bool stands);

}  // namespace sliced::policy
