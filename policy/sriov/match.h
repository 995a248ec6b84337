#pragma once
// Matching one VF against filters. One walk serves the decision (which records nothing) and the explanation, so
// that what people are told is what was done. Pure; work is bounded beforehand, by PolicySet::filter_entries.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/explanation.h"
#include "policy/gates/host_use.h"
#include "policy/policy_set.h"
#include "policy/sriov/policy.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// The first field that says no, in the order of FilterField; nullopt when the filter matches. A fact that is not
/// known (no NUMA node, no name of the PF) matches no value that is wanted of it.
/// vf: a VF, with a PCI address. A field that the filter leaves empty refuses nobody.
std::optional<FilterField> first_refusal(const ResourceFilter& filter, const hotplug::HostDevice& vf);

/// One config or filter that was asked. filter -1: the config itself (it has no filters, or cannot be
/// understood).
/// Indices as in Verdict. Of one that matched, refusal is nullopt and unreadable false; host_use says that
/// the gate of that name will hold it back.
/// An explanation keeps as many as there are configs and filters, so it is small and holds no text.
struct Step {
  int32_t policy, config, filter;
  std::optional<FilterField> refusal;
  bool unreadable = false;
  bool host_use = false;
};
/// The step as text: field, value found, value wanted.
/// vf: the one that was asked; policies: those of that time. At most eight wanted values are named.
Rule rule_of(const Step& step, const hotplug::HostDevice& vf, const PolicySet& policies);

/// Which policy and config take a device, before anything is held back of it: as walk() does, for many devices.
/// selected: indices of the policies that are asked, in order.
class VfMatcher {
 public:
  VfMatcher(const PolicySet& policies, const std::vector<int32_t>& selected);  // policies outlive it
  /// kOffered with policy, config and filter; or kBroken, kNotAVf, kNoPolicy, kNoMatch. device: outlives this.
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
    std::vector<Asked> left;                    // `fields`: those that such VFs answer differently
  };
  static constexpr size_t kKindsMax = 8;  // each may hold all that is asked
  /// One that is not known takes the place of the oldest.
  const Kind& kind_of(const hotplug::HostDevice& vf);

  std::vector<Asked> asked_;
  std::vector<Kind> kinds_;
  size_t last_ = 0, oldest_ = 0;  // of kinds_
  const bool is_any_selected_;
};

/// Policies in order, configs in order; the first that matches decides. record(Step) hears of each, also of
/// the last.
/// Stops at the first that matches: what stands behind it is not heard of.
template <class Record>
Verdict walk(const hotplug::HostDevice& vf, const PolicySet& policies, const std::vector<int32_t>& selected,
             Record record) {
  const auto matched = [&](Step step) {
    step.host_use = is_held_for_host(vf, true, policies.sriov[step.policy]->allow_host_use);
    record(step);
    return Verdict{Outcome::kOffered, step.policy, step.config, step.filter};
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
        const auto refusal = first_refusal(configs[c].filters[f], vf);
        if (!refusal) return matched({p, c, f, std::nullopt});
        record(Step{p, c, f, refusal});
      }
    }
  }
  return {Outcome::kNoMatch};
}

}  // namespace sliced::policy
