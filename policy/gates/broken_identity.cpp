// Gate broken-identity: withholds a device whose identity is uncertain. Its entry would carry the address or
// name of one device and could hand another device to the pod.
// Evidence: HostDevice::broken, the reason that the reading noted: sysfs entries that vanish, cannot be read
// or do not answer, a VF and a PF that do not link to each other, an interface name that is not UTF-8.
// Until: a later reading finds no such reason.
// Example: sysfs still lists a function that is being unplugged, and its vendor file cannot be read.
#include "policy/gates/gate.h"
#include "reactor/base/text.h"

namespace sliced::policy::gates {
namespace {

class BrokenIdentity final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kBroken};

  explicit BrokenIdentity(DecisionContext&) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
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
