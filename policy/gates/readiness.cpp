// Gate readiness: withholds a device until the readiness conditions of its policy are met for stableFor. A
// loss follows onLoss: withdraw, taint or keep.
// Evidence: Inputs::tracks, the times since which each condition holds; for VF settings also a recent query
// of the PF (stale_conditions.h).
// Until: all conditions hold for stableFor, and the damping of a condition that was lost repeatedly has
// ended.
// Example: the policy requires adminMac, and VF 3 of ens1f0 has admin MAC 00:00:00:00:00:00.
#include "policy/gates/readiness.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/entry_validation.h"
#include "policy/gates/findings.h"
#include "reactor/base/duration.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;

constexpr std::string_view kTaintId = "/not-ready";

// Returns true if a query of the PF may show a missing condition as met. A PF that is out of sync counts,
// because its node state may depend on VF settings.
bool is_asked_of_pf(const Inputs& in, const hotplug::PciAddress& pf, const ConditionSet& missing) {
  return (missing & conditions_of_pfs(/*perhaps=*/false)).any() ||
         (has(missing, Condition::kNodeState) && in.node_state.out_of_sync.contains(pf.text()));
}

// Returns how pending conditions count for the entry: published entries wait, new ones lack the condition.
Waiting waiting_of(const Inputs& in, const HostDevice& device, const EntryPlace& place) {
  return is_published_for(in, device, place) ? Waiting::kPassed : Waiting::kMissing;
}

const std::string& driver_of(const Inputs& in, PolicyType kind) {
  return kind == PolicyType::kSriov ? in.settings.sriov_driver : in.settings.exposure_driver;
}

// Returns the taint for the first lost condition. Requires: lost is not empty.
kube::Taint taint_of(const ConditionSet& lost, const std::string& driver, TaintEffect effect) {
  size_t first = 0;
  while (!lost.test(first)) ++first;
  return {driver + std::string(kTaintId), std::string(name_of(static_cast<Condition>(first))),
          std::string(name_of(effect))};
}

// Returns the conditions that cause a taint: lost ones, or one that is met again and still damped.
ConditionSet tainting(const Findings& findings, TimePoint now) {
  const Readied& found = findings.found();
  ConditionSet out = findings.demand().with(OnLoss::kTaint, found.lost);
  if (out.none() && found.flapping && found.calm_at > now &&
      findings.demand().on_loss_of(*found.flapping) == OnLoss::kTaint)
    out.set(static_cast<size_t>(*found.flapping));
  return out;
}

bool may_taint(const Demand& demand) { return demand.with(OnLoss::kTaint, demand.conditions()).any(); }

// Returns the field that decides the action for this loss.
const char* field_of(const Demand& demand, const ConditionSet& lost) {
  const bool is_link_alone = lost == (ConditionSet{1} << static_cast<size_t>(Condition::kCarrier));
  return is_link_alone && demand.on_link_down ? "onLinkDown" : "onLoss";
}

std::string_view consequence_of(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNoSchedule:
      return "so that new claims need a toleration";
    case TaintEffect::kNoExecute:
      return "so that pods with the device and new claims need a toleration";
    case TaintEffect::kNone:
      return "which has no effect on pods and claims";
  }
  return "";
}

std::string flapping_text(const Readied& found) {
  return std::string(name_of(*found.flapping)) + ": it was lost " + std::to_string(found.losses) +
         " times in a short time, and must hold for " + format_duration(damping(found.losses));
}

// Returns the entry with the taint that applies now; a taint of this driver from before is replaced.
// Unchanged if no condition causes one.
kube::DevicePtr as_tainted(kube::DevicePtr entry, const Findings& findings, TimePoint now,
                           const std::string& driver) {
  const ConditionSet lost = tainting(findings, now);
  if (lost.none()) return entry;
  kube::Taint taint = taint_of(lost, driver, findings.demand().taint_effect);
  entry.edit([&](kube::Device& device) {
    std::erase_if(device.taints, [&](const kube::Taint& one) { return one.key == taint.key; });
    device.taints.push_back(std::move(taint));
  });
  return entry;
}

