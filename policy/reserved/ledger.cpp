#include "policy/reserved/ledger.h"

#include <algorithm>
#include <utility>

namespace sliced::policy {

void Ledger::begin(UnverifiedRecords unverified, TimePoint now) {
  if (begun_) return;
  begun_ = now;
  for (auto& [key, pool] : pools_)
    for (auto& [name, entry] : pool.entries)
      if (entry.found) entry.found = now;
  unverified_ = std::move(unverified);
}

void Ledger::set_writing(bool writes) {
  if (writes && !is_writing_)
    for (auto& [key, pool] : pools_) pool.released.clear();
  is_writing_ = writes;
}

// Limits the pools, because others may write slices with any names.
Ledger::Pool* Ledger::pool_of(const PoolKey& key) {
  const bool is_room = is_ours(key.first) && (pools_.size() < kPoolsMax || pools_.contains(key));
  return is_room ? &pools_[key] : nullptr;
}

Ledger::Learned Ledger::learn(const kube::ResourceSlice& slice) {
  Learned out;
  // The SR-IOV driver has one pool, so an invalid slice without a pool name belongs to it.
  const bool is_of_node = slice.pool.name.empty() && slice.driver == names_.sriov_driver;
  Pool* pool = pool_of({slice.driver, is_of_node ? names_.node : slice.pool.name});
  if (pool == nullptr) return out;
  for (Holding& holding : entries_of(slice)) {
    if (!pool->has_room(holding.entry)) {
      out.is_overfull |= reserve_whole(slice.pool.name, *pool);
      continue;
    }
    const std::string name = holding.entry;
    const auto [at, fresh] = pool->entries.try_emplace(name);
    at->second.gone_since.reset();
    if (!fresh) continue;
    at->second = learned(std::move(holding), *pool);
    out.is_new = true;
  }
  learn_record(slice, *pool, out);
  out.is_new |= out.is_overfull;
  return out;
}

std::vector<Holding> Ledger::entries_of(const kube::ResourceSlice& slice) const {
  if (slice.driver == names_.exposure_driver) return holdings_of_entries(slice);
  std::vector<Holding> out;
  for (const kube::Device& device : slice.devices) out.push_back(holding_of_function(device.name));
  return out;
}

void Ledger::learn_record(const kube::ResourceSlice& slice, Pool& pool, Learned& out) {
  const auto text = slice.meta.annotations.find(std::string(kWithdrawnAnnotation));
  if (text == slice.meta.annotations.end()) return;
  auto record = Record::decode(text->second);
  if (!record) {
    out.problem = record.error().what;
    record = Record({whole_holding(slice.pool.name)}, slice.pool.name);
  }
  for (const Holding& holding : record->holdings()) {
    if (pool.released.contains(holding.entry)) continue;
    // Entries of a record that this process shortened itself are known by name.
    if (is_unknown(holding) && out.problem.empty() && is_writing_ && inventory_ != nullptr) continue;
    if (!pool.has_room(holding.entry)) {
      out.is_overfull |= reserve_whole(slice.pool.name, pool);
      continue;
    }
    const auto [at, fresh] = pool.entries.try_emplace(holding.entry, learned(holding, pool));
    out.is_new |= fresh;
    // The previous process had found the allocation, and may have read no claims since.
    if (fresh && holding.group == kAnyGroup && !is_unknown(holding))
      at->second.found = begun_.value_or(TimePoint{});
  }
}

// Returns true if it was not reserved before.
bool Ledger::reserve_whole(const std::string& name, Pool& pool) {
  return pool.entries.try_emplace(std::string(kUnknownEntry), Entry{whole_holding(name)}).second;
}

void Ledger::find_awaited(const hotplug::Inventory& inventory, TimePoint now) {
  for (auto& [key, names] : awaited_)
    std::erase_if(names, [&, &key = key](const auto& one) {
      Holding holding = unknown_holding(one.first);
      if (inventory.find(holding.device) == nullptr) return false;
      holding.is_exclusive = !one.second;
      holding.is_contested = true;
      pools_[key].entries.try_emplace(one.first, Entry{std::move(holding), now});
      return true;
    });
  for (const auto& [key, entries] : prepared_)
    for (const auto& [name, here] : entries)
      learn_allocated(key, name, here.is_share, Source::kPrepared, inventory, true, now);
}

// The name determines the device. The next decision checks whether it exists.
Ledger::Entry Ledger::learned(Holding holding, const Pool& pool) {
  const bool was_seen = pool.gone.contains(holding.entry);
  holding.is_awaited = !was_seen && !holding.device.empty() && holding.device != kAnyDevice;
  return {.holding = std::move(holding), .was_seen = was_seen};
}

HoldingsByPool Ledger::holdings() const {
  HoldingsByPool out;
  for (const auto& [key, pool] : pools_) {
    if (key.first != names_.exposure_driver || pool.entries.empty()) continue;
    auto& holdings = out[key.second];
    for (const auto& [name, entry] : pool.entries) holdings.push_back(entry.holding);
  }
  return out;
}

const Holding* Ledger::find(const PoolKey& pool, const std::string& entry) const {
  const auto at = pools_.find(pool);
  if (at == pools_.end()) return nullptr;
  const auto found = at->second.entries.find(entry);
  return found == at->second.entries.end() ? nullptr : &found->second.holding;
}

std::set<std::string> Ledger::sriov_holdings() const {
  std::set<std::string> out;
  for (const auto& [key, pool] : pools_)
    if (key.first == names_.sriov_driver)
      for (const auto& [name, entry] : pool.entries) out.insert(out.end(), name);
  return out;
}

bool Ledger::is_sriov_unverified() const {
  return unverified_.is_of_sriov || std::any_of(pools_.begin(), pools_.end(), [&](const auto& one) {
           return one.first.first == names_.sriov_driver && one.second.has_unknown();
         });
}

void Ledger::decided(const Decided& now) {
  has_exposures_ = now.has_exposures;
  inventory_ = now.inventory;
  const auto offer = [](Pool& pool, const Holding& holding) {
    Entry& entry = pool.entries[holding.entry];
    entry.holding = holding;
    entry.gone_since.reset();
    entry.was_listed = entry.is_leaving = false;
  };
  for (auto& [key, pool] : pools_)
    for (auto& [name, entry] : pool.entries)
      entry.is_leaving |= !std::exchange(entry.holding.is_withdrawn, true) && entry.was_seen;
  for (const auto& [name, holdings] : now.offered) {
    Pool& pool = pools_[{names_.exposure_driver, name}];
    for (const Holding& holding : holdings) offer(pool, holding);
  }
  for (const auto& [name, holdings] : now.contested)
    for (const Holding& holding : holdings)
      pools_[{names_.exposure_driver, name}].entries[holding.entry].holding = holding;
  for (const auto& [name, entries] : now.sriov) {
    Pool& pool = pools_[{names_.sriov_driver, name}];
    for (const std::string& entry : entries) offer(pool, holding_of_function(entry));
  }
  record_unverified(now);
  for (auto& [key, pool] : pools_) pool.is_wanted = now.wanted.contains(key.second);
  forget_gone(*inventory_);
}

// From now on it is an entry like others: recorded, and released by a list.
void Ledger::record_unverified(const Decided& now) {
  const auto charge = [&](const PoolKey& key) {
    pools_[key].entries.try_emplace(std::string(kUnknownEntry), Entry{whole_holding(key.second), begun_});
  };
  for (const std::string& pool : now.unverified) {
    charge({names_.exposure_driver, pool});
    unverified_.exposure.except.insert(pool);
  }
  const bool is_sriov_wanted = now.has_link_slice || now.wanted.contains(names_.node);
  if (has_exposures_ && is_sriov_wanted && std::exchange(unverified_.is_of_sriov, false))
    charge({names_.sriov_driver, names_.node});
}

// An allocation ends with its function. A function that this process has not seen may still appear: after a
// reboot they are created one by one.
bool Ledger::forget_gone(const hotplug::Inventory& inventory) {
  bool was_recorded = false;
  for (auto& [key, pool] : pools_) {
    for (auto& [name, entry] : pool.entries) {
      const bool is_here = !entry.holding.is_withdrawn || inventory.find(entry.holding.device) != nullptr;
      entry.was_seen |= is_here;
      entry.is_leaving &= !is_here;
      entry.holding.is_awaited = !entry.was_seen && entry.holding.device != kAnyDevice;
    }
    std::erase_if(pool.entries, [&](const auto& one) {
      const Entry& entry = one.second;
      if (!entry.holding.is_withdrawn) return false;  // nearly all entries; avoids lookups
      const std::string& device = entry.holding.device;
      const bool is_gone =
          entry.was_seen && inventory.find(device) == nullptr && !inventory.is_vanished(device);
      if (is_gone && pool.gone.size() < kNamesMax) pool.gone.insert(one.first);
      was_recorded |= is_gone && !entry.is_leaving;
      return is_gone || entry.holding.device.empty();
    });
  }
  return was_recorded;
}

bool Ledger::confirm_gone(const hotplug::InventoryPtr& inventory) {
  if (has_exposures_ || inventory_ == nullptr) return true;
  inventory_ = inventory;
  return forget_gone(*inventory_);
}

Record Ledger::record(const PoolKey& key) const {
  const auto pool = pools_.find(key);
  if (pool == pools_.end()) return {};
  // Without slices of the other kind no record of an unverified SR-IOV pool is needed
  // (publishers::find_unverified).
  const bool has_no_exposures = key.first == names_.sriov_driver && !has_exposures_;
  std::vector<Holding> withdrawn;
  for (const auto& [name, entry] : pool->second.entries)
    if (entry.holding.is_withdrawn && !entry.is_leaving && !(has_no_exposures && is_unknown(entry.holding)))
      withdrawn.push_back(entry.holding);
  return {std::move(withdrawn), key.second};
}

Groups Ledger::groups(const PoolKey& key) const {
  Groups out;
  if (const auto pool = pools_.find(key); pool != pools_.end())
    for (const auto& [name, entry] : pool->second.entries)
      if (!entry.holding.is_withdrawn && !entry.holding.group.empty()) out[name] = entry.holding.group;
  return out;
}

void Ledger::acknowledged(const std::string& driver, const std::set<std::string>& but, TimePoint now) {
  for (auto& [key, pool] : pools_) {
    if (key.first != driver || but.contains(key.second)) continue;
    pool.released.clear();
    pool.gone.clear();
    for (auto& [name, entry] : pool.entries)
      if (entry.holding.is_withdrawn && !entry.gone_since) entry.gone_since = now;
  }
}

bool Ledger::waits(const PoolKey& key, const Pool& pool, const Entry& entry) const {
  if (key.first == names_.sriov_driver && !has_exposures_) return false;
  if (entry.found) return true;
  if (!entry.gone_since || is_prepared(key, entry.holding.entry)) return false;
  if (is_unknown(entry.holding)) return pool.is_wanted;
  return !entry.holding.is_awaited || !entry.was_listed;
}

std::optional<Ledger::Need> Ledger::need() const {
  std::optional<Need> out;
  for (const auto& [key, pool] : pools_)
    for (const auto& [name, entry] : pool.entries) {
      if (!waits(key, pool, entry)) continue;
      if (!out) out.emplace();
      if (is_unknown(entry.holding))
        out->unknown_from =
            std::min(out->unknown_from.value_or(TimePoint::max()), *entry.gone_since + kGrace);
    }
  return out;
}

Ledger::Change Ledger::take(const PodClaims& seen, TimePoint now) {
  Change out;
  for (const auto& [key, by_entry] : seen.claims)
    for (const auto& [entry, claims] : by_entry) claims_[key][entry] = claims;
  for (const auto& [key, shared_by_name] : seen.allocated) {
    const bool is_unverified = key.first == names_.exposure_driver && unverified_.exposure.is_of(key.second);
    const auto pool = pools_.find(key);
    if (!is_unverified && (pool == pools_.end() || !pool->second.has_unknown())) continue;
    out.newly_found += learn_allocated(key, shared_by_name, Source::kClaims, true, now);
    await_functions(key, shared_by_name);
    out.contested += contest(key, shared_by_name);
  }
  return out;
}

Ledger::Change Ledger::take(const ClaimList& list, TimePoint now) {
  claims_ = list.claims;
  Change out{.ends_unverified = begun_ && *begun_ + kGrace <= list.begun &&
                                (unverified_.exposure.is_any || unverified_.is_of_sriov)};
  if (out.ends_unverified) {
    for (const auto& [key, shared_by_name] : list.allocated) {
      await_functions(key, shared_by_name);
      pools_[key];
    }
    unverified_ = {};
  }
  for (auto& [key, pool] : pools_) {
    const auto found = list.allocated.find(key);
    const bool is_lost = out.ends_unverified || pool.has_unknown();
    const auto is_free = [&, &key = key](const auto& one) {
      const auto& [name, entry] = one;
      return entry.gone_since && *entry.gone_since + kGrace <= list.begun && !entry.was_listed &&
             !is_prepared(key, name);
    };
    for (auto& [name, entry] : pool.entries) {
      entry.was_listed = found != list.allocated.end() && found->second.contains(name);
      if (entry.found && *entry.found + kGrace <= list.begun) entry.found.reset();
    }
    for (const auto& one : pool.entries)
      if (is_free(one)) pool.released.insert(one.first);
    out.released += std::erase_if(pool.entries, is_free);
    if (found == list.allocated.end()) continue;
    out.newly_found += learn_allocated(key, found->second, Source::kClaims, is_lost, now);
    out.contested += contest(key, found->second);
  }
  return out;
}

Ledger::Change Ledger::take(const Prepared& prepared, TimePoint now) {
  const Pool* pool = pool_of(prepared.pool);
  if (pool == nullptr || !pool->has_room(prepared.entry)) return {};
  Preparation& here = prepared_[prepared.pool][prepared.entry];
  here.is_share = prepared.is_share;
  if (here.claims.size() < kNamesMax)
    here.claims[prepared.claim] = {prepared.claim_namespace, prepared.claim_name};
  return {.newly_found = learn_allocated(prepared.pool, {{prepared.entry, prepared.is_share}},
                                         Source::kPrepared, true, now)};
}

void Ledger::take(const Unprepared& unprepared) {
  const auto pool = prepared_.find(unprepared.pool);
  if (pool == prepared_.end()) return;
  const auto here = pool->second.find(unprepared.entry);
  if (here == pool->second.end()) return;
  here->second.claims.erase(unprepared.claim);
  if (here->second.claims.empty()) pool->second.erase(here);
}

const Ledger::Preparation* Ledger::here(const PoolKey& key, const std::string& entry) const {
  const auto pool = prepared_.find(key);
  if (pool == prepared_.end()) return nullptr;
  const auto at = pool->second.find(entry);
  return at == pool->second.end() ? nullptr : &at->second;
}

bool Ledger::is_prepared(const PoolKey& key, const std::string& entry) const {
  return here(key, entry) != nullptr;
}

std::set<std::string> Ledger::known_allocated() const {
  std::set<std::string> out;
  for (const auto& [device, claims] : known_claims()) out.insert(device);
  return out;
}

std::map<std::string, std::set<std::string>> Ledger::known_claims() const {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [key, pool] : pools_) {
    const auto read = claims_.find(key);
    for (const auto& [name, entry] : pool.entries) {
      const Preparation* prepared = here(key, name);
      if (!entry.was_listed && !entry.holder && prepared == nullptr) continue;
      std::set<std::string>& claims = out[entry.holding.device];
      const auto add = [&](const Claim& claim) {
        if (!claim.name.empty() && claims.size() < kClaimsNamedMax)
          claims.insert(claim.claim_namespace + "/" + claim.name);
      };
      if (prepared != nullptr)
        for (const auto& [uid, claim] : prepared->claims) add(claim);
      if (entry.holder) add(entry.holder->claim);
      if (read == claims_.end()) continue;
      if (const auto at = read->second.find(name); at != read->second.end())
        claims.insert(at->second.begin(), at->second.end());
    }
  }
  return out;
}

