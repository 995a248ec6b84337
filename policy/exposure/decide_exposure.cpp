#include "policy/exposure/decide_exposure.h"

#include <set>

#include "policy/exposure/entries.h"
#include "policy/exposure/pools.h"
#include "policy/gates/readiness.h"
#include "policy/gates/settling.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;

class ExposureDecision {
 public:
  explicit ExposureDecision(Deciding& deciding)
      : in_(deciding.in),
        gates_(deciding.gates),
        now_(deciding.now),
        out_(deciding.out),
        links_(link_names(*in_.inventory, in_.published.links)),
        names_(*in_.inventory, in_.published.links),
        entries_(in_, deciding.same, out_.notes),
        settling_(in_) {}

  void add(const HostDevice& device, const Resolution& resolution) {
    auto& verdicts = out_.personas[device.id.text];
    verdicts.reserve(resolution.personas.size());
    const std::string base = device.pci ? function_name(*device.pci) : links_.at(device.id.text);
    for (const Winner& winner : resolution.personas) {
      verdicts.push_back({.policy = winner.policy});
      if (winner.waits_for < 0)
        offer(device, base, verdicts.back());
      else
        hold_back({Outcome::kExposeUnknown, policy_at(winner.waits_for).id.name}, verdicts.back());
    }
  }

  void finish(Deciding& deciding) {
    ExposurePools(deciding, links_, settling_, std::move(pools_)).finish();
    deciding.memory.exposure = entries_.kept();
  }

 private:
  const ExposurePolicy& policy_at(int32_t index) const {
    return *in_.policies->exposures[static_cast<size_t>(index)];
  }

  void offer(const HostDevice& device, const std::string& base, PersonaVerdict& verdict) {
    const ExposurePolicy& policy = policy_at(verdict.policy);
    const Exposure& exposure = policy.exposure;
    const std::string& pool = now_.pools.of(device);
    verdict.entry = names_.name(device, base, exposure.name_suffix);
    Draft nameless;
    Draft* draft = &nameless;
    const auto make = [&]() -> const Draft& {
      if (!verdict.entry.empty()) return *(draft = &entries_.of(device, verdict.policy, verdict.entry));
      nameless.refusal = in_quotes(base + exposure.name_suffix) +
                         " is not a DNS label of at most 63 characters, or another entry's name";
      return nameless;
    };
    const bool is_exclusive = !exposure.allow_multiple_allocations;
    const EntryCandidate offer{.kind = PolicyType::kExposure,
                               .device = device,
                               .entry = verdict.entry,
                               .pool = pool,
                               .is_exclusive = is_exclusive,
                               .host_use = policy.host_use,
                               .draft = make,
                               .demand = demand_of(policy.readiness, in_.settings.readiness),
                               .group = exposure.exclusion_group,
                               .is_moved = is_moved(exposure),
                               .base = base};
    require_pf_query(now_, device, offer.demand);
    if (auto no = gates_.ask(offer)) return hold_back(std::move(*no), verdict);
    pools_[pool].push_back(
        {&device,
         &verdict,
         &policy,
         {verdict.entry, device.id.text, base, is_exclusive, exposure.exclusion_group, false},
         as_published(in_, settling_, offer, draft->entry),
         draft});
  }

  void hold_back(Rejection no, PersonaVerdict& verdict) {
    if (no.outcome == Outcome::kRefused && !verdict.entry.empty())
      out_.notes.add("device " + verdict.entry + " held back: " + no.why);
    if (no.outcome == Outcome::kNotReady && !verdict.entry.empty())
      add_unready(now_.unready, no.reason.empty() ? no.why : std::move(no.reason), verdict.entry, no.why);
    verdict.outcome = no.outcome;
    verdict.why = std::move(no.why);
  }

  const Inputs& in_;
  const Gates& gates_;
  DecisionContext& now_;
  Decision& out_;
  const std::map<std::string, std::string> links_;
  EntryNames names_;
  ExposedEntries entries_;
  const SettlingDevices settling_;
  CandidatesByPool pools_;
};

// One note for each policy; explain names the devices.
void set_unknown(const Inputs& in, const Resolutions& resolutions, Notes& notes) {
  std::set<int32_t> excludes;
  for (const Resolution& one : resolutions.devices)
    if (one.is_unknown) excludes.insert(one.excluded_by);
  for (const int32_t index : excludes)
    notes.add(
        "policy " + in.policies->exposures[static_cast<size_t>(index)]->id.name +
        ": excludes by facts that are not known, of interfaces in another network namespace or of files that "
        "cannot be read; their functions are not offered (exclude-unknown) until they are known");
}

}  // namespace

void decide_exposures(Deciding& deciding) {
  const Inputs& in = deciding.in;
  deciding.out.pools[in.settings.exposure_driver];
  if (in.policies->exposures.empty() && in.holdings.empty()) return;
  set_unknown(in, deciding.resolutions, deciding.out.notes);
  ExposureDecision decision(deciding);
  // Functions are named before links, whose names yield.
  for (const bool are_functions : {true, false}) {
    auto resolution = deciding.resolutions.devices.begin();
    for (const auto& [id, device] : in.inventory->devices) {
      const Resolution& resolved = *resolution++;
      if (!resolved.personas.empty() && device.pci.has_value() == are_functions)
        decision.add(device, resolved);
    }
  }
  decision.finish(deciding);
}

}  // namespace sliced::policy
