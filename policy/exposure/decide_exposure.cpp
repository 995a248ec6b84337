#include "policy/exposure/decide_exposure.h"

#include <set>

#include "policy/exposure/entries.h"
#include "policy/exposure/pools.h"
#include "policy/gates/settling.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;

class ExposureDecision {
 public:
  ExposureDecision(const Inputs& inputs, const Gates& gates, Circumstances& circumstances, Decision& out)
      : in_(inputs),
        gates_(gates),
        now_(circumstances),
        out_(out),
        links_(link_names(*inputs.inventory, inputs.published.links)),
        names_(*inputs.inventory, inputs.published.links),
        entries_(inputs, out.notes),
        settling_(inputs) {}

  void add(const HostDevice& device, const Resolution& resolution) {
    if (resolution.personas.empty()) return;
    auto& verdicts = out_.personas[device.id.text];
    verdicts.reserve(resolution.personas.size());
    const std::string base = device.pci ? function_name(*device.pci) : links_.at(device.id.text);
    for (const int32_t index : resolution.personas) {
      verdicts.push_back({.policy = index});
      offer(device, base, verdicts.back());
    }
  }

  void finish(const std::string& exclude_record) {
    ExposurePools(in_, links_, settling_, std::move(pools_), now_, exclude_record, out_).finish();
  }

 private:
  void offer(const HostDevice& device, const std::string& base, PersonaVerdict& verdict) {
    const ExposurePolicy& policy = in_.policies->exposures[static_cast<size_t>(verdict.policy)];
    const Exposure& exposure = policy.exposure;
    const std::string& pool = now_.pools.of(device);
    verdict.entry = names_.name(device, base, exposure.name_suffix);
    Draft draft;
    const auto make = [&]() -> const Draft& {
      if (verdict.entry.empty())
        draft.refusal = in_quotes(base + exposure.name_suffix) +
                        " is no DNS label of at most 63 characters, or another entry's name";
      else
        draft = entries_.make(device, verdict.policy, verdict.entry);
      return draft;
    };
    const bool is_exclusive = !exposure.allow_multiple_allocations;
    const Offer offer{.kind = PolicyKind::kExposure,
                      .device = device,
                      .entry = verdict.entry,
                      .pool = pool,
                      .is_exclusive = is_exclusive,
                      .allows_host_use = policy.allow_host_use,
                      .draft = make};
    if (auto no = gates_.ask(offer)) return hold_back(std::move(*no), verdict);
    settling_.keep_attributes(device, pool, draft.entry);
    pools_[pool].push_back(
        {&device,
         &verdict,
         &policy,
         {verdict.entry, device.id.text, base, is_exclusive, exposure.exclusion_group, false},
         std::move(draft.entry)});
  }

  void hold_back(HeldBack no, PersonaVerdict& verdict) {
    if (no.outcome == Outcome::kRefused && !verdict.entry.empty())
      out_.notes.add("device " + verdict.entry + " held back: " + no.why);
    verdict.outcome = no.outcome;
    verdict.why = std::move(no.why);
  }

  const Inputs& in_;
  const Gates& gates_;
  Circumstances& now_;
  Decision& out_;
  const std::map<std::string, std::string> links_;
  EntryNames names_;
  ExposedEntries entries_;
  const Settling settling_;
  CandidatesByPool pools_;
};

// Once for each policy: explain names the devices.
void note_unknown(const Inputs& in, const Resolutions& resolutions, Notes& notes) {
  std::set<int32_t> excludes;
  for (const Resolution& one : resolutions.devices)
    if (one.is_unknown) excludes.insert(one.excluded_by);
  for (const int32_t index : excludes)
    notes.add("policy " + in.policies->exposures[static_cast<size_t>(index)]->id.name +
              ": excludes by facts of interfaces, and some are in another network namespace; their "
              "functions are not offered (exclude-unknown) until they are back");
}

}  // namespace

void decide_exposures(const Inputs& inputs, const Resolutions& resolutions, const Gates& gates,
                      Circumstances& circumstances, Decision& out) {
  out.pools[inputs.settings.exposure_driver];
  if (inputs.policies->exposures.empty() && inputs.holdings.empty()) return;
  note_unknown(inputs, resolutions, out.notes);
  ExposureDecision decision(inputs, gates, circumstances, out);
  // Functions are named before links: theirs are never another's.
  for (const bool are_functions : {true, false}) {
    auto resolution = resolutions.devices.begin();
    for (const auto& [id, device] : inputs.inventory->devices) {
      if (device.pci.has_value() == are_functions) decision.add(device, *resolution);
      ++resolution;
    }
  }
  decision.finish(resolutions.exclude_record);
}

}  // namespace sliced::policy