// ---- reads of one claim

std::optional<Ledger::ClaimQuery> Ledger::question(const PoolKey& key, const Entry& entry) const {
  const Holding& holding = entry.holding;
  if (!entry.gone_since || !holding.is_exclusive || is_unknown(holding)) return std::nullopt;
  const Preparation* now = here(key, holding.entry);
  const TimePoint from = *entry.gone_since + kGrace;
  if (now == nullptr) {
    if (!is_sole(entry)) return std::nullopt;
    const Holder& holder = *entry.holder;
    return ClaimQuery{key,  holding.entry,     holder.uid, holder.claim.claim_namespace, holder.claim.name,
                      true, entry.holder->seen};
  }
  if (now->is_share || now->claims.size() != 1) return std::nullopt;
  const auto& [uid, claim] = *now->claims.begin();
  if (claim.name.empty() || (is_sole(entry) && entry.holder->uid == uid)) return std::nullopt;
  return ClaimQuery{key, holding.entry, uid, claim.claim_namespace, claim.name, false, from};
}

std::vector<Ledger::ClaimQuery> Ledger::questions() const {
  std::vector<ClaimQuery> out;
  for (const auto& [key, pool] : pools_) {
    if (key.first == names_.sriov_driver && !has_exposures_) continue;
    for (const auto& [name, entry] : pool.entries)
      if (auto one = question(key, entry)) out.push_back(std::move(*one));
  }
  return out;
}

