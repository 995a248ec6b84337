// Asks: does the host itself use the device, and would it be given away as a whole?
#include "policy/gates/host_use.h"

#include "policy/gates/gate.h"
#include "reactor/base/text.h"

namespace sliced::policy {

bool is_held_for_host(const hotplug::HostDevice& device, bool is_exclusive, bool allows_host_use) {
  return is_exclusive && !device.host_use.empty() && !allows_host_use;
}

namespace gates {
namespace {

class HostUse final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kHostUse};

  explicit HostUse(Circumstances&) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (!is_held_for_host(offer.device, offer.is_exclusive, offer.allows_host_use)) return std::nullopt;
    return HeldBack{Outcome::kHostUse};
  }

  static std::string say(const Telling& told) {
    const std::string used = "the host uses it (" + escaped(told.device.host_use) + ")";
    if (told.kind == PolicyKind::kExposure)
      return used + ", and an exclusive offer wants spec.allowHostUse: true";
    return used + "; " + told.by + " would offer it: set spec.allowHostUse: true there if that is meant";
  }
};

}  // namespace

GateKind host_use() { return gate_kind<HostUse>("host-use"); }

}  // namespace gates
}  // namespace sliced::policy
