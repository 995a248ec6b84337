#include "policy/summary.h"

namespace sliced::policy {
namespace {

// Nothing of its kind speaks of the device.
bool is_unwanted(Outcome outcome) {
  return outcome == Outcome::kNotAVf || outcome == Outcome::kNoPolicy || outcome == Outcome::kNoMatch;
}

}  // namespace

Summary summarize(const Decision& decision) {
  Summary out;
  for (const auto& [id, verdict] : decision.verdicts) {
    ++out.devices;
    ++out.sriov[verdict.outcome];
    bool is_offered = verdict.outcome == Outcome::kOffered;
    bool is_wanted = !is_unwanted(verdict.outcome);
    if (const auto personas = decision.personas.find(id); personas != decision.personas.end()) {
      for (const PersonaVerdict& persona : personas->second) {
        ++out.exposure[persona.outcome];
        is_offered |= persona.outcome == Outcome::kOffered;
        is_wanted = true;
      }
    }
    if (is_offered)
      ++out.offered;
    else if (verdict.outcome == Outcome::kExcluded)
      ++out.hidden;
    else if (is_wanted)
      ++out.held_back;
  }
  return out;
}

std::string describe(const Summary& summary) {
  return std::to_string(summary.offered) + (summary.offered == 1 ? " device" : " devices") + " offered, " +
         std::to_string(summary.hidden) + " hidden, " + std::to_string(summary.held_back) + " held back";
}

}  // namespace sliced::policy
