#include "publishers/charges.h"

#include <algorithm>
#include <utility>

#include "policy/exposure/withdrawn.h"

namespace sliced::publishers {
namespace {

using policy::Holding;

constexpr reactor::BackoffPolicy kListBackoff{
    .initial = Charges::kInterval, .factor = 2.0, .cap = Charges::kRetryMax, .jitter = 0.5};
constexpr reactor::BackoffPolicy kLookBackoff{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{30'000}, .jitter = 0.5};

bool is_unknown(const Holding& claim) { return claim.entry == policy::kUnknownEntry; }

template <class Entries>
bool has_unknown(const Entries& entries) {
  return entries.contains(std::string(policy::kUnknownEntry));
}

}  // namespace

Charges::Charges(Ports ports, Names names, std::function<void()> on_changed)
    : ports_(std::move(ports)),
      names_(std::move(names)),
      on_changed_(std::move(on_changed)),
      look_backoff_(ports_.random, kLookBackoff),
      evidence_(
          ports_, {names_.sriov_driver, names_.exposure_driver}, names_.node,
          {.on_pods = [this](const Allocations& allocated,
                             Evidence::Look look) { see_pods(allocated, look); },
           .on_list = [this](TimePoint begun, const Allocations& allocated) { see_list(begun, allocated); },
           .on_failure = [this](const kube::Failure& failure) { fail(failure); }}),
      backoff_(ports_.random, kListBackoff) {}

void Charges::begin(RecordDoubt doubt, bool was_possible) {
  if (begun_) return;
  begun_ = ports_.scheduler.now();
  doubt_ = std::move(doubt);
  is_look_open_ = doubt_.exposure.is_any && was_possible;
}

bool Charges::learn(const kube::ResourceSlice& slice) {
  if (slice.driver != names_.sriov_driver && slice.driver != names_.exposure_driver) return false;
  bool is_news = false;
  const PoolKey key{slice.driver, slice.pool.name};
  if (pools_.size() >= kPoolsMax && !pools_.contains(key)) return false;
  Pool& pool = pools_[key];
  const auto has_room = [&](const std::string& name) {
    return pool.entries.size() < kNamesMax || pool.entries.contains(name);
  };
  for (const kube::Device& device : slice.devices) {
    if (!has_room(device.name)) {
      is_news |= charge_whole(slice.pool.name, pool);
      break;
    }
    const auto [at, fresh] = pool.entries.try_emplace(device.name);
    at->second.gone_since.reset();
    if (!fresh) continue;
    at->second.claim = slice.driver == names_.sriov_driver
                           ? policy::claim_of_function(device.name)
                           : policy::claim_of_entry(device, names_.exposure_driver);
    is_news = true;
  }
  std::string problem;
  const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
  if (record != slice.meta.annotations.end()) {
    auto claims = policy::decode_withdrawn(record->second);
    if (!claims) {
      problem = claims.error().what;
      claims = std::vector{policy::claim_of_unreadable(slice.pool.name)};
    }
    for (Holding& claim : *claims) {
      if (pool.released.contains(claim.entry)) continue;
      // What we have abridged ourselves we know by name.
      if (is_unknown(claim) && problem.empty() && is_permitted_ && inventory_ != nullptr) continue;
      if (!has_room(claim.entry)) {
        is_news |= charge_whole(slice.pool.name, pool);
        break;
      }
      const std::string name = claim.entry;
      is_news |= pool.entries.try_emplace(name, Entry{std::move(claim), {}}).second;
    }
  }
  if (!problem.empty() && std::exchange(told_record_, slice.meta.name + ": " + problem) != told_record_)
    ports_.log.error(
        "the record of withdrawn devices in a slice of ours cannot be understood; whatever it may have named "
        "is charged until the ResourceClaims tell",
        {{"problem", told_record_}});
  if (is_unreadable(slice) &&
      std::exchange(told_slice_, slice.meta.name + ": " + slice.unknown_fields.back()) != told_slice_)
    ports_.log.error(
        "a slice of ours cannot be understood; what can be read of it is charged, and it is replaced",
        {{"problem", told_slice_}});
  return is_news;
}

// Whoever may write our slices could name devices without end.
bool Charges::charge_whole(const std::string& name, Pool& pool) {
  Holding whole = policy::claim_of_unreadable(name);
  const std::string entry = whole.entry;
  const bool is_news = pool.entries.try_emplace(entry, Entry{std::move(whole), {}}).second;
  if (is_news)
    ports_.log.error(
        "slices of ours have named more devices than a node can have; the pool is charged as a whole until "
        "the ResourceClaims tell",
        {{"pool", name}, {"remedy", "find out who else writes the ResourceSlices of this node"}});
  return is_news;
}

void Charges::look_for_awaited(const hotplug::Inventory& inventory) {
  for (auto& [key, names] : awaited_)
    std::erase_if(names, [&, &key = key](const auto& one) {
      Holding claim = policy::claim_of_unknown(one.first);
      if (inventory.find(claim.device) == nullptr) return false;
      claim.is_exclusive = !one.second;
      pools_[key].entries.try_emplace(one.first, Entry{std::move(claim), ports_.scheduler.now()});
      return true;
    });
}

std::map<std::string, std::vector<Holding>> Charges::held() const {
  std::map<std::string, std::vector<Holding>> out;
  for (const auto& [key, pool] : pools_) {
    if (key.first != names_.exposure_driver || pool.entries.empty()) continue;
    auto& claims = out[key.second];
    for (const auto& [name, entry] : pool.entries) claims.push_back(entry.claim);
  }
  return out;
}

std::set<std::string> Charges::sriov_held() const {
  std::set<std::string> out;
  for (const auto& [key, pool] : pools_)
    if (key.first == names_.sriov_driver)
      for (const auto& [name, entry] : pool.entries) out.insert(out.end(), name);
  return out;
}

bool Charges::awaits_pods(bool has_exposures) const {
  return is_look_open_ && (has_exposures || !look_since_ || ports_.scheduler.now() < *look_since_ + kLookMax);
}

bool Charges::is_sriov_doubted() const {
  return doubt_.is_of_sriov || std::any_of(pools_.begin(), pools_.end(), [&](const auto& one) {
           return one.first.first == names_.sriov_driver && has_unknown(one.second.entries);
         });
}

void Charges::decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools) {
  has_exposures_ = !decision.inputs->policies->exposures.empty();
  for (auto& [key, pool] : pools_)
    for (auto& [name, entry] : pool.entries) entry.claim.is_withdrawn = true;
  for (const auto& [name, claims] : decision.offered) {
    Pool& pool = pools_[{names_.exposure_driver, name}];
    for (const Holding& claim : claims) pool.entries.insert_or_assign(claim.entry, Entry{claim, {}});
  }
  for (const policy::DesiredPool& desired : sriov_pools) {
    Pool& pool = pools_[{names_.sriov_driver, desired.name}];
    for (const kube::Device& device : desired.devices) {
      const auto [at, fresh] = pool.entries.try_emplace(device.name);
      if (fresh) at->second.claim = policy::claim_of_function(device.name);
      at->second.claim.is_withdrawn = false;
      at->second.gone_since.reset();
    }
  }
  materialise_doubt(decision.doubted);
  for (auto& [key, pool] : pools_) pool.is_wanted = decision.wanted.contains(key.second);
  inventory_ = decision.inputs->inventory;
  if (decision.awaits_pods && !std::exchange(is_look_wanted_, true) && may_look()) begin_look();
  forget_gone(*inventory_);
  for (policy::DesiredPool& desired : sriov_pools) note_record(desired);
  arm();
}

// From now on it is an entry like others: recorded, and free when a list of claims has said what it was.
void Charges::materialise_doubt(const std::set<std::string>& pools) {
  const auto charge = [&](const PoolKey& key) {
    pools_[key].entries.try_emplace(std::string(policy::kUnknownEntry),
                                    Entry{policy::claim_of_unreadable(key.second), begun_});
  };
  for (const std::string& pool : pools) {
    charge({names_.exposure_driver, pool});
    doubt_.exposure.except.insert(pool);
  }
  if (has_exposures_ && std::exchange(doubt_.is_of_sriov, false)) charge({names_.sriov_driver, names_.node});
}

// With its function goes whatever was allocated of it. One that has not been seen since this process began
// may come still: after another boot they are made one by one.
void Charges::forget_gone(const hotplug::Inventory& inventory) {
  for (auto& [key, pool] : pools_) {
    for (auto& [name, entry] : pool.entries) {
      entry.was_seen |= !entry.claim.is_withdrawn || inventory.find(entry.claim.device) != nullptr;
      entry.claim.is_awaited = !entry.was_seen && entry.claim.device != policy::kAnyDevice;
    }
    std::erase_if(pool.entries, [&](const auto& one) {
      const Entry& entry = one.second;
      const bool is_gone = entry.was_seen && inventory.find(entry.claim.device) == nullptr;
      return entry.claim.is_withdrawn && (is_gone || entry.claim.device.empty());
    });
  }
}

void Charges::note_record(policy::DesiredPool& desired) const {
  std::vector<Holding> withdrawn;
  for (const auto& [name, entry] : pools_.at({desired.driver, desired.name}).entries)
    // Without the other kind's slices doubt needs no record (find_doubt).
    if (entry.claim.is_withdrawn && (has_exposures_ || !is_unknown(entry.claim)))
      withdrawn.push_back(entry.claim);
  if (!withdrawn.empty())
    desired.annotations.insert_or_assign(std::string(policy::kWithdrawnAnnotation),
                                         policy::encode_record(std::move(withdrawn), desired.name));
}

void Charges::acknowledged(const std::string& driver) {
  const TimePoint now = ports_.scheduler.now();
  for (auto& [key, pool] : pools_) {
    if (key.first != driver) continue;
    pool.released.clear();
    for (auto& [name, entry] : pool.entries)
      if (entry.claim.is_withdrawn && !entry.gone_since) entry.gone_since = now;
  }
  arm();
}

void Charges::permit(bool lists) {
  const bool is_news = lists && !is_permitted_;
  // Who waited for another daemon to end takes its records as they are.
  if (is_news)
    for (auto& [key, pool] : pools_) pool.released.clear();
  is_permitted_ = lists;
  if (is_news && is_look_open_ && is_look_wanted_) {
    begin_look();  // and what was decided for want of one waits again
    on_changed_();
  }
  if (lists) return arm();
  due_.reset();
  evidence_.stop();
}

bool Charges::waits(const PoolKey& key, const Pool& pool, const Entry& entry) const {
  if (!entry.gone_since || (key.first == names_.sriov_driver && !has_exposures_)) return false;
  if (is_unknown(entry.claim)) return pool.is_wanted;
  return !entry.claim.is_awaited || !entry.was_listed;
}

bool Charges::is_unknown_wanted() const {
  return std::any_of(pools_.begin(), pools_.end(), [&](const auto& one) {
    const auto& [key, pool] = one;
    const auto at = pool.entries.find(std::string(policy::kUnknownEntry));
    return at != pool.entries.end() && waits(key, pool, at->second);
  });
}

// When claims may be asked; nullopt: nothing waits for them. What was withdrawn, by whatever all nodes were
// told, waits for its jitter too.
std::optional<TimePoint> Charges::next_list() const {
  std::optional<TimePoint> unknown;
  bool is_any = false;
  for (const auto& [key, pool] : pools_)
    for (const auto& [name, entry] : pool.entries) {
      if (!waits(key, pool, entry)) continue;
      is_any = true;
      if (is_unknown(entry.claim))
        unknown = std::min(unknown.value_or(TimePoint::max()), *entry.gone_since + kGrace);
    }
  if (!is_any) return std::nullopt;
  const TimePoint now = ports_.scheduler.now();
  const auto jitter = Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kJitter.count()))};
  const TimePoint due = unknown ? std::max(*unknown, now) : now + kGrace + jitter;
  if (!listed_at_) return due;
  return std::max(due,
                  *listed_at_ + std::max(kInterval, evidence_.spread()) + (unknown ? Millis{0} : jitter));
}

