#include "policy/gates/findings.h"

#include <algorithm>

namespace sliced::policy {
namespace {

bool rests_on_assumptions(const Inputs& in, const Track& known, const Demand& demand) {
  return (known.assumed & demand.conditions()).any() || known.assumed_at > in.now - demand.stable_for;
}

// Returns `known` with conditions that are first met in the answer to the first query dated back to kUnknownStart.
// The time since which such a fact holds is unknown, and published entries have kept it meanwhile.
Track with_backdated_answer(const Track& known, TimePoint asked, const ConditionSet& of_pf) {
  Track out = known;
  for (size_t i = 0; i < kConditionCount; ++i)
    if (of_pf.test(i) && out.met.test(i) && out.since[i] >= asked && out.since[i] <= asked + kQueryWaitMax)
      out.since[i] = kUnknownStart;
  return out;
}

}  // namespace

Findings::Findings(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand,
                   const std::function<Waiting()>& waiting)
    : in_(in), device_(device), demand_(demand), known_(in.tracks.find(device.id.text)) {
  const ConditionSet of_pf = queried_conditions(in, device, demand_);
  const bool is_assumed = known_ != nullptr && rests_on_assumptions(in, *known_, demand_);
  const Waiting how = of_pf.any() || is_assumed ? waiting() : Waiting::kAsKnown;
  if (is_assumed && how == Waiting::kMissing) {
    adjusted_ = known_->without_assumptions();
    known_ = &adjusted_;
  }
  if (of_pf.any() && how == Waiting::kPassed && known_ != nullptr)
    adjusted_ = with_backdated_answer(*known_, queried_since(in, device, of_pf), of_pf), known_ = &adjusted_;
  if (how != Waiting::kAsKnown) stale_ = policy::stale_conditions(in, device, of_pf, how == Waiting::kPassed);
  count(how);
}

void Findings::count(Waiting waiting) {
  const auto readied_by = [this](const Demand& demand) {
    return readied(
        known_ == nullptr ? track_of({device_, *in_.inventory, in_.node_state}, kUnknownStart) : *known_,
        demand);
  };
  Demand counted = demand_;
  if (waiting == Waiting::kPassed) counted.require &= ~stale_.conditions;
  found_ = readied_by(counted);
  if (waiting != Waiting::kMissing || !stale_.is_any()) return;
  if (found_.missing.none()) found_.since = in_.now;
  found_.missing |= stale_.conditions;
  found_.lost |= stale_.conditions;
}

// The track may differ from the present facts: its results may be from before the interface moved to a pod.
Finding Findings::of(Condition condition) const {
  if (has(stale_.conditions, condition))
    return {Finding::Is::kNotMet, "VF settings of PF " + device_.pf->text() +
                                      " have not been read since a policy began to require them"};
  Finding out = find_condition(condition, {device_, *in_.inventory, in_.node_state}, demand_.mtu_at_least);
  if (known_ == nullptr || known_->is_met(condition, demand_.mtu_at_least) == out.counts_as_met()) return out;
  return {out.counts_as_met() ? Finding::Is::kNotMet : Finding::Is::kMet, "as last known"};
}

std::string Findings::text_of(const ConditionSet& conditions) const {
  std::string out;
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!conditions.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    out += (out.empty() ? "" : "; ") + std::string(name_of(condition)) + ": " + of(condition).why;
  }
  return out;
}

std::string Findings::reason_of(const ConditionSet& conditions) const {
  std::string out;
  for (size_t i = 0; i < kConditionCount; ++i) {
    if (!conditions.test(i)) continue;
    const auto condition = static_cast<Condition>(i);
    out += (out.empty() ? "" : "; ") + std::string(name_of(condition));
    if (condition == Condition::kNodeState) out += ": " + of(condition).why;
  }
  return out;
}

}  // namespace sliced::policy
