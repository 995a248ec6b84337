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

  static std::string say(const Telling& told) {
    if (told.kind == PolicyKind::kExposure) return "an exclude that cannot be understood may mean it";
    const int32_t exclude = told.decision.verdicts.at(told.device.id.text).exposure;
    const auto& policies = told.decision.inputs->policies->exposures;
    const Problem* problem = selector_problem(told.decision, exclude);
    return "DeviceExposurePolicy " + policies[static_cast<size_t>(exclude)]->id.name +
           " may exclude it, but cannot be " +
           (problem == nullptr ? "understood" : "used (" + problem->what + ")") +
           "; until it is mended or deleted nothing new is offered";
  }

 private:
  const Circumstances& now_;
};

}  // namespace

GateKind unknown_exclude() { return gate_kind<UnknownExclude>("unknown-exclude"); }

}  // namespace sliced::policy::gates
