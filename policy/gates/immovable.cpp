// Would a plugin of the entry move the device's interface into a pod, and does the kernel refuse that?
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Immovable final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kImmovable};

  explicit Immovable(Circumstances&) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (!offer.is_moved || hotplug::immovable_kind(offer.device).empty()) return std::nullopt;
    return HeldBack{Outcome::kImmovable};
  }

  static std::string say(const Telling& told) {
    return "the kernel does not move " + std::string(hotplug::immovable_kind(told.device)) +
           " to another network namespace, as a plugin of spec.exposure.supportedCNIPlugins would: offer it with "
           "plugins that leave it on the host (macvlan, ipvlan, vlan, bridge)";
  }
};

}  // namespace

GateKind immovable() { return gate_kind<Immovable>("immovable"); }

}  // namespace sliced::policy::gates