Ledger::Change Ledger::take(const ClaimRead& seen) {
  const auto pool = pools_.find(seen.pool);
  if (pool == pools_.end()) return {};
  const auto at = pool->second.entries.find(seen.entry);
  if (at == pool->second.entries.end()) return {};
  const auto asked = question(seen.pool, at->second);
  if (!asked || asked->claim != seen.claim || seen.begun < asked->from) return {};
  if (!asked->is_taken_back) {
    if (seen.has) at->second.holder = {seen.claim, {asked->claim_namespace, asked->claim_name}, seen.begun};
    return {};
  }
  if (seen.has) return {};
  pool->second.released.insert(seen.entry);
  pool->second.entries.erase(at);
  return {.released = 1};
}

// Stores allocations of functions that do not exist yet, as after a reboot.
void Ledger::await_functions(const PoolKey& key, const std::map<std::string, bool>& shared_by_name) {
  for (const auto& [name, is_shared] : shared_by_name) {
    const Holding holding = unknown_holding(name);
    if (!holding.device.empty() && inventory_ != nullptr && inventory_->find(holding.device) == nullptr)
      awaited_[key].emplace(name, is_shared);
  }
}

// A record may have been lost with its slice. The name of a link may be a prefix of another, removed link's
// name, so links are considered only if a record was lost.
size_t Ledger::learn_allocated(const PoolKey& key, const std::string& entry, bool is_share, Source source,
                               const hotplug::Inventory& inventory, bool is_lost, TimePoint now) {
  Pool& pool = pools_[key];
  if (const auto known = pool.entries.find(entry); known != pool.entries.end()) {
    // The allocation corrects the kind of an offered or recently offered entry. The next decision withdraws
    // an offered one. What was found in claims alone (kAnyGroup) has the kind of its claims.
    const bool is_kind_known = known->second.holding.group != kAnyGroup;
    if (!is_share && source == Source::kClaims && is_kind_known) return 0;
    return std::exchange(known->second.holding.is_exclusive, !is_share) == is_share ? 1 : 0;
  }
  const bool is_of_links = is_lost && key.first == names_.exposure_driver;
  Holding holding = is_of_links ? unknown_holding(entry, inventory) : unknown_holding(entry);
  if (inventory.find(holding.device) == nullptr) return 0;
  holding.is_exclusive = !is_share;
  holding.is_contested = true;  // it is allocated, possibly beside a conflicting entry
  Entry found{std::move(holding), now, true};
  found.found = now;
  pool.entries.emplace(entry, std::move(found));
  return 1;
}

