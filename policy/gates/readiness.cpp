// Asks: is the device configured as its policy wants it before it is offered, and has it been for long enough?
#include "policy/gates/readiness.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "policy/entry_validation.h"
#include "policy/gates/pf_word.h"
#include "policy/readiness/conditions.h"
#include "reactor/base/duration.h"

namespace sliced::policy {
namespace readiness_gate {
namespace {

using hotplug::HostDevice;

constexpr std::string_view kTaintId = "/not-ready";

// Its results may be those of before its interface left.
Finding finding_in(const Inputs& in, const HostDevice& device, Condition condition, const Demand& demand,
                   const Track* known) {
  Finding out = find_condition(condition, {device, *in.inventory, in.node_state}, demand.mtu_at_least);
  if (known == nullptr || known->is_met(condition, demand.mtu_at_least) == out.counts_as_met()) return out;
  return {out.counts_as_met() ? Finding::Is::kNotMet : Finding::Is::kMet, "as it was found before"};
}

std::string not_asked_text(const HostDevice& vf) {
  return "PF " + vf.pf->text() + " has not been asked since that is wanted";
}

std::string missing_text(const Inputs& in, const HostDevice& device, const Readied& found,
                         const Demand& demand, const Track* known) {
  std::string out;
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!found.missing.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    out += (out.empty() ? "" : "; ") + std::string(name_of(condition)) + ": " +
           finding_in(in, device, condition, demand, known).why;
  }
  return out;
}

// What a node state wants of a PF may be one of these, too.
bool is_asked_of_pf(const Inputs& in, const hotplug::PciAddress& pf, const ConditionSet& missing) {
  const auto table = condition_table();
  if (has(missing, Condition::kNodeState) && in.node_state.out_of_sync.contains(pf.text())) return true;
  return std::any_of(table.begin(), table.end(), [&](const ConditionKind& kind) {
    return kind.is_asked_of_pf && has(missing, kind.condition);
  });
}

}  // namespace
}  // namespace readiness_gate

Readied readied_in(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand) {
  if (const Track* known = in.tracks.find(device.id.text)) return readied(*known, demand);
  return readied(track_of({device, *in.inventory, in.node_state}, kEver), demand);
}

void note_asked_of_pf(Circumstances& now, const hotplug::HostDevice& device, const Readiness& readiness) {
  const ConditionSet asked = asked_of_pf(now.in, device, demand_of(readiness, now.in.settings.readiness));
  if (asked.none()) return;
  const TimePoint since = asked_since(now.in, device, asked);
  AskedOfPf& one = now.asked_of_pfs.try_emplace(device.id.text, AskedOfPf{asked, since}).first->second;
  one.conditions |= asked;
  one.since = std::max(one.since, since);
}

bool awaits_word(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness) {
  return untold(in, device, demand_of(readiness, in.settings.readiness), true).is_any();
}

std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness) {
  const Demand demand = demand_of(readiness, in.settings.readiness);
  const Readied found = readied_in(in, device, demand);
  if (found.missing.none() || demand.on_loss == OnLoss::kKeep) return "";
  return readiness_gate::missing_text(in, device, found, demand, in.tracks.find(device.id.text));
}

std::optional<kube::Taint> taint_of(const Inputs& in, const hotplug::HostDevice& device,
                                    const Readiness& readiness, const std::string& driver) {
  const Demand demand = demand_of(readiness, in.settings.readiness);
  if (demand.on_loss != OnLoss::kTaint) return std::nullopt;
  const Readied found = readied_in(in, device, demand);
  for (size_t i = 0; i < kConditionCount; ++i)
    if (found.lost.test(i))
      return kube::Taint{driver + std::string(readiness_gate::kTaintId),
                         std::string(name_of(static_cast<Condition>(i))), "NoSchedule"};
  return std::nullopt;
}

kube::DevicePtr as_tainted(kube::DevicePtr entry, std::optional<kube::Taint> taint) {
  if (taint) entry.edit([&](kube::Device& device) { device.taints.push_back(std::move(*taint)); });
  return entry;
}

