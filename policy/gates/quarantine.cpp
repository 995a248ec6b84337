// Asks: would the API server refuse the entry, or has it refused or mutilated this very content?
#include "policy/entry_validation.h"
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class QuarantineGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kRefused};

  explicit QuarantineGate(Circumstances& circumstances) : refused_(circumstances.in.quarantine) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    const Draft& draft = offer.draft();
    if (!draft.refusal.empty()) return HeldBack{Outcome::kRefused, draft.refusal};
    std::string why =
        refused_before(*draft.entry, offer.kind == PolicyKind::kSriov ? refused_.sriov : refused_.exposure);
    if (why.empty()) return std::nullopt;
    return HeldBack{Outcome::kRefused, std::move(why)};
  }

  static std::string say(const Telling& told) {
    if (told.kind == PolicyKind::kSriov)
      return told.by + " would offer it, but its entry is held back: " + told.why;
    return "its entry is held back" + (told.why.empty() ? "" : ": " + told.why);
  }

 private:
  const Quarantines& refused_;
};

}  // namespace

GateKind quarantine() { return gate_kind<QuarantineGate>("quarantine"); }

}  // namespace sliced::policy::gates
