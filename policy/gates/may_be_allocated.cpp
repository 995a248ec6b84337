// Gate may-be-allocated: withholds an entry while a former entry of the same device may still be allocated
// and the scheduler cannot see the conflict. Two pods would get the device.
// Evidence: Inputs::holdings, the entries that are offered, or withdrawn and not shown free since. An entry
// conflicts if the former one
// - changed between shared and exclusive,
// - is in another pool, where counters do not apply, or
// - has the same name and belongs to another device.
// Until: the ResourceClaims show the former entry free.
// Passes: an unchanged entry that is offered again; entries of SriovResourcePolicies.
// Example: an edit turns the shared macvlan persona of ens1f0 into an exclusive one while a pod has a share.
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

  explicit MayBeAllocated(DecisionContext& context) : now_(context) {
    for (const auto& [pool, holdings] : now_.in.holdings) {
      former_.try_emplace(pool, holdings, &Holding::entry);
      for (const Holding& holding : holdings) {
        const auto [at, is_new] = pools_of_.try_emplace(holding.device, PoolsOfDevice{pool});
        at->second.is_several |= !is_new && at->second.pool != pool;
      }
    }
  }

  // Entries of SriovResourcePolicies pass: they are exclusive, in one pool, and named after their function.
  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (offer.kind == PolicyType::kSriov || offer.entry.empty()) return std::nullopt;
    now_.wanted.insert(offer.pool);
    if (!is_elsewhere(offer) && !is_other(offer)) return std::nullopt;
    return Rejection{Outcome::kReserved};
  }

  static std::string say(const GateExplanation&) {
    return "its entry could be allocated in another way before and may still be; it waits until the "
           "ResourceClaims show it free";
  }

 private:
  struct PoolsOfDevice {
    std::string_view pool;
    bool is_several = false;  // the device has holdings in other pools, too
  };
  using Former = InOrder<std::vector<Holding>, std::string Holding::*>;

  // Returns true if the device has a holding in another pool: while a VF is created again it is briefly a
  // function without a PF, and so of another pool. Counters do not apply across pools.
  bool is_elsewhere(const EntryCandidate& offer) const {
    const auto pools = pools_of_.find(offer.device.id.text);
    return pools != pools_of_.end() && (pools->second.is_several || pools->second.pool != offer.pool);
  }

  bool is_other(const EntryCandidate& offer) {
    const Holding* had = former(offer);
    return had != nullptr && (had->is_exclusive != offer.is_exclusive ||
                              (!had->device.empty() && had->device != offer.device.id.text));
  }

  const Holding* former(const EntryCandidate& offer) {
    const auto pool = former_.find(offer.pool);
    return pool == former_.end() ? nullptr : pool->second.find(offer.entry);
  }

  DecisionContext& now_;
  std::unordered_map<std::string_view, PoolsOfDevice> pools_of_;  // by host device
  std::map<std::string_view, Former> former_;                     // by pool
};

}  // namespace

GateKind may_be_allocated() { return gate_kind<MayBeAllocated>("may-be-allocated"); }

}  // namespace sliced::policy::gates
