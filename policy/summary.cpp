#include "policy/summary.h"

#include <algorithm>

namespace sliced::policy {
namespace {

// No policy of its kind applies to the device.
bool is_unwanted(Outcome outcome) {
  return outcome == Outcome::kNotAVf || outcome == Outcome::kNoPolicy || outcome == Outcome::kNoMatch;
}

}  // namespace

std::string_view name_of(Disposition disposition) {
  constexpr std::string_view kNames[] = {"offered", "hidden", "held-back", "unmatched"};
  return kNames[static_cast<size_t>(disposition)];
}

Disposition disposition_of(const Decision& decision, const std::string& device) {
  const Verdict& verdict = decision.verdicts.at(device);
  bool is_wanted = !is_unwanted(verdict.outcome);
  if (verdict.outcome == Outcome::kOffered) return Disposition::kOffered;
  if (const auto personas = decision.personas.find(device); personas != decision.personas.end())
    for (const PersonaVerdict& persona : personas->second) {
      if (persona.outcome == Outcome::kOffered) return Disposition::kOffered;
      is_wanted = true;
    }
  if (verdict.outcome == Outcome::kExcluded) return Disposition::kHidden;
  return is_wanted ? Disposition::kHeldBack : Disposition::kUnmatched;
}

Summary summarize(const Decision& decision) {
  Summary out;
  for (const auto& [id, verdict] : decision.verdicts) {
    ++out.devices;
    ++out.sriov[verdict.outcome];
    if (const auto personas = decision.personas.find(id); personas != decision.personas.end())
      for (const PersonaVerdict& persona : personas->second) ++out.exposure[persona.outcome];
    const Disposition disposition = disposition_of(decision, id);
    out.offered += disposition == Disposition::kOffered ? 1 : 0;
    out.hidden += disposition == Disposition::kHidden ? 1 : 0;
    out.held_back += disposition == Disposition::kHeldBack ? 1 : 0;
  }
  return out;
}

std::string describe(const Summary& summary) {
  const size_t matched = summary.offered + summary.hidden + summary.held_back;
  const size_t unmatched = summary.devices - std::min(summary.devices, matched);
  return std::to_string(summary.offered) + (summary.offered == 1 ? " device" : " devices") + " offered, " +
         std::to_string(summary.hidden) + " hidden, " + std::to_string(summary.held_back) + " held back" +
         (unmatched > 0 ? ", " + std::to_string(unmatched) + " matched by no policy" : "");
}

}  // namespace sliced::policy
