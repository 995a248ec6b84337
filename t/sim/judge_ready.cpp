// What DeviceExposurePolicies ask of devices before they are offered, and of what stands: readiness.
#include <algorithm>

#include "t/sim/exposure_world.h"
#include "t/sim/world.h"

namespace sliced::sim {

// ---- what stood

bool ExposureWorld::stood(const std::string& entry) const {
  return std::any_of(stood_lately_.begin(), stood_lately_.end(),
                     [&](const std::string& id) { return id.ends_with("/" + entry); });
}

bool ExposureWorld::was_mac_asked_for() const {
  return std::any_of(policies_past_.begin(), policies_past_.end(), [](const auto& then) {
    return std::any_of(then.second.begin(), then.second.end(),
                       [](const auto& one) { return one.second->wants_mac_for.has_value(); });
  });
}

bool World::was_mac_asked_for() const {
  return exposed.was_mac_asked_for() ||
         std::any_of(policies_past_.begin(), policies_past_.end(), [](const auto& then) {
           return std::any_of(then.second.begin(), then.second.end(),
                              [](const auto& one) { return one.second.wants_mac_for.has_value(); });
         });
}

void ExposureWorld::lose_macs() {
  Dice& dice = world_.dice();
  std::vector<std::string> standing;
  for (const auto& [id, pool] : pools())
    for (const auto& [name, entry] : pool.entries) {
      const auto offer = pool.driver == kExposureDriver ? offer_of(pool, *entry) : std::nullopt;
      if (!offer || offer->type != "vf") continue;
      const auto rev = entry->attributes.find(std::string(kExposureDriver) + "/rev");
      if (revs_.at(std::atoll(rev->second.c_str() + 4))->wants_mac_for) standing.push_back(offer->device);
    }
  for (const std::string& vf : standing)
    if (dice.chance(0.7)) world_.machine.set_mac(vf, false, true);
  if (!standing.empty()) return;
  Exposure asks = random_policy(dice.chance(0.5) ? "vf" : "share");
  asks.wants_mac_for = Millis{0};
  asks.lost = dice.chance(0.5) ? Exposure::Lost::kStays : Exposure::Lost::kStaysTainted;
  put(std::move(asks));
}

// ---- what is added

// What stood lately may be written again whatever it has lost.
bool ExposureWorld::could_be_ready(const Offer& offer, const Exposure& policy) const {
  return !policy.wants_mac_for || offer.type != "vf" ||
         world_.was_ready(offer.device, *policy.wants_mac_for) ||
         (policy.lost != Exposure::Lost::kGoes && stood_lately_.contains(offer.id()));
}

// ---- at rest

Answer ExposureWorld::is_ready(const DeviceFacts& device, const Exposure& policy) const {
  if (!policy.wants_mac_for) return world_.machine.is_unfinished(device.id) ? Answer::kOpen : Answer::kYes;
  if (device.type != "vf") return Answer::kYes;
  const VfFacts facts = world_.machine.vf_facts(device.id);
  if (facts.is_open) return Answer::kOpen;
  return facts.is_configured ? Answer::kYes : Answer::kNo;
}

// It stood at the last rest, and since then only its MAC was taken away.
bool ExposureWorld::must_stay(const Offer& offer) const {
  const auto past = devices_.find(offer.device);
  return policies_past_.size() == 1 && past != devices_.end() && past->second.size() == 1 &&
         rested_with_.contains(offer.id()) && !world_.may_hide_devices &&
         world_.has_lost_its_mac_alone(offer.device);
}

std::string ExposureWorld::taint_problem(const Expected& wanted, const SlicedEntry& entry) const {
  const bool is_tainted = entry.taints.contains(std::string(kExposureDriver) + "/not-ready");
  const bool is_lost = wanted.ready == Answer::kNo && wanted.policy->lost == Exposure::Lost::kStaysTainted;
  if (wanted.ready == Answer::kNo)
    ++world_.seen[is_tainted ? "tainted for what it has lost" : "kept beside claims"];
  if (is_tainted == is_lost) return "";
  return is_lost ? "has no taint, and has lost its admin MAC" : "has a taint, and has lost nothing";
}

}  // namespace sliced::sim
