// Asks: may a former entry still be allocated of which the scheduler would not see that this one has the same
// device? One that was shared and is to be exclusive, or the reverse; one in another pool; one of that name
// that was another device's. An entry that comes back as it was is no such case.
#include <map>
#include <unordered_map>
#include <vector>

#include "policy/gates/gate.h"
#include "policy/in_order.h"

namespace sliced::policy::gates {
namespace {

class MayBeAllocated final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kReserved};

  explicit MayBeAllocated(Circumstances& circumstances) : now_(circumstances) {
    for (const auto& [pool, holdings] : now_.in.holdings)
      for (const Holding& holding : holdings) {
        const auto [at, is_new] = pools_of_.try_emplace(holding.device, Where{pool});
        at->second.is_several |= !is_new && at->second.pool != pool;
      }
  }

  // Those of a SriovResourcePolicy are exclusive, in one pool, and named as their function.
  std::optional<HeldBack> ask(const Offer& offer) override {
    if (offer.kind == PolicyKind::kSriov || offer.entry.empty()) return std::nullopt;
    now_.wanted.insert(offer.pool);
    if (!is_elsewhere(offer) && !is_other(offer)) return std::nullopt;
    return HeldBack{Outcome::kReserved};
  }

  static std::string say(const Telling&) {
    return "its entry could be allocated in another way before and may still be; it waits until the "
           "ResourceClaims show it free";
  }

 private:
  struct Where {
    std::string_view pool;
    bool is_several = false;  // and in others
  };
  using Former = InOrder<std::vector<Holding>, std::string Holding::*>;

  // A VF that is being made anew is a function without a PF for a moment. Counters do not cross pools.
  bool is_elsewhere(const Offer& offer) const {
    const auto pools = pools_of_.find(offer.device.id.text);
    return pools != pools_of_.end() && (pools->second.is_several || pools->second.pool != offer.pool);
  }

  bool is_other(const Offer& offer) {
    const Holding* had = former(offer);
    return had != nullptr && (had->is_exclusive != offer.is_exclusive ||
                              (!had->device.empty() && had->device != offer.device.id.text));
  }

  const Holding* former(const Offer& offer) {
    const auto pool = now_.in.holdings.find(offer.pool);
    if (pool == now_.in.holdings.end()) return nullptr;
    return former_.try_emplace(pool->first, pool->second, &Holding::entry).first->second.find(offer.entry);
  }

  Circumstances& now_;
  std::unordered_map<std::string_view, Where> pools_of_;  // by host device
  std::map<std::string_view, Former> former_;             // by pool
};

}  // namespace

GateKind may_be_allocated() { return gate_kind<MayBeAllocated>("may-be-allocated"); }

}  // namespace sliced::policy::gates
