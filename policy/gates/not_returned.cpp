// Gate not-returned: withholds entries whose prepare would fail, because this node still holds the device, or
// one that excludes it, for a ResourceClaim that no longer exists.
// Evidence: Inputs::not_returned, which the kubelet plugin reports. Prepare applies the same rule, conflict()
// in policy/holding.h.
// Until: the plugin has restored the device and its original settings.
// Example: the claim of a VF with vfio-pci was deleted while a process keeps /dev/vfio/42 open, so that the
// VF cannot be bound to its network driver again.
#include "policy/not_returned.h"

#include <algorithm>
#include <map>
#include <vector>

#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class NotReturnedGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kNotReturned};

  explicit NotReturnedGate(DecisionContext& context) {
    for (const NotReturned& one : context.in.not_returned) {
      if (is_device_unknown(one.holding))
        of_unknown_devices_.push_back(&one);
      else
        by_device_[one.holding.device].push_back(&one);
      if (!one.pf.empty() && one.pf != one.holding.device) by_pf_[one.pf].push_back(&one);
    }
  }

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (by_device_.empty() && of_unknown_devices_.empty()) return std::nullopt;
    const std::string& id = offer.device.id.text;
    const NotReturned* one = first_in(by_device_, id, offer);
    if (one == nullptr && offer.device.pf) one = first_in(by_device_, offer.device.pf->text(), offer);
    if (one == nullptr) one = first_in(by_pf_, id, offer);
    if (one == nullptr) one = first_of(of_unknown_devices_, offer);
    if (one == nullptr) return std::nullopt;
    return Rejection{Outcome::kNotReturned,
                     one->holding.device == id ? one->why : one->holding.device + ": " + one->why};
  }

  static std::string say(const GateExplanation& explained) {
    return (explained.by.empty() ? "" : explained.by + " offers it, but ") + explained.why;
  }

 private:
  using Index = std::map<std::string, std::vector<const NotReturned*>, std::less<>>;

  static const NotReturned* first_in(const Index& index, std::string_view id, const EntryCandidate& offer) {
    const auto at = index.find(id);
    return at == index.end() ? nullptr : first_of(at->second, offer);
  }
  static const NotReturned* first_of(const std::vector<const NotReturned*>& all,
                                     const EntryCandidate& offer) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const NotReturned* one) { return excludes(*one, offer); });
    return found == all.end() ? nullptr : *found;
  }
  static bool excludes(const NotReturned& one, const EntryCandidate& offer) {
    const Holding wanted{.entry = offer.entry,
                         .device = offer.device.id.text,
                         .base = std::string(offer.base),
                         .is_exclusive = offer.is_exclusive,
                         .group = std::string(offer.group)};
    return conflict(one.holding, wanted, one.pf);
  }

  Index by_device_;
  Index by_pf_;  // a VF's record, by its PF
  std::vector<const NotReturned*> of_unknown_devices_;
};

}  // namespace

GateKind not_returned() { return gate_kind<NotReturnedGate>("not-returned"); }

}  // namespace sliced::policy::gates
