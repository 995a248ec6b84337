// Gate immovable: withholds a device whose interface a plugin of the entry would move into the pod, while the
// kernel refuses to move it. Each pod with the device would fail to start.
// Evidence: hotplug::immovable_kind(): the interface is netns-immutable (Linux 6.15), or a bond, a bridge, a
// wireless interface or the uplink of a switch in switchdev mode.
// Until: the policy lists only plugins that leave the interface on the host (macvlan, ipvlan, vlan, bridge).
// Example: a policy offers bond0 with the plugin host-device.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Immovable final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kImmovable};

  explicit Immovable(DecisionContext&) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
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