size_t Ledger::learn_allocated(const PoolKey& key, const std::map<std::string, bool>& shared_by_name,
                               Source source, bool is_lost, TimePoint now) {
  size_t found = 0;
  if (inventory_ != nullptr)
    for (const auto& [name, is_share] : shared_by_name)
      found += learn_allocated(key, name, is_share, source, *inventory_, is_lost, now);
  return found;
}

// Entries that are allocated at the same time were compatible then, but may exclude each other now: a policy
// was edited while the record was unknown; an entry of any group takes a token of each; or a claim is for the
// former device at the address. Together they take more than a counter has, which the scheduler does not see
// once one of them is withdrawn. A withdrawn and prepared entry takes its token even after its claim is
// deleted.
size_t Ledger::contest(const PoolKey& key, const std::map<std::string, bool>& shared_by_name) {
  Pool& pool = pools_[key];
  const std::string pf = key.first == names_.exposure_driver ? whole_holding(key.second).device : "";
  PoolHoldings together(pf);
  std::vector<Holding*> all;
  for (auto& [name, entry] : pool.entries)
    if (shared_by_name.contains(name) || (entry.holding.is_withdrawn && is_prepared(key, name))) {
      all.push_back(&entry.holding);
      together.add(entry.holding);
    }
  size_t offered = 0;
  for (Holding* one : all)
    if (together.exclude(*one) && !std::exchange(one->is_contested, true) && !one->is_withdrawn) ++offered;
  return offered;
}

}  // namespace sliced::policy
