#include "policy/sriov/decide_sriov.h"

#include <algorithm>

#include "policy/gates/readiness.h"
#include "policy/gates/settling.h"
#include "policy/sriov/entries.h"
#include "policy/sriov/match.h"
#include "policy/sriov/previous_vfs.h"
#include "policy/sriov/selection.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;

// A function that a gate withholds for a limited time belongs to this driver.
bool is_offered_or_withheld(Outcome outcome) {
  return outcome == Outcome::kOffered || outcome == Outcome::kHeldByOther || outcome == Outcome::kSettling ||
         outcome == Outcome::kNotReady || outcome == Outcome::kUnconfigured ||
         outcome == Outcome::kNotReturned;
}

class SriovDecision {
 public:
  explicit SriovDecision(Deciding& deciding)
      : in_(deciding.in),
        gates_(deciding.gates),
        now_(deciding.now),
        out_(deciding.out),
        asked_(policies_within_budget(in_, out_.sriov_problems)),
        matcher_(*in_.policies, asked_, *in_.inventory),
        entries_(in_, deciding.same, out_.notes),
        previous_vfs_(in_, asked_, entries_),
        settling_(in_),
        pool_{.driver = in_.settings.sriov_driver,
              .name = in_.node.name,
              .skips_node_operations = in_.settings.skip_node_operations} {}

  Verdict decide(const HostDevice& device, const Resolution& resolution) {
    Verdict verdict = matcher_.decide(device);
    if (resolution.excluded_by >= 0)
      return {.outcome = resolution.is_unknown ? Outcome::kExcludeUnknown : Outcome::kExcluded,
              .exposure = resolution.excluded_by};
    if (verdict.outcome == Outcome::kMatchUnknown) {
      verdict = previous_vfs_.keep_previous(device, function_name(*device.pci), verdict);
      if (verdict.outcome == Outcome::kMatchUnknown) set_unknown(device, verdict);
    }
    if (verdict.outcome == Outcome::kOffered) offer(device, verdict);
    return verdict;
  }

  KeptEntries kept() { return entries_.kept(); }
  const std::vector<int32_t>& asked() const { return asked_; }

  DesiredPool pool(const std::string& exclude_record) {
    const auto by_name = [](const auto& a, const auto& b) { return a->name < b->name; };
    if (!std::is_sorted(pool_.devices.begin(), pool_.devices.end(), by_name))
      std::sort(pool_.devices.begin(), pool_.devices.end(), by_name);
    if (!pool_.devices.empty()) pool_.excludes = exclude_record;
    return std::move(pool_);
  }

 private:
  void offer(const HostDevice& vf, Verdict& verdict) {
    const std::string name = function_name(*vf.pci);
    const SriovPolicy& policy = in_.policies->sriov[static_cast<size_t>(verdict.policy)];
    const Draft* draft = nullptr;
    const EntryCandidate offer{
        .kind = PolicyType::kSriov,
        .device = vf,
        .entry = name,
        .pool = pool_.name,
        .is_exclusive = true,
        .host_use = policy.host_use,
        .draft = [&]() -> const Draft& { return *(draft = &entries_.of(vf, name, verdict)); },
        .demand = demand_of(policy.readiness, in_.settings.readiness)};
    require_pf_query(now_, vf, offer.demand);
    if (auto no = gates_.ask(offer)) {
      hold_back(vf, name, std::move(*no), verdict);
    } else {
      pool_.devices.push_back(as_published(in_, settling_, offer, draft->entry));
    }
    if (!in_.policies->exposures.empty() && is_offered_or_withheld(verdict.outcome))
      now_.offered_by_sriov.insert(vf.id.text);
  }

  // The VF may be this driver's, so the other driver does not start to offer it meanwhile.
  void set_unknown(const HostDevice& vf, const Verdict& verdict) {
    out_.notes.add(
        "policy " + text_of(in_.policies->sriov[static_cast<size_t>(verdict.may_offer)]->id) +
        ": depends on facts of PF interfaces of which some are in another network namespace; unpublished VFs that it may match are not offered (match-unknown) until they return");
    const std::string name = function_name(*vf.pci);
    const auto exposed = in_.published.exposure.lower_bound(name);
    const bool stands_exposed = exposed != in_.published.exposure.end() && exposed->starts_with(name);
    if (in_.policies->exposures.empty() || stands_exposed) return;
    now_.offered_by_sriov.insert(vf.id.text);
    now_.perhaps_offered_by_sriov.insert(vf.id.text);
  }

  void hold_back(const HostDevice& vf, const std::string& name, Rejection no, Verdict& verdict) {
    verdict.outcome = no.outcome;
    if (no.outcome == Outcome::kExcludeUnreadable)
      verdict = {.outcome = no.outcome, .exposure = now_.unreadable_exclude};
    if (no.why.empty()) return;
    if (no.outcome == Outcome::kNotReady)
      add_unready(now_.unready, no.reason.empty() ? no.why : std::move(no.reason), name, no.why);
    else if (no.outcome != Outcome::kNotReturned)  // the kubelet plugin reports it as a problem itself
      out_.notes.add("device " + name + " held back: " + no.why);
    out_.refusals[vf.id.text] = std::move(no.why);
  }

  const Inputs& in_;
  const Gates& gates_;
  DecisionContext& now_;
  Decision& out_;
  const std::vector<int32_t> asked_;
  VfMatcher matcher_;
  SriovEntries entries_;
  PreviousVfs previous_vfs_;
  const SettlingDevices settling_;
  DesiredPool pool_;
};

}  // namespace

void decide_sriov(Deciding& deciding) {
  const Inputs& in = deciding.in;
  SriovDecision decision(deciding);
  auto resolution = deciding.resolutions.devices.begin();
  auto& verdicts = deciding.out.verdicts;
  verdicts.reserve(in.inventory->devices.size());
  for (const auto& [id, device] : in.inventory->devices)
    verdicts.emplace(id, decision.decide(device, *resolution++));
  auto& pools = deciding.out.pools[in.settings.sriov_driver];
  pools.push_back(decision.pool(deciding.resolutions.exclude_record));
  // The pool is published when the claims of the node's pods have been read, shortly after.
  if (deciding.now.awaits_pod_claims && !in.published.is_sriov_pool_there)
    std::erase_if(pools, [](const DesiredPool& pool) { return pool.devices.empty(); });
  deciding.memory.sriov = decision.kept();
  deciding.out.asked_sriov = decision.asked();
}

}  // namespace sliced::policy