std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy) {
  const Demand demand = demand_of(readiness, in.settings.readiness);
  const Readied found = readied_in(in, device, demand);
  std::vector<Rule> out;
  if (readiness == Readiness{} && found.missing.none()) return out;
  const ConditionSet wanted = demand.conditions();
  const ConditionSet not_asked = untold(in, device, demand, false).conditions;
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!wanted.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    Finding finding =
        readiness_gate::finding_in(in, device, condition, demand, in.tracks.find(device.id.text));
    if (not_asked.test(i)) finding = {Finding::Is::kNotMet, readiness_gate::not_asked_text(device)};
    const char* says = finding.is == Finding::Is::kMet      ? "met"
                       : finding.is == Finding::Is::kNotMet ? "not met"
                                                            : "not for it";
    out.push_back({policy, "spec.readiness", finding.counts_as_met() ? "match" : "no",
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

  explicit ReadinessGate(Circumstances& circumstances) : now_(circumstances), in_(circumstances.in) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    const Demand demand = demand_of(offer.readiness, in_.settings.readiness);
    if (demand.conditions().none() && demand.stable_for == Millis{0}) return std::nullopt;
    const Track* known = in_.tracks.find(offer.device.id.text);
    // What is taken at its word stands; what comes beside it does not.
    Track seen;
    if (known != nullptr && is_taken_for_granted(*known, demand) && !stands(offer))
      seen = known->as_seen(), known = &seen;
    const ConditionSet of_pf = asked_of_pf(in_, offer.device, demand);
    const bool has_place = of_pf.any() && stands(offer);
    if (has_place && known != nullptr) seen = as_first_told(*known, offer.device, of_pf), known = &seen;
    Readied found = known == nullptr ? readied_in(in_, offer.device, demand) : readied(*known, demand);
    if (of_pf.any()) {
      const Untold untold_here = untold(in_, offer.device, demand, has_place);
      if (untold_here.is_any() && !has_place) return await_word(offer, found, untold_here);
      if (untold_here.is_any() && keeps_its_place(offer, found, untold_here)) return std::nullopt;
    }
    if (found.missing.any()) return ask_unready(offer, demand, found, known);
    if (found.since <= in_.now - demand.stable_for || has_stood_since(offer, found.whole_since))
      return std::nullopt;
    const TimePoint due = found.since + demand.stable_for;
    now_.due = std::min(now_.due.value_or(due), due);
    return held_back(offer, found.since,
                     "stableFor: it is ready, and has to be for " + format_duration(demand.stable_for));
  }

  static std::string say(const Telling& told) {
    std::string out = told.by.empty() ? "" : told.by + " would offer it; ";
    out += "held back";
    const auto since = told.decision.unready_since.find(told.device.id.text);
    if (since != told.decision.unready_since.end() && since->second != kEver) {
      const auto for_ms = told.decision.inputs->now - since->second;
      out += " " + std::to_string(for_ms.count() / 1000) + " s";
    }
    return out + ": " + told.why;
  }

 private:
  bool is_taken_for_granted(const Track& known, const Demand& demand) const {
    return (known.taken & demand.conditions()).any() || known.taken_at > in_.now - demand.stable_for;
  }

  // Since when that is so which the first answer has told nobody knows; what stands has not lost it meanwhile.
  Track as_first_told(const Track& known, const HostDevice& device, const ConditionSet& of_pf) const {
    Track out = known;
    const TimePoint asked = asked_since(in_, device, of_pf);
    if (asked == kEver) return out;
    for (size_t i = 0; i < kConditionCount; ++i)
      if (of_pf.test(i) && out.met.test(i) && out.since[i] >= asked && out.since[i] <= asked + kWordMax)
        out.since[i] = kEver;
    return out;
  }

  void want_word(const hotplug::PciAddress& pf) {
    now_.untold_pfs.insert(pf);
    now_.awaited_pfs.insert(pf);  // it may not answer
  }

  std::optional<HeldBack> await_word(const Offer& offer, const Readied& found, const Untold& untold_here) {
    want_word(*offer.device.pf);
    std::string names;
    for (size_t i = 0; i < kConditionCount; ++i)
      if (untold_here.conditions.test(i))
        names += (names.empty() ? "" : ", ") + std::string(name_of(static_cast<Condition>(i)));
    return held_back(offer, found.missing.any() ? found.since : in_.now,
                     names + ": " + readiness_gate::not_asked_text(offer.device));
  }

  // Of what is missing the rest is as it is known. False: something of that is.
  bool keeps_its_place(const Offer& offer, Readied& found, const Untold& untold_here) {
    want_word(*offer.device.pf);
    now_.due = std::min(now_.due.value_or(untold_here.until), untold_here.until);
    const bool is_waited_for = (found.missing & untold_here.conditions).any();
    found.missing &= ~untold_here.conditions;
    found.lost &= ~untold_here.conditions;
    return is_waited_for && found.missing.none();
  }

  std::optional<HeldBack> ask_unready(const Offer& offer, const Demand& demand, const Readied& found,
                                      const Track* known) {
    if (offer.device.pf && readiness_gate::is_asked_of_pf(in_, *offer.device.pf, found.missing))
      now_.awaited_pfs.insert(*offer.device.pf);
    std::string why = readiness_gate::missing_text(in_, offer.device, found, demand, known);
    const bool has_stood = found.lost.none() ? has_stood_since(offer, found.whole_since)
                                             : has_stood_since(offer, known == nullptr ? kEver : known->born);
    if (has_stood && found.lost.none()) return std::nullopt;
    if (demand.on_loss == OnLoss::kWithdraw || !has_stood)
      return held_back(offer, found.since, std::move(why));
    const std::string refused = refused_taint(offer);
    if (refused.empty()) return std::nullopt;
    return held_back(offer, found.since, why + "; and it cannot stay with a taint: " + refused);
  }

  // A server without taints drops them.
  std::string refused_taint(const Offer& offer) const {
    const bool is_sriov = offer.kind == PolicyKind::kSriov;
    const auto& driver = is_sriov ? in_.settings.sriov_driver : in_.settings.exposure_driver;
    auto taint = taint_of(in_, offer.device, offer.readiness, driver);
    if (!taint || offer.entry.empty()) return "";
    return refused_before(*as_tainted(offer.draft().entry, std::move(taint)),
                          is_sriov ? in_.quarantine.sriov : in_.quarantine.exposure);
  }

  HeldBack held_back(const Offer& offer, TimePoint since, std::string why) {
    const auto [at, is_new] = now_.unready_since.emplace(offer.device.id.text, since);
    if (!is_new) at->second = std::min(at->second, since);
    return {Outcome::kNotReady, std::move(why)};
  }

  // It was decided to be published when it had been so already: nothing was lost meanwhile.
  bool has_stood_since(const Offer& offer, TimePoint since) {
    return in_.before_at ? since < *in_.before_at && stands(offer) : since == kEver && stands(offer);
  }

  // By the decision before; when the daemon begins, in slices.
  bool stands(const Offer& offer) {
    if (!in_.before_at) {
      const auto& names = offer.kind == PolicyKind::kSriov ? in_.published.sriov : in_.published.exposure;
      return names.contains(offer.entry);
    }
    if (in_.before == nullptr) return false;
    if (!has_read_before_) read_before();
    return before_.contains({offer.pool, offer.entry});
  }

  void read_before() {
    has_read_before_ = true;
    for (const auto& [driver, pools] : *in_.before)
      for (const DesiredPool& pool : pools)
        for (const kube::DevicePtr& device : pool.devices) before_.emplace(pool.name, device->name);
  }

  Circumstances& now_;
  const Inputs& in_;
  bool has_read_before_ = false;
  std::set<std::pair<std::string_view, std::string_view>> before_;  // pool and entry
};

}  // namespace

GateKind readiness() { return gate_kind<ReadinessGate>("readiness"); }

}  // namespace gates
}  // namespace sliced::policy
