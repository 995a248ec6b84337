// Gate host-use: withholds an exclusive offer of a device that the host uses. A pod would take over the
// interface and could cut the node off from the network.
// Evidence: HostDevice::host_use and host_use_kind: the interface is enslaved to a bridge or bond, or carries
// a default route or a route beyond its own subnet.
// Until: the use ends, or the policy sets allowHostUse or a sufficient allowDefaultRoutes.
// Passes: shared entries (macvlan, ipvlan), which leave the interface on the host.
// Example: the policy matches ens1f0, and `ip route` shows "default via 10.0.0.1 dev ens1f0".
#include "policy/gates/host_use.h"

#include "policy/gates/gate.h"
#include "reactor/base/text.h"

namespace sliced::policy {

bool is_withheld_for_host(const hotplug::HostDevice& device, bool is_exclusive,
                          const HostUseAllowance& allowance) {
  return is_exclusive && !device.host_use.empty() && !allows(allowance, device.host_use_kind);
}

namespace gates {
namespace {

class HostUse final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kHostUse};

  explicit HostUse(DecisionContext&) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (!is_withheld_for_host(offer.device, offer.is_exclusive, offer.host_use)) return std::nullopt;
    return Rejection{Outcome::kHostUse};
  }

  static std::string say(const GateExplanation& explained) {
    using Kind = hotplug::HostUseKind;
    const std::string used = "the host uses it (" + escaped(explained.device.host_use) + ")";
    const std::string fields =
        std::string("spec.allowHostUse: true") +
        (explained.device.host_use_kind == Kind::kLearnedRoute   ? " or spec.allowDefaultRoutes: learned"
         : explained.device.host_use_kind == Kind::kDefaultRoute ? " or spec.allowDefaultRoutes: all"
                                                                 : "");
    if (explained.kind == PolicyType::kExposure) return used + ", and an exclusive offer requires " + fields;
    return used + "; " + explained.by + " would offer it: set " + fields + " there if that is meant";
  }
};

}  // namespace

GateKind host_use() { return gate_kind<HostUse>("host-use"); }

}  // namespace gates
}  // namespace sliced::policy
