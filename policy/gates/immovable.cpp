// Withholds a device whose interface a plugin of the entry would move, while the kernel refuses to move it.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Immovable final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kImmovable};

  explicit Immovable(DecisionContext&) {}

  std::optional<Rejection> ask(const Offer& offer) override {
    if (!offer.is_moved || hotplug::immovable_kind(offer.device).empty()) return std::nullopt;
    return Rejection{Outcome::kImmovable};
  }

  static std::string say(const GateExplanation& explained) {
    return "the kernel does not move " + std::string(hotplug::immovable_kind(explained.device)) +
           " to another network namespace, as a plugin of spec.exposure.supportedCNIPlugins would: offer it with "
           "plugins that leave it on the host (macvlan, ipvlan, vlan, bridge)";
  }
};

}  // namespace

GateKind immovable() { return gate_kind<Immovable>("immovable"); }

}  // namespace sliced::policy::gates
