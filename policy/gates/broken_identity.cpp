// Withholds a device whose identity is uncertain (HostDevice::broken).
#include "policy/gates/gate.h"
#include "reactor/base/text.h"

namespace sliced::policy::gates {
namespace {

class BrokenIdentity final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kBroken};

  explicit BrokenIdentity(DecisionContext&) {}

  std::optional<Rejection> ask(const Offer& offer) override {
    if (offer.device.broken.empty()) return std::nullopt;
    return Rejection{Outcome::kBroken};
  }

  static std::string say(const GateExplanation& explained) {
    return "cannot be trusted: " + escaped(explained.device.broken);
  }
};

}  // namespace

GateKind broken_identity() { return gate_kind<BrokenIdentity>("broken-identity"); }

}  // namespace sliced::policy::gates
