// Asks: is whoever configures this node's hardware done, and if not, was the entry offered in this boot already? What
// stands in slices of another boot goes: the hardware has forgotten what was set then.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Configuration final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kUnconfigured};

  explicit Configuration(Circumstances& circumstances) : now_(circumstances.in.unconfigured) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (!now_.holds()) return std::nullopt;
    if ((offer.kind == PolicyKind::kSriov ? now_.sriov : now_.exposure).contains(offer.entry))
      return std::nullopt;
    return HeldBack{Outcome::kUnconfigured};
  }

  static std::string say(const Telling& told) {
    return (told.by.empty() ? "" : told.by + " offers it; ") +
           "no new device is offered before this node is configured: " +
           told.decision.inputs->unconfigured.why;
  }

 private:
  const Unconfigured& now_;
};

}  // namespace

GateKind configuration() { return gate_kind<Configuration>("configuration"); }

}  // namespace sliced::policy::gates
