// Asks: can it be trusted that the device is the one that its id names?
#include "policy/gates/gate.h"
#include "reactor/base/text.h"

namespace sliced::policy::gates {
namespace {

class BrokenIdentity final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kBroken};

  explicit BrokenIdentity(Circumstances&) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (offer.device.broken.empty()) return std::nullopt;
    return HeldBack{Outcome::kBroken};
  }

  static std::string say(const Telling& told) { return "cannot be trusted: " + escaped(told.device.broken); }
};

}  // namespace

GateKind broken_identity() { return gate_kind<BrokenIdentity>("broken-identity"); }

}  // namespace sliced::policy::gates