void Charges::arm() {
  if (evidence_.is_busy()) return;
  if (!is_permitted_ && !(may_look() && is_look_due())) return;
  if ((!has_seen_pods_ && is_unknown_wanted()) || is_look_due()) {
    due_.reset();
    // A fleet of SriovResourcePolicies alone reads no more at once than its kubelets do.
    return evidence_.look_at_pods(!has_exposures_);
  }
  if (due_) return;
  if (const auto at = next_list()) list_after(*at - ports_.scheduler.now());
}

void Charges::list_after(Millis delay) {
  due_ = ports_.scheduler.after(delay, [this] {
    due_.reset();
    if (next_list()) evidence_.list_claims();
  });
}

void Charges::begin_look() {
  look_since_ = ports_.scheduler.now();
  look_late_ = ports_.scheduler.after(kLookMax, [this] {
    if (is_look_open_) on_changed_();
  });
}

bool Charges::is_looking() const {
  return is_look_open_ && look_since_ && ports_.scheduler.now() < *look_since_ + kLookMax;
}

bool Charges::is_look_due() const {
  return is_look_open_ && is_look_wanted_ &&
         (!look_not_before_ || *look_not_before_ <= ports_.scheduler.now());
}

void Charges::end_look(Evidence::Look look) {
  if (look != Evidence::Look::kFailed || ++failed_looks_ == kLooksMax) {
    is_look_open_ = false;
    return;
  }
  const Millis wait = look_backoff_.next(ports_.scheduler.now());
  look_not_before_ = ports_.scheduler.now() + wait;
  look_due_ = ports_.scheduler.after(wait, [this] { arm(); });
}

