#include "policy/gates/pf_word.h"

namespace sliced::policy {

ConditionSet asked_of_pf(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand) {
  if (!in.told_at || device.type != hotplug::DeviceType::kVf || !device.pf) return {};
  return demand.conditions() & conditions_of_pfs();
}

TimePoint asked_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked) {
  if (in.asked_of_pfs != nullptr) {
    const auto before = in.asked_of_pfs->find(device.id.text);
    if (before != in.asked_of_pfs->end() && (asked & ~before->second.conditions).none())
      return before->second.since;
  }
  if (!in.before_at) {
    const auto told = in.told_at->find(*device.pf);
    const bool is_young = told != in.told_at->end() && told->second >= in.now - kWordAtStart;
    return is_young ? told->second : in.now;
  }
  const Track* track = in.tracks.find(device.id.text);
  return track != nullptr && track->born > *in.before_at ? kEver : in.now;
}

Untold untold(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand, bool stands) {
  const ConditionSet asked = asked_of_pf(in, device, demand);
  if (asked.none()) return {};
  const TimePoint since = asked_since(in, device, asked);
  const auto told = in.told_at->find(*device.pf);
  if (since == kEver || (told != in.told_at->end() && told->second >= since)) return {};
  const TimePoint until = since + kWordMax;
  if (stands && in.now >= until) return {};
  const Track* track = in.tracks.find(device.id.text);
  return {track == nullptr ? asked : asked & ~track->not_for_it, until};
}

}  // namespace sliced::policy