// Returns the entry with binding conditions, if its policy has them. They depend only on the policy, so that
// a change of readiness does not change the slice.
kube::DevicePtr as_binding(const Inputs& in, const EntryCandidate& offer, kube::DevicePtr entry) {
  const bool holds = in.settings.binding_conditions && offer.demand.hold_binding;
  const std::string& driver = driver_of(in, offer.kind);
  std::vector<std::string> ready, lost;
  if (holds) {
    ready.push_back(ready_condition(driver));
    lost.push_back(lost_condition(driver));
  }
  if (entry->binding_conditions != ready || entry->binding_failure_conditions != lost)
    entry.edit([&](kube::Device& device) {
      device.binding_conditions = std::move(ready);
      device.binding_failure_conditions = std::move(lost);
    });
  return entry;
}

std::string binding_text(const Inputs& in, const Demand& demand) {
  if (!demand.hold_binding) return "";
  return in.settings.binding_conditions
             ? "; pods are bound to the node when it is confirmed to be ready (holdBinding)"
             : "; without a binding condition (holdBinding), since the API server does not support them or the "
               "kubelet plugin is off";
}

// Returns the entry with its published attributes and taints. Counters are not restored, because they are
// recomputed.
kube::DevicePtr with_published_attributes(const kube::Device& before, kube::DevicePtr entry) {
  if (before.attributes != entry->attributes || before.taints != entry->taints)
    entry.edit([&](kube::Device& kept) {
      kept.attributes = before.attributes;
      kept.taints = before.taints;
    });
  return entry;
}

kube::DevicePtr with_readiness(const Inputs& in, const SettlingDevices& settling, const EntryCandidate& offer,
                               kube::DevicePtr entry) {
  const bool may_wait = queried_conditions(in, offer.device, offer.demand).any();
  if (!may_wait && !may_taint(offer.demand))
    return settling.as_published_before(offer.device, offer.pool, std::move(entry));
  const std::string& driver = driver_of(in, offer.kind);
  const Findings findings(in, offer.device, offer.demand,
                          [&] { return waiting_of(in, offer.device, place_of(offer)); });
  const kube::Device* before =
      findings.stale().is_any() ? entry_before(in, offer.pool, entry->name) : nullptr;
  if (before != nullptr)
    return as_tainted(with_published_attributes(*before, std::move(entry)), findings, in.now, driver);
  entry = settling.as_published_before(offer.device, offer.pool, std::move(entry));
  if (!findings.stale().is_any()) return as_tainted(std::move(entry), findings, in.now, driver);
  // The published form is unknown. The known values decide, so that a taint is not removed.
  const Findings known(in, offer.device, offer.demand, [] { return Waiting::kAsKnown; });
  return as_tainted(std::move(entry), known, in.now, driver);
}

std::string unready_text(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                         const EntryPlace& place) {
  const Demand demand = demand_of(readiness, in.settings.readiness);
  const Findings findings(in, device, demand, [&] { return waiting_of(in, device, place); });
  const Readied& found = findings.found();
  if (demand.with(OnLoss::kWithdraw, found.lost).any()) return "";
  const ConditionSet tainted = tainting(findings, in.now), kept = demand.with(OnLoss::kKeep, found.lost);
  if (tainted.none() && kept.none()) return "";
  if (tainted.none())
    return std::string(", although it is not ready (") + field_of(demand, kept) +
           ": keep): " + findings.text_of(kept);
  const kube::Taint taint = taint_of(tainted, driver_of(in, place.kind), demand.taint_effect);
  return ", with taint " + taint.key + "=" + taint.value + ":" + taint.effect + ", " +
         std::string(consequence_of(demand.taint_effect)) + " (" + field_of(demand, tainted) + ": taint): " +
         ((tainted & found.lost).any() ? findings.text_of(tainted | kept) : flapping_text(found));
}

}  // namespace