// Enough to charge, and not to free: a claim may be allocated before there is a pod.
void Charges::see_pods(const Allocations& allocated, Evidence::Look look) {
  has_seen_pods_ = true;
  size_t found_out = 0;
  for (const auto& [key, shared_by_name] : allocated) {
    const bool is_doubted = key.first == names_.exposure_driver && doubt_.exposure.is_of(key.second);
    const auto pool = pools_.find(key);
    if (!is_doubted && (pool == pools_.end() || !has_unknown(pool->second.entries))) continue;
    found_out += learn_allocated(key, pools_[key], shared_by_name, true);
    await_functions(key, shared_by_name);
  }
  const bool was_awaited = is_look_open_ && is_look_wanted_;
  if (is_look_open_) end_look(look);
  arm();
  tell(0, found_out, was_awaited && !is_look_open_);
}

void Charges::see_list(TimePoint begun, const Allocations& allocated) {
  listed_at_ = ports_.scheduler.now();
  backoff_.reset();
  told_.clear();
  const bool was_awaited = is_look_open_ && is_look_wanted_;
  const bool ends_doubt =
      begun_ && *begun_ + kGrace <= begun && (doubt_.exposure.is_any || doubt_.is_of_sriov);
  if (ends_doubt) {
    for (const auto& [key, shared_by_name] : allocated) {
      await_functions(key, shared_by_name);
      pools_[key];
    }
    doubt_ = {};
    is_look_open_ = false;
  }
  size_t released = 0, found_out = 0;
  for (auto& [key, pool] : pools_) {
    const auto found = allocated.find(key);
    const bool is_lost = ends_doubt || has_unknown(pool.entries);
    const auto is_allocated = [&](const std::string& name) {
      return found != allocated.end() && found->second.contains(name);
    };
    for (auto& [name, entry] : pool.entries) entry.was_listed = is_allocated(name);
    const auto is_free = [&](const auto& one) {
      const auto& [name, entry] = one;
      return entry.gone_since && *entry.gone_since + kGrace <= begun && !entry.was_listed;
    };
    for (const auto& one : pool.entries)
      if (is_free(one)) pool.released.insert(one.first);
    released += std::erase_if(pool.entries, is_free);
    if (found != allocated.end()) found_out += learn_allocated(key, pool, found->second, is_lost);
  }
  arm();
  tell(released, found_out, was_awaited && !is_look_open_);
}

