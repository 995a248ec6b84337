// Asks: may the entry be allocated several times, and can the cluster count that?
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Sharing final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kNoSharing};

  explicit Sharing(Circumstances& circumstances) : can_share_(circumstances.in.settings.shared_devices) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (offer.is_exclusive || can_share_) return std::nullopt;
    return HeldBack{Outcome::kNoSharing};
  }

  static std::string say(const Telling&) {
    return "it may be allocated several times, and this cluster cannot count that (DRAConsumableCapacity)";
  }

 private:
  const bool can_share_;
};

}  // namespace

GateKind sharing() { return gate_kind<Sharing>("sharing"); }

}  // namespace sliced::policy::gates
