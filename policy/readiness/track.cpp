#include "policy/readiness/track.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace sliced::policy {
namespace {

using hotplug::HostDevice;

constexpr int kLossesMax = 100;
constexpr size_t kLowsMax = 8;  // beyond that, the two smallest become one

void find_all(const Subject& subject, Track& out) {
  for (const ConditionKind& kind : condition_table()) {
    const Finding found = kind.find(subject);
    out.met.set(static_cast<size_t>(kind.condition), found.counts_as_met());
    out.not_applicable.set(static_cast<size_t>(kind.condition), found.is == Finding::Is::kDoesNotApply);
  }
}

void count_loss(Condition condition, TimePoint met_since, TimePoint now, Track& track) {
  uint8_t& losses = track.losses[static_cast<size_t>(condition)];
  if (met_since <= now - kLossesExpireAfter) losses = 0;
  if (losses < kLossesMax) ++losses;
}

void note_mtu(const Subject& subject, TimePoint now, Track& track) {
  const Finding::Is is = find_mtu(subject, 1).is;
  const int mtu = is == Finding::Is::kMet ? *subject.device.netdev->mtu : 0;
  if (is == track.mtu_is && mtu == track.mtu) return;
  if (mtu < track.mtu) count_loss(Condition::kMtuAtLeast, track.mtu_since, now, track);
  if (track.mtu_is != Finding::Is::kDoesNotApply) {
    auto& lows = track.lows;
    std::erase_if(lows, [&](const Track::Low& low) { return low.mtu >= track.mtu; });
    lows.push_back({track.mtu, now});
    if (lows.size() > kLowsMax) {
      lows[0].until = lows[1].until;
      lows.erase(lows.begin() + 1);
    }
  }
  track.mtu_is = is;
  track.mtu = mtu;
  track.mtu_since = now;
}

void count_losses(const Track& before, TimePoint now, Track& track) {
  for (size_t i = 0; i < kConditionCount; ++i)
    if (before.met.test(i) && !track.met.test(i))
      count_loss(static_cast<Condition>(i), before.since[i], now, track);
}

int ifindex_of(const HostDevice& device) { return device.netdev ? device.netdev->ifindex : 0; }
bool has_left(const HostDevice& device) { return device.netdev && device.netdev->stale; }

// The VF settings are unknown, because the PF's interface may be in another network namespace.
bool lacks_pf_settings(const Subject& subject) {
  return subject.device.pf && subject.host.can_query_pfs && !subject.device.enforced;
}
// The interface is in another network namespace, or its driver does not report the link state.
bool is_link_unknown(const Subject& subject) {
  const HostDevice* owner = link_owner(subject);
  return owner != nullptr && owner->netdev && owner->netdev->oper_state.empty();
}
// Returns the conditions whose facts cannot be read now.
ConditionSet unanswered_by_pf(const Subject& subject) {
  ConditionSet out;
  if (lacks_pf_settings(subject)) out = conditions_of_pfs(/*perhaps=*/false);
  out.set(static_cast<size_t>(Condition::kCarrier), is_link_unknown(subject));
  return out;
}
// Keeps earlier results of unreadable conditions, unless the condition did not apply then.
void keep_earlier_results(const Track& before, const ConditionSet& unanswered, Track& one) {
  one.met |= before.met & ~before.not_applicable & unanswered;
}

// The facts of the PF on which a VF's carrier depends.
auto link_of(const HostDevice* pf) {
  const bool is_there = pf != nullptr && pf->netdev;
  return std::tuple(pf != nullptr, is_there, pf != nullptr && hotplug::is_handed_over(*pf),
                    is_there ? std::string_view(pf->netdev->oper_state) : std::string_view());
}

void set_since(Track& one, TimePoint since) {
  one.born = one.mtu_since = since;
  one.since.fill(since);
}

}  // namespace

Millis damping(int losses) {
  if (losses < 2) return Millis{0};
  return losses > 6 ? kDampingMax : std::min(kDampingMax, Millis{1000} * (1 << (losses - 2)));
}

