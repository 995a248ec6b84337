// What is allocated is counted: no counter has given away more than there is of it.
#include <algorithm>
#include <utility>

#include "t/sim/exposure_world.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

std::string record_of(const SlicedPool& pool) {
  std::string out;
  for (const SlicePtr& slice : pool.slices) out += slice->record;
  return out;
}

}  // namespace

// What is held of devices that are there: a scheduler goes on counting claims of those that are gone, and the
// daemon does not.
Allocated ExposureWorld::allocated_here() const {
  Allocated out;
  for (const Grant& grant : grants_) {
    if (!is_known_to_daemon(grant) || grant.is_of_former) continue;
    auto& share = out.entries[grant.offer.id()];
    grant.offer.is_exclusive ? share.is_exclusive = true : ++share.shares;
    share.taken += grant.offer.takes;
  }
  return out;
}

// The host may begin to use a VF of a PF that somebody has as a whole, or have done so lately.
bool ExposureWorld::is_overdrawn_by_host(const SlicedPool& pool) const {
  const auto is_used = [&](const auto& state) {
    return state.second.host_use && pool_of(state.second, World::kNode) == pool.name;
  };
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& one) {
    return std::any_of(one.second.begin(), one.second.end(), is_used);
  });
}

// What is published is the total less what the record names, so what is allocated and stands must fit in. What
// the record names may be free until the claims tell: then there is less than there seems, and nothing more is
// given away of the pool. So it is from the write of the first slice, which ends the record, to that of the entries'
// own, which says what they take from then on.
void ExposureWorld::judge_counters(bool have_claims_told) {
  const Allocated allocated = allocated_here();
  for (const auto& [id, pool] : pools()) {
    if (pool.driver != kExposureDriver || !pool.is_whole || is_tampered(pool)) continue;
    if (is_overdrawn_by_host(pool)) continue;
    const bool may_be_free = !have_claims_told && !record_of(pool).empty();
    Tokens overdrawn;
    for (const auto& [set, counters] : tokens_left(pool, allocated))
      for (const auto& [counter, left] : counters)
        if (left < 0) overdrawn[counter] = left;
    const Tokens before = std::exchange(overdrawn_[id], overdrawn);
    for (const auto& [counter, left] : overdrawn) {
      const auto at = before.find(counter);
      if (may_be_free || (at != before.end() && at->second <= left)) continue;
      return world_.fail(
          "E8", "the counter " + counter + " of " + id + " is overdrawn by " + std::to_string(-left));
    }
  }
}

}  // namespace sliced::sim
