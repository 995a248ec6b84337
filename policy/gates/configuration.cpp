// Gate configuration: withholds entries until this node's hardware is configured, because a VF that is
// offered too early reaches a pod without its MTU, MAC address or driver.
// Evidence: Inputs::unconfigured, the signal of --until-configured.
// Until: the signal arrives.
// Passes: entries in slices of this boot. Entries in slices of an earlier boot are withdrawn, because the
// hardware lost its settings at the reboot.
// Example: the node has booted, and the SR-IOV operator has not yet reported syncStatus Succeeded.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Configuration final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kUnconfigured};

  explicit Configuration(DecisionContext& context) : now_(context.in.unconfigured) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (!now_.holds()) return std::nullopt;
    if ((offer.kind == PolicyType::kSriov ? now_.sriov : now_.exposure).contains(offer.entry))
      return std::nullopt;
    return Rejection{Outcome::kUnconfigured};
  }

  static std::string say(const GateExplanation& explained) {
    return (explained.by.empty() ? "" : explained.by + " offers it; ") +
           "no new device is offered before this node is configured: " +
           explained.decision.inputs->unconfigured.why;
  }

 private:
  const Unconfigured& now_;
};

}  // namespace

GateKind configuration() { return gate_kind<Configuration>("configuration"); }

}  // namespace sliced::policy::gates