void require_pf_query(DecisionContext& now, const hotplug::HostDevice& device, const Demand& demand) {
  const ConditionSet queried = queried_conditions(now.in, device, demand);
  if (queried.none()) return;
  const TimePoint since = queried_since(now.in, device, queried);
  PfQuery& one = now.pf_queries.try_emplace(device.id.text, PfQuery{queried, since}).first->second;
  one.conditions |= queried;
  one.since = std::max(one.since, since);
  if (stale_conditions(now.in, device, queried, /*is_published=*/false).is_any())
    now.pfs_to_query.insert(*device.pf);
}

std::string ready_condition(const std::string& driver) { return driver + "/DeviceReady"; }
std::string lost_condition(const std::string& driver) { return driver + "/DeviceLost"; }

kube::DevicePtr as_published(const Inputs& in, const SettlingDevices& settling, const EntryCandidate& offer,
                             kube::DevicePtr entry) {
  return as_binding(in, offer, with_readiness(in, settling, offer, std::move(entry)));
}

std::string offered_unready(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                            const EntryPlace& place) {
  return unready_text(in, device, readiness, place) +
         binding_text(in, demand_of(readiness, in.settings.readiness));
}

std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                        bool is_offered) {
  const Demand demand = demand_of(readiness, in.settings.readiness);
  const Findings findings(in, device, demand,
                          [&] { return is_offered ? Waiting::kPassed : Waiting::kAsKnown; });
  const ConditionSet unmet = findings.found().missing | findings.stale().conditions;
  ConditionSet allowed = demand.with(OnLoss::kKeep, unmet);
  if (demand.taint_effect == TaintEffect::kNone) allowed |= demand.with(OnLoss::kTaint, unmet);
  return findings.text_of(unmet & ~allowed);
}

std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy,
                                  const EntryPlace* place) {
  const Findings findings(in, device, demand_of(readiness, in.settings.readiness), [&] {
    return place == nullptr ? Waiting::kAsKnown : waiting_of(in, device, *place);
  });
  const ConditionSet& missing = findings.found().missing;
  std::vector<Rule> out;
  if (readiness == Readiness{} && missing.none()) return out;
  const ConditionSet wanted = findings.demand().conditions();
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!wanted.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    const Finding finding = findings.of(condition);
    const bool is_passed = findings.stale().conditions.test(i) && !missing.test(i);
    const char* says = is_passed                            ? "not known yet"
                       : finding.is == Finding::Is::kMet    ? "met"
                       : finding.is == Finding::Is::kNotMet ? "not met"
                                                            : "not applicable";
    out.push_back({policy, "spec.readiness", is_passed || finding.counts_as_met() ? "match" : "no",
                   std::string(name_of(condition)),
                   says + (finding.why.empty() ? "" : " (" + finding.why + ")"), "met"});
  }
  return out;
}

namespace gates {
namespace {

class ReadinessGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kNotReady};

