#pragma once
// Matching one VF against filters. One walk serves the decision (which records nothing) and the explanation, so
// that what people are told is what was done. Pure; work is bounded beforehand, by PolicySet::filter_entries.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/explanation.h"
#include "policy/gates/host_use.h"
#include "policy/policy_set.h"
#include "policy/sriov/policy.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// Facts of a VF that nobody can tell: its PF's interface, which tells them, is in another network namespace, and
/// nothing is remembered of it (docs/design/unknown-facts.md).
struct UnknownFacts {
  bool pf_name = false, link_type = false;
  /// Alternative names that select nothing (Inventory::contested_names); nullptr none. They make no fact unknown. Outlive this.
  const std::set<std::string>* contested = nullptr;
  bool is_any() const { return pf_name || link_type; }
};
UnknownFacts unknown_facts(const hotplug::HostDevice& vf, const hotplug::Inventory& inventory);
bool is_any_unknown(const hotplug::Inventory& inventory);

enum class Says : uint8_t { kNo, kUnknown, kYes };
/// What a filter says of a VF, and the first field, in the order of FilterField, for which it does not say yes: the
/// first that says no where one does. A fact that the VF has not (no NUMA node) matches no value that is wanted of it;
/// of one that is unknown it is unknown whether it does.
struct FilterAnswer {
  Says says = Says::kYes;
  std::optional<FilterField> field = {};
};
/// vf: a VF, with a PCI address. A field that the filter leaves empty refuses nobody.
FilterAnswer ask_filter(const ResourceFilter& filter, const hotplug::HostDevice& vf,
                        const UnknownFacts& unknown);

/// One config or filter that was asked. filter -1: the config itself (it has no filters, or cannot be
/// understood).
/// Indices as in Verdict. Of one that matched, refusal is nullopt and unreadable false; host_use says that
/// the gate of that name will hold it back. is_unknown: `refusal` asks for what nobody can tell.
/// An explanation keeps as many as there are configs and filters, so it is small and holds no text.
struct Step {
  int32_t policy, config, filter;
  std::optional<FilterField> refusal;
  bool unreadable = false;
  bool host_use = false;
  bool is_unknown = false;
};
/// The step as text: field, value found, value wanted.
/// vf: the one that was asked; policies: those of that time. At most eight wanted values are named.
Rule rule_of(const Step& step, const hotplug::HostDevice& vf, const PolicySet& policies,
             const UnknownFacts& unknown);

/// Which policy and config take a device, before anything is held back of it: as walk() does, for many devices.
/// selected: indices of the policies that are asked, in order.
class VfMatcher {
 public:
  /// policies and inventory outlive it.
  VfMatcher(const PolicySet& policies, const std::vector<int32_t>& selected,
            const hotplug::Inventory& inventory);
  /// kOffered with policy, config and filter, kMatchUnknown with may_offer in place of policy; or kBroken,
  /// kNotAVf, kNoPolicy, kNoMatch. device: outlives this.
  /// The same verdict as walk()'s, by fewer questions: which fields VFs of one kind answer alike is asked
  /// once a kind.
  /// Cost: policies times filters for the first VF of a kind; for the others only the filters that their own
  /// address or index decides. Eight kinds are remembered.
  Verdict decide(const hotplug::HostDevice& device);

 private:
  // Filters one after the other, and what of each is asked: there are policies times devices of them.
  struct Asked {
    const ResourceFilter* filter;  // nullptr: every VF
    uint32_t fields;               // a bit for each that says anything
    Verdict verdict;
  };
  // What is left to ask of VFs that differ in nothing but their own address and index: those of one PF with
  // one driver, most of the time.
  struct Kind {
    const hotplug::HostDevice* like = nullptr;  // one of them
    UnknownFacts unknown;                       // of all of them
    std::vector<Asked> left;                    // `fields`: those that such VFs answer differently
  };
  static constexpr size_t kKindsMax = 8;  // each may hold all that is asked
  /// One that is not known takes the place of the oldest.
  const Kind& kind_of(const hotplug::HostDevice& vf);

  const hotplug::Inventory& inventory_;
  std::vector<Asked> asked_;
  std::vector<Kind> kinds_;
  size_t last_ = 0, oldest_ = 0;  // of kinds_
  const bool is_any_selected_;
};

/// Indices as in Verdict.
struct Place {
  int32_t policy, config, filter;
};
inline Verdict may_be_offered_by(const Place& place) {
  return {.outcome = Outcome::kMatchUnknown,
          .config = place.config,
          .filter = place.filter,
          .may_offer = place.policy};
}

/// Policies in order, configs in order; the first config that matches decides. Where it is unknown of one before that
/// whether it matches, that one may have the VF: kMatchUnknown, by the first of them. Inside a config a filter that
/// matches is enough. record(Step) hears of each, also of the last.
/// Stops at the first that matches: what stands behind it is not heard of.
template <class Record>
Verdict walk(const hotplug::HostDevice& vf, const PolicySet& policies, const std::vector<int32_t>& selected,
             const UnknownFacts& unknown, Record record) {
  Verdict waits{Outcome::kNoMatch};  // for the first of which it is unknown
  const auto matched = [&](Step step) {
    step.host_use = is_held_for_host(vf, true, policies.sriov[step.policy]->host_use);
    record(step);
    const bool is_first =
        waits.outcome == Outcome::kNoMatch || (waits.may_offer == step.policy && waits.config == step.config);
    return is_first ? Verdict{Outcome::kOffered, step.policy, step.config, step.filter} : waits;
  };
  for (const int32_t p : selected) {
    const auto& configs = policies.sriov[p]->configs;
    for (int32_t c = 0; c < static_cast<int32_t>(configs.size()); ++c) {
      if (!configs[c].problems.empty()) {
        record(Step{p, c, -1, std::nullopt, true});
        continue;
      }
      if (configs[c].filters.empty()) return matched({p, c, -1, std::nullopt});
      for (int32_t f = 0; f < static_cast<int32_t>(configs[c].filters.size()); ++f) {
        const FilterAnswer answer = ask_filter(configs[c].filters[f], vf, unknown);
        if (answer.says == Says::kYes) return matched({p, c, f, std::nullopt});
        const bool is_unknown = answer.says == Says::kUnknown;
        if (is_unknown && waits.outcome == Outcome::kNoMatch) waits = may_be_offered_by({p, c, f});
        record(Step{p, c, f, answer.field, false, false, is_unknown});
      }
    }
  }
  return waits;
}

}  // namespace sliced::policy