bool Track::is_met(Condition condition, int mtu_at_least) const {
  if (condition != Condition::kMtuAtLeast) return has(met, condition);
  return mtu_is == Finding::Is::kDoesNotApply || (mtu_is == Finding::Is::kMet && mtu >= mtu_at_least);
}

TimePoint Track::since_of(Condition condition, int mtu_at_least) const {
  if (condition != Condition::kMtuAtLeast) return since[static_cast<size_t>(condition)];
  if (!is_met(condition, mtu_at_least) || mtu_is == Finding::Is::kDoesNotApply) return mtu_since;
  TimePoint out = born;
  for (const Low& low : lows)
    if (low.mtu < mtu_at_least) out = std::max(out, low.until);
  return out;
}

Track Track::without_assumptions() const {
  Track out = *this;
  out.met &= ~assumed;
  if (has(assumed, Condition::kMtuAtLeast)) out.mtu_is = Finding::Is::kNotMet;
  const auto seen = [&](TimePoint& since) { since = std::max(since, assumed_at); };
  seen(out.born);
  seen(out.mtu_since);
  for (TimePoint& since : out.since) seen(since);
  return out;
}

Readied readied(const Track& one, const Demand& demand) {
  Readied out;
  const ConditionSet wanted = demand.conditions();
  TimePoint missing_since = TimePoint::max();
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!wanted.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    const TimePoint since = one.since_of(condition, demand.mtu_at_least);
    out.missing.set(i, !one.is_met(condition, demand.mtu_at_least));
    if (out.missing.test(i)) missing_since = std::min(missing_since, since);
    out.since = std::max(out.since, since);
    if (condition == Condition::kUdevInitialized) continue;
    out.lost.set(i, out.missing.test(i));
    const Millis damped = damping(one.losses[i]);
    if (!out.missing.test(i) && damped > Millis{0} && since + damped > out.calm_at) {
      out.calm_at = since + damped;
      out.flapping = condition;
      out.losses = one.losses[i];
    }
    if (demand.on_loss_of(condition) == OnLoss::kWithdraw)
      out.intact_since = std::max(out.intact_since, since);
  }
  out.since = std::max(out.since, one.born);
  out.intact_since = std::max(out.intact_since, one.born);
  if (out.missing.any()) out.since = missing_since;
  return out;
}

Track track_of(const Subject& subject, TimePoint now) {
  Track out;
  find_all(subject, out);
  note_mtu(subject, now, out);
  out.lows.clear();
  out.ifindex = ifindex_of(subject.device);
  out.is_away = has_left(subject.device);
  set_since(out, now);
  return out;
}

void ReadinessBook::begin(const hotplug::InventoryPtr& host, const NodeState& node_state,
                          const std::set<std::string>& published, bool all, TimePoint now) {
  host_ = host;
  node_state_ = node_state;
  tracks_.reserve(host->devices.size());
  for (const auto& [id, device] : host->devices) {
    Track one = track_of({device, *host, node_state}, now);
    const bool was_published = published.contains(id);
    const ConditionSet seen = one.met;
    if (was_published || all) set_since(one, kUnknownStart);
    if (was_published && !all) one.assumed_at = now;
    if (was_published)
      keep_earlier_results({.met = ConditionSet().set()}, unanswered_by_pf({device, *host, node_state}), one);
    // The pod may have changed the facts. If the entry is not published, the driver may still be creating the
    // interface.
    one.is_away = (was_published || all) && hotplug::is_netdev_elsewhere(device);
    if (was_published && one.is_away) {
      one.met.set();
      one.mtu_is = Finding::Is::kDoesNotApply;
    }
    one.assumed = one.met & ~seen;
    tracks_.append(id, std::move(one));
  }
}

