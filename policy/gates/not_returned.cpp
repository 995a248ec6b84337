// Asks: would the entry need a device that this node has not been able to give back from a claim that is gone? It is the rule by which
// prepare refuses such a device (kubelet/safety.h), so that the scheduler does not allocate what no pod can get.
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

  explicit NotReturnedGate(Circumstances& circumstances) {
    for (const NotReturned& one : circumstances.in.not_returned) {
      by_device_[one.holding.device].push_back(&one);
      if (!one.pf.empty() && one.pf != one.holding.device) by_pf_[one.pf].push_back(&one);
    }
  }

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (by_device_.empty()) return std::nullopt;
    const std::string& id = offer.device.id.text;
    const NotReturned* one = first_in(by_device_, id, offer);
    if (one == nullptr && offer.device.pf) one = first_in(by_device_, offer.device.pf->text(), offer);
    if (one == nullptr) one = first_in(by_pf_, id, offer);
    if (one == nullptr) return std::nullopt;
    return HeldBack{Outcome::kNotReturned,
                    one->holding.device == id ? one->why : one->holding.device + ": " + one->why};
  }

  static std::string say(const Telling& told) {
    return (told.by.empty() ? "" : told.by + " offers it, but ") + told.why;
  }

 private:
  using Index = std::map<std::string, std::vector<const NotReturned*>, std::less<>>;

  static const NotReturned* first_in(const Index& index, std::string_view id, const Offer& offer) {
    const auto at = index.find(id);
    if (at == index.end()) return nullptr;
    const auto found = std::find_if(at->second.begin(), at->second.end(),
                                    [&](const NotReturned* one) { return excludes(*one, offer); });
    return found == at->second.end() ? nullptr : *found;
  }
  static bool excludes(const NotReturned& one, const Offer& offer) {
    const Holding& held = one.holding;
    if (held.device == offer.device.id.text && held.entry == offer.entry)
      return held.is_exclusive || offer.is_exclusive;
    const Holding wanted{.entry = offer.entry,
                         .device = offer.device.id.text,
                         .base = "",
                         .is_exclusive = offer.is_exclusive,
                         .group = std::string(offer.group)};
    return exclude_each_other(held, wanted, one.pf);
  }

  Index by_device_;
  Index by_pf_;  // VFs by their PF
};

}  // namespace

GateKind not_returned() { return gate_kind<NotReturnedGate>("not-returned"); }

}  // namespace sliced::policy::gates
