// Gate sharing: withholds a shared entry (allowMultipleAllocations) if the API server does not store that
// field: the server would drop it, and the entry would look exclusive.
// Evidence: Settings::shared_devices, the result of a probe of the API server for the feature gate
// DRAConsumableCapacity (publishers/server_features.h).
// Until: a probe finds the feature, or the policy offers the device exclusively.
// Example: a macvlan persona on an API server without DRAConsumableCapacity.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class Sharing final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kNoSharing};

  explicit Sharing(DecisionContext& context) : can_share_(context.in.settings.shared_devices) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (offer.is_exclusive || can_share_) return std::nullopt;
    return Rejection{Outcome::kNoSharing};
  }

  static std::string say(const GateExplanation&) {
    return "it may be allocated several times, and this cluster cannot count that (DRAConsumableCapacity)";
  }

 private:
  const bool can_share_;
};

}  // namespace

GateKind sharing() { return gate_kind<Sharing>("sharing"); }

}  // namespace sliced::policy::gates
