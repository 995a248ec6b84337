#pragma once
// Whether what is known of a VF by its PF's word has been asked for since policies ask for it (docs/design/word-of-pfs.md).
// What was read while nobody asked is no answer to who begins to ask.
//
// Additions:   wait until the PF has answered once.
// What stands: stays as it is until then, for kWordMax at most; then what is known counts.
// New:         of what came since the decision before, and of all when there was none, what was told within kYoungWord
//              counts as asked for.
#include "policy/inputs.h"

namespace sliced::policy {

inline constexpr Millis kWordMax{2'000};
inline constexpr Millis kYoungWord{2'000};

/// Whether the PF has, or may have, an interface that could be asked. Of one that is not known nothing is assumed.
bool can_be_asked(const Inputs& in, const hotplug::PciAddress& pf);
/// None where nothing is to be asked of the PF, nobody could ask it and nothing counts by its word, or whatever is known
/// counts (Inputs::told_at).
ConditionSet asked_of_pf(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand);
/// asked: not none, and by asked_of_pf().
TimePoint asked_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked);

/// Conditions that apply and are not to be judged by what is known; until when, of what stands.
struct Untold {
  ConditionSet conditions;
  TimePoint until{};
  bool is_any() const { return conditions.any(); }
};
/// asked: by asked_of_pf(). stands: of an entry of the device that stands; else of one that would be added.
Untold untold(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked, bool stands);

}  // namespace sliced::policy
