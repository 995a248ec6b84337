// Asks: is there an exclude that cannot be understood, so that it may mean the device, and is the entry new?
// One that is understood, or asks for facts that are not known, is no gate: it is the word of a policy.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class UnknownExclude final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kExcludeUnreadable};

  explicit UnknownExclude(Circumstances& circumstances) : now_(circumstances) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (now_.unreadable_exclude < 0) return std::nullopt;
    const Published& published = now_.in.published;
    const auto& entries = offer.kind == PolicyKind::kSriov ? published.sriov : published.exposure;
    if (entries.contains(offer.entry)) return std::nullopt;
    return HeldBack{Outcome::kExcludeUnreadable};
  }

  // The same sentence of both kinds: whoever asks has to know which object to mend.
  static std::string say(const Telling& told) {
    const int32_t exclude = first_unreadable_exclude(told.decision);
    const ExposurePolicy& policy = *told.decision.inputs->policies->exposures[static_cast<size_t>(exclude)];
    return "DeviceExposurePolicy " + policy.id.name + " may exclude it, but cannot be " +
           why_not(told.decision, policy, exclude) +
           "; until it is corrected or deleted no new device is offered";
  }

 private:
  static std::string why_not(const Decision& decision, const ExposurePolicy& policy, int32_t index) {
    const Problem* of_selector = selector_problem(decision, index);
    if (of_selector != nullptr) return "used (" + of_selector->what + ")";
    if (policy.problems.empty()) return "understood";
    const Problem& first = policy.problems.front();
    return "understood (" + (first.field.empty() ? "" : first.field + " ") + first.what + ")";
  }

  const Circumstances& now_;
};

}  // namespace

GateKind unknown_exclude() { return gate_kind<UnknownExclude>("unknown-exclude"); }

}  // namespace sliced::policy::gates
