#pragma once
// Matches a VF against filters. Decision and explanation use the same walk, so that they agree. Pure. The
// work is bounded beforehand by PolicySet::filter_entries.
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

/// Facts of a VF that cannot be read, because its PF's interface is in another network namespace and no
/// earlier value is known (docs/design/unknown-facts.md).
struct UnknownFacts {
  bool pf_name = false, link_type = false;
  /// Alternative names that match nothing (Inventory::contested_names); nullptr if none. They make no fact
  /// unknown. Must outlive this object.
  const std::set<std::string>* contested = nullptr;
  bool is_any() const { return pf_name || link_type; }
};
UnknownFacts unknown_facts(const hotplug::HostDevice& vf, const hotplug::Inventory& inventory);
bool is_any_unknown(const hotplug::Inventory& inventory);

enum class MatchResult : uint8_t { kNo, kUnknown, kYes };
/// The answer of a filter for a VF, and the first field, in the order of FilterField, that prevents a match.
/// A field that does not match has precedence over an unknown one. A fact that the VF lacks (no NUMA node)
/// matches no value.
struct FilterMatch {
  MatchResult match_result = MatchResult::kYes;
  std::optional<FilterField> field = {};
};
/// Requires: a VF with a PCI address. An empty field of the filter matches every VF.
FilterMatch match_filter(const ResourceFilter& filter, const hotplug::HostDevice& vf,
                         const UnknownFacts& unknown);

/// One evaluated config or filter. filter -1: the config itself (without filters, or invalid).
/// Indices as in Verdict. For a match, refusal is nullopt and unreadable false; host_use: the gate host-use
/// will withhold it. is_unknown: `refusal` depends on an unknown fact.
/// Small and without text, because an explanation stores one for each config and filter.
struct Step {
  int32_t policy, config, filter;
  std::optional<FilterField> refusal;
  bool unreadable = false;
  bool host_use = false;
  bool is_unknown = false;
};
/// Returns the step as text: field, found value, expected values (at most eight). Requires: the same vf and
/// policies as in the step.
Rule rule_of(const Step& step, const hotplug::HostDevice& vf, const PolicySet& policies,
             const UnknownFacts& unknown);

/// Finds the policy and config of a device before gates, with the results of walk(), for many devices.
/// selected: indices of the policies to evaluate, in order.
class VfMatcher {
 public:
  /// Requires: policies and inventory outlive this object.
  VfMatcher(const PolicySet& policies, const std::vector<int32_t>& selected,
            const hotplug::Inventory& inventory);
  /// Returns kOffered with policy, config and filter; kMatchUnknown with may_offer instead of policy; or
  /// kBroken, kNotAVf, kNoPolicy, kNoMatch. Requires: device outlives this object.
  /// The verdict is that of walk(), with fewer comparisons: fields that are equal for VFs of one kind are
  /// compared once.
  /// Cost: policies times filters for the first VF of a kind; for others only the filters by address or
  /// index. Eight kinds are remembered.
  Verdict decide(const hotplug::HostDevice& device);

 private:
  // Filters in order, with the fields of each that must be compared, because there are policies times devices
  // of them.
  struct PendingFilter {
    const ResourceFilter* filter;  // nullptr: matches every VF
    uint32_t fields;               // one bit for each field with values
    Verdict verdict;
  };
  // The remaining filters for VFs that differ only in address and index, usually those of one PF with one
  // driver.
  struct Kind {
    const hotplug::HostDevice* like = nullptr;  // one of the VFs
    UnknownFacts unknown;                       // of all of them
    std::vector<PendingFilter> left;            // `fields`: those that differ between such VFs
  };
  static constexpr size_t kKindsMax = 8;  // each may contain all filters
  /// A new kind replaces the oldest one.
  const Kind& kind_of(const hotplug::HostDevice& vf);

  const hotplug::Inventory& inventory_;
  std::vector<PendingFilter> filters_;
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

/// Evaluates policies and configs in order. The first config that matches decides; inside a config any filter
/// suffices. If a preceding config depends on unknown facts, it may have the VF: kMatchUnknown, by the first
/// such config. Calls record(Step) for each step, and stops after the first match.
template <class Record>
Verdict walk(const hotplug::HostDevice& vf, const PolicySet& policies, const std::vector<int32_t>& selected,
             const UnknownFacts& unknown, Record record) {
  Verdict waits{Outcome::kNoMatch};  // of the first config with an unknown answer
  const auto matched = [&](Step step) {
    step.host_use = is_withheld_for_host(vf, true, policies.sriov[step.policy]->host_use);
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
        const FilterMatch answer = match_filter(configs[c].filters[f], vf, unknown);
        if (answer.match_result == MatchResult::kYes) return matched({p, c, f, std::nullopt});
        const bool is_unknown = answer.match_result == MatchResult::kUnknown;
        if (is_unknown && waits.outcome == Outcome::kNoMatch) waits = may_be_offered_by({p, c, f});
        record(Step{p, c, f, answer.field, false, false, is_unknown});
      }
    }
  }
  return waits;
}

}  // namespace sliced::policy