// What is allocated of functions that are not there yet, as after another boot.
void Charges::await_functions(const PoolKey& key, const std::map<std::string, bool>& shared_by_name) {
  for (const auto& [name, is_shared] : shared_by_name) {
    const Holding claim = policy::claim_of_unknown(name);
    if (!claim.device.empty() && inventory_ != nullptr && inventory_->find(claim.device) == nullptr)
      awaited_[key].emplace(name, is_shared);
  }
}

// A record may have been lost with its slice. A link's name begins like that of another link, which may be
// gone: its entry is looked for only where a record was lost.
size_t Charges::learn_allocated(const PoolKey& key, Pool& pool,
                                const std::map<std::string, bool>& shared_by_name, bool is_lost) {
  size_t news = 0;
  for (const auto& [name, is_shared] : shared_by_name) {
    if (const auto known = pool.entries.find(name); known != pool.entries.end()) {
      // What is offered as the one was given away as the other: the next decision withdraws it.
      Holding& claim = known->second.claim;
      if (!claim.is_withdrawn) news += std::exchange(claim.is_exclusive, !is_shared) == is_shared;
      continue;
    }
    if (inventory_ == nullptr) continue;
    const bool is_of_links = is_lost && key.first == names_.exposure_driver;
    Holding claim =
        is_of_links ? policy::claim_of_unknown(name, *inventory_) : policy::claim_of_unknown(name);
    if (inventory_->find(claim.device) == nullptr) continue;
    claim.is_exclusive = !is_shared;
    pool.entries.emplace(name, Entry{std::move(claim), ports_.scheduler.now(), true});
    ++news;
  }
  return news;
}

void Charges::tell(size_t released, size_t found_out, bool is_looked) {
  if (released > 0) ports_.log.info("withdrawn devices are free", {{"devices", released}});
  if (found_out > 0)
    ports_.log.warning("devices are allocated that no record tells of; they are charged",
                       {{"devices", found_out}});
  if (released + found_out > 0 || is_looked) on_changed_();
}

void Charges::fail(const kube::Failure& failure) {
  listed_at_ = ports_.scheduler.now();
  has_seen_pods_ = true;  // or is not going to
  const bool is_denied = failure.code == Errc::kDenied;
  if (std::exchange(told_, failure.what) != failure.what)
    ports_.log.warning(
        "the ResourceClaims cannot be listed; what was withdrawn stays charged",
        {{"problem", failure.what},
         {"remedy", is_denied
                        ? "grant get and list on resourceclaims.resource.k8s.io (config/deploy/rbac.yaml)"
                        : "none; it is tried again"}});
  // Being refused costs the server next to nothing, and it ends when somebody grants the permission, who then
  // wants to see devices come back.
  const Millis soon(static_cast<int64_t>((0.5 + ports_.random()) * static_cast<double>(kInterval.count())));
  if (next_list()) list_after(is_denied ? soon : backoff_.next(ports_.scheduler.now()));
  if (is_look_due()) arm();
}

}  // namespace sliced::publishers