void ReadinessBook::look(const hotplug::InventoryPtr& host, const NodeState& node_state, TimePoint now) {
  const bool is_all = node_state != node_state_ || host->has_udevd != host_->has_udevd ||
                      host->can_query_pfs != host_->can_query_pfs;
  if (!is_all && host == host_) return;
  if (is_all) node_state_ = node_state;
  const hotplug::InventoryPtr before = std::exchange(host_, host);
  if (is_all)
    for (const auto& [id, device] : host->devices) update_device(id, device, now);
  std::set<hotplug::PciAddress> relinked;
  decltype(host->devices)::for_each_difference(
      before->devices, host->devices,
      [&](const std::string& id, const hotplug::HostDevice* old, const hotplug::HostDevice* device) {
        const hotplug::HostDevice& either = device == nullptr ? *old : *device;
        if (either.type == hotplug::DeviceType::kPf && link_of(old) != link_of(device))
          relinked.insert(*either.pci);
        if (device == nullptr) {
          tracks_.erase(id);
          held_.erase(id);
        } else if (!is_all) {
          update_device(id, *device, now);
        }
      });
  if (!is_all && !relinked.empty()) update_vfs(relinked, now);
}

// The VFs' own facts are unchanged, and the shared link of the PF changed.
void ReadinessBook::update_vfs(const std::set<hotplug::PciAddress>& pfs, TimePoint now) {
  for (const auto& [id, device] : host_->devices)
    if (device.pf && pfs.contains(*device.pf)) update_device(id, device, now);
}

bool ReadinessBook::is_any_unfinished() const {
  return std::any_of(tracks_.begin(), tracks_.end(),
                     [](const auto& entry) { return !has(entry.second.met, Condition::kUdevInitialized); });
}

bool ReadinessBook::is_any_assumed() const {
  return std::any_of(tracks_.begin(), tracks_.end(),
                     [](const auto& entry) { return entry.second.assumed.any(); });
}

// An interface that returns counts as absent until udevd has initialized it.
bool ReadinessBook::is_elsewhere(const std::string& id, const Track& known,
                                 const hotplug::HostDevice& device) const {
  if (has_left(device)) return true;
  if (!known.is_away && !held_.contains(id)) return false;
  if (!device.netdev) return hotplug::is_netdev_elsewhere(device);
  return host_->has_udevd && device.netdev->is_initialized == false;
}

// Keeps the results except udevInitialized, which is of the interface that left: the present one may belong
// to another function at the same address.
void ReadinessBook::keep_results(const std::string& id, const Track& known, const hotplug::HostDevice& device,
                                 TimePoint now) {
  constexpr auto kUdev = static_cast<size_t>(Condition::kUdevInitialized);
  const bool is_here = device.netdev && !device.netdev->stale;
  const bool may_be_other =
      is_here && !held_.contains(id) && known.met.test(kUdev) && known.ifindex != ifindex_of(device);
  if (known.is_away && !may_be_other) return;
  Track next = known;
  next.is_away = true;
  if (may_be_other) {
    next.met.reset(kUdev);
    next.not_applicable.reset(kUdev);
    next.assumed.reset(kUdev);
    next.since[kUdev] = now;
  }
  tracks_[id] = std::move(next);
}

void ReadinessBook::update_device(const std::string& id, const hotplug::HostDevice& device, TimePoint now) {
  const Subject subject{device, *host_, node_state_};
  const Track* known = tracks_.find(id);
  if (known != nullptr && is_elsewhere(id, *known, device)) {
    keep_results(id, *known, device, now);
    return;
  }
  const bool is_other = known != nullptr && known->ifindex != 0 && ifindex_of(device) != 0 &&
                        known->ifindex != ifindex_of(device);
  const bool was_held = is_other && held_.erase(id) > 0;
  if (known == nullptr || (is_other && !known->is_away && !was_held)) {
    Track fresh = track_of(subject, now);
    if (known != nullptr) {
      fresh.losses = known->losses;
      count_losses(*known, now, fresh);
    }
    tracks_[id] = std::move(fresh);
    return;
  }
  Track next = *known;
  find_all(subject, next);
  const ConditionSet unanswered = unanswered_by_pf(subject);
  keep_earlier_results(*known, unanswered, next);
  next.assumed &= unanswered & ~next.not_applicable;
  if (next.assumed != known->assumed) next.assumed_at = now;
  count_losses(*known, now, next);
  for (size_t i = 0; i < kConditionCount; ++i)
    if (next.met.test(i) != known->met.test(i)) next.since[i] = now;
  note_mtu(subject, now, next);
  next.ifindex = ifindex_of(device);
  next.is_away = false;
  if (next != *known) tracks_[id] = std::move(next);
}

}  // namespace sliced::policy
