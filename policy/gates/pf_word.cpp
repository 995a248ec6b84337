#include "policy/gates/pf_word.h"

namespace sliced::policy {
namespace {

bool counts_by_word(const Inputs& in, const hotplug::HostDevice& device) {
  if (device.enforced) return true;
  const Track* track = in.tracks.find(device.id.text);
  return track != nullptr && (track->met & ~track->not_for_it & conditions_of_pfs(/*perhaps=*/false)).any();
}

}  // namespace

bool can_be_asked(const Inputs& in, const hotplug::PciAddress& pf) {
  const hotplug::HostDevice* device = in.inventory->find(pf.text());
  return device == nullptr || device->netdev || hotplug::is_netdev_elsewhere(*device);
}

ConditionSet asked_of_pf(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand) {
  if (!in.query_times || device.type != hotplug::DeviceType::kVf || !device.pf) return {};
  const bool is_by_word =
      has(demand.require, Condition::kNodeState) && in.node_state.by_word.contains(device.pf->text());
  const ConditionSet asked = demand.conditions() & conditions_of_pfs(is_by_word);
  if (asked.none() || counts_by_word(in, device) || can_be_asked(in, *device.pf)) return asked;
  return {};
}

TimePoint asked_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked) {
  if (in.asked_of_pfs != nullptr) {
    const auto before = in.asked_of_pfs->find(device.id.text);
    if (before != in.asked_of_pfs->end() && (asked & ~before->second.conditions).none())
      return before->second.since;
  }
  const Track* track = in.tracks.find(device.id.text);
  const bool is_new = !in.before_at || (track != nullptr && track->born > *in.before_at);
  const auto queried = in.query_times->find(*device.pf);
  const bool is_young = queried != in.query_times->end() && queried->second >= in.now - kYoungWord;
  return is_new && is_young ? queried->second : in.now;
}

Untold untold(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked, bool stands) {
  if (asked.none()) return {};
  const TimePoint since = asked_since(in, device, asked);
  const auto queried = in.query_times->find(*device.pf);
  if (queried != in.query_times->end() && queried->second >= since) return {};
  const TimePoint until = since + kWordMax;
  if (stands && in.now >= until) return {};
  const Track* track = in.tracks.find(device.id.text);
  return {track == nullptr ? asked : asked & ~track->not_for_it, until};
}

}  // namespace sliced::policy