  explicit ReadinessGate(DecisionContext& context) : now_(context), in_(context.in) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    const Demand& demand = offer.demand;
    if (demand.conditions().none() && demand.stable_for == Millis{0}) return std::nullopt;
    const Findings findings(in_, offer.device, demand,
                            [&] { return waiting_of(in_, offer.device, place_of(offer)); });
    const Readied& found = findings.found();
    const bool is_kept = waits_for_query(offer, findings);
    if (found.missing.any()) return ask_unready(offer, findings);
    const bool is_calm = found.calm_at <= in_.now;
    const bool is_stable = found.since <= in_.now - demand.stable_for;
    if (is_kept || (is_stable && is_calm)) return std::nullopt;
    if (may_stay(offer, findings)) {
      if (!is_calm && demand.on_loss_of(*found.flapping) == OnLoss::kTaint) wake_at(found.calm_at);
      return std::nullopt;
    }
    wake_at(std::max(is_calm ? kUnknownStart : found.calm_at,
                     is_stable ? kUnknownStart : found.since + demand.stable_for));
    return held_back(
        offer, found.since,
        is_stable ? flapping_text(found)
                  : "stableFor: it is ready, and must be ready for " + format_duration(demand.stable_for));
  }

  static std::string say(const GateExplanation& explained) {
    std::string out = explained.by.empty() ? "" : explained.by + " would offer it; ";
    out += "held back";
    const auto since = explained.decision.unready_since.find(explained.device.id.text);
    if (since != explained.decision.unready_since.end() && since->second != kUnknownStart) {
      const auto for_ms = explained.decision.inputs->now - since->second;
      out += " " + std::to_string(for_ms.count() / 1000) + " s";
    }
    return out + ": " + explained.why;
  }

 private:
  void wake_at(TimePoint due) { now_.due = std::min(now_.due.value_or(due), due); }

  // Requests a query of the PF if one is pending. Returns true if the entry is published and stays unchanged
  // until the PF has answered.
  bool waits_for_query(const EntryCandidate& offer, const Findings& findings) {
    const StaleConditions& stale = findings.stale();
    if (!stale.is_any()) return false;
    now_.unanswered_pfs.insert(*offer.device.pf);  // retried, because the PF may not answer
    if ((findings.found().missing & stale.conditions).any()) return false;
    wake_at(stale.until);
    return true;
  }

  std::optional<Rejection> ask_unready(const EntryCandidate& offer, const Findings& findings) {
    const Readied& found = findings.found();
    const auto& pf = offer.device.pf;
    if (pf && is_asked_of_pf(in_, *pf, found.missing) && is_queryable(in_, *pf))
      now_.unanswered_pfs.insert(*pf);
    const bool stays = may_stay(offer, findings);
    if (stays && found.lost.none()) return std::nullopt;
    std::string why = findings.text_of(found.missing);
    if (findings.demand().with(OnLoss::kWithdraw, found.lost).any() || !stays)
      return held_back(offer, found.since, std::move(why), findings.reason_of(found.missing));
    const std::string refused = refused_taint(offer, findings);
    if (refused.empty()) return std::nullopt;
    return held_back(offer, found.since, why + "; and it cannot stay with a taint: " + refused);
  }

  // Returns why the API server would refuse the tainted entry; "" if it would not. A server without taints
  // drops them.
  std::string refused_taint(const EntryCandidate& offer, const Findings& findings) const {
    if (findings.demand().with(OnLoss::kTaint, findings.found().lost).none() || offer.entry.empty())
      return "";
    return refused_before(*as_tainted(offer.draft().entry, findings, in_.now, driver_of(in_, offer.kind)),
                          offer.kind == PolicyType::kSriov ? in_.quarantine.sriov : in_.quarantine.exposure);
  }

  Rejection held_back(const EntryCandidate& offer, TimePoint since, std::string why,
                      std::string reason = {}) {
    const auto [at, is_new] = now_.unready_since.emplace(offer.device.id.text, since);
    if (!is_new) at->second = std::min(at->second, since);
    return {Outcome::kNotReady, std::move(why), std::move(reason)};
  }

  // Returns true if the entry is published and may stay. The time that counts must be before the previous
  // decision:
  // - If nothing is lost now, and a loss would withdraw the entry: the end of the last withdrawing loss.
  // - Otherwise: the appearance of the device.
  bool may_stay(const EntryCandidate& offer, const Findings& findings) const {
    const Readied& found = findings.found();
    const Demand& demand = findings.demand();
    const bool stays = demand.with(OnLoss::kWithdraw, demand.conditions()).none() || found.lost.any();
    const TimePoint since = stays ? findings.born() : found.intact_since;
    return (in_.before_at ? since < *in_.before_at : since == kUnknownStart) &&
           policy::was_published(in_, place_of(offer));
  }

  DecisionContext& now_;
  const Inputs& in_;
};

}  // namespace

GateKind readiness() { return gate_kind<ReadinessGate>("readiness"); }

}  // namespace gates
}  // namespace sliced::policy
