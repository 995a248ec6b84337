// Asks: may a former entry still be allocated of which the scheduler would not see that this one has the same
// device? One that was shared and is to be exclusive, or the reverse; one in another pool; one of that name
// that was another device's. An entry that comes back as it was is no such case.
#include <map>
#include <set>

#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class MayBeAllocated final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kCharged};

  explicit MayBeAllocated(Circumstances& circumstances) : now_(circumstances) {
    for (const auto& [pool, holdings] : now_.in.holdings)
      for (const Holding& holding : holdings) {
        pools_of_[holding.device].insert(pool);
        holdings_.emplace(std::pair<std::string_view, std::string_view>(pool, holding.entry), &holding);
      }
  }

  // Those of a SriovResourcePolicy are exclusive, in one pool, and named as their function.
  std::optional<HeldBack> ask(const Offer& offer) override {
    if (offer.kind == PolicyKind::kSriov || offer.entry.empty()) return std::nullopt;
    now_.wanted.insert(offer.pool);
    if (!is_elsewhere(offer) && !is_other(offer)) return std::nullopt;
    return HeldBack{Outcome::kCharged};
  }

  static std::string say(const Telling&) {
    return "its entry could be allocated in another way before and may still be; it waits until the "
           "ResourceClaims show it free";
  }

 private:
  // A VF that is being made anew is a function without a PF for a moment. Counters do not cross pools.
  bool is_elsewhere(const Offer& offer) const {
    const auto pools = pools_of_.find(offer.device.id.text);
    return pools != pools_of_.end() && (pools->second.size() > 1 || !pools->second.contains(offer.pool));
  }

  bool is_other(const Offer& offer) const {
    const auto former = holdings_.find({offer.pool, offer.entry});
    if (former == holdings_.end()) return false;
    const Holding& had = *former->second;
    return had.is_exclusive != offer.is_exclusive ||
           (!had.device.empty() && had.device != offer.device.id.text);
  }

  Circumstances& now_;
  std::map<std::string_view, std::set<std::string_view>> pools_of_;                   // by host device
  std::map<std::pair<std::string_view, std::string_view>, const Holding*> holdings_;  // by pool and entry
};

}  // namespace

GateKind may_be_allocated() { return gate_kind<MayBeAllocated>("may-be-allocated"); }

}  // namespace sliced::policy::gates
