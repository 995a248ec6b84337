#include "policy/gates/stale_conditions.h"

namespace sliced::policy {
namespace {

bool has_vf_settings(const Inputs& in, const hotplug::HostDevice& device) {
  if (device.enforced) return true;
  const Track* track = in.tracks.find(device.id.text);
  return track != nullptr &&
         (track->met & ~track->not_applicable & conditions_of_pfs(/*perhaps=*/false)).any();
}

}  // namespace

bool is_queryable(const Inputs& in, const hotplug::PciAddress& pf) {
  const hotplug::HostDevice* device = in.inventory->find(pf.text());
  return device == nullptr || device->netdev || hotplug::is_netdev_elsewhere(*device);
}

ConditionSet queried_conditions(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand) {
  if (!in.query_times || device.type != hotplug::DeviceType::kVf || !device.pf) return {};
  const bool depends_on_vf_settings =
      has(demand.require, Condition::kNodeState) && in.node_state.by_vf_settings.contains(device.pf->text());
  const ConditionSet asked = demand.conditions() & conditions_of_pfs(depends_on_vf_settings);
  if (asked.none() || has_vf_settings(in, device) || is_queryable(in, *device.pf)) return asked;
  return {};
}

TimePoint queried_since(const Inputs& in, const hotplug::HostDevice& device, const ConditionSet& asked) {
  if (in.pf_queries != nullptr) {
    const auto before = in.pf_queries->find(device.id.text);
    if (before != in.pf_queries->end() && (asked & ~before->second.conditions).none())
      return before->second.since;
  }
  const Track* track = in.tracks.find(device.id.text);
  const bool is_new = !in.before_at || (track != nullptr && track->born > *in.before_at);
  const auto queried = in.query_times->find(*device.pf);
  const bool is_young = queried != in.query_times->end() && queried->second >= in.now - kRecentQuery;
  return is_new && is_young ? queried->second : in.now;
}

StaleConditions stale_conditions(const Inputs& in, const hotplug::HostDevice& device,
                                 const ConditionSet& asked, bool is_published) {
  if (asked.none()) return {};
  const TimePoint since = queried_since(in, device, asked);
  const auto queried = in.query_times->find(*device.pf);
  if (queried != in.query_times->end() && queried->second >= since) return {};
  const TimePoint until = since + kQueryWaitMax;
  if (is_published && in.now >= until) return {};
  const Track* track = in.tracks.find(device.id.text);
  return {track == nullptr ? asked : asked & ~track->not_applicable, until};
}

}  // namespace sliced::policy
