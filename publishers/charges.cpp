#include "publishers/charges.h"

#include <algorithm>
#include <utility>

#include "kube/kinds.h"
#include "policy/exposure/withdrawn.h"

namespace sliced::publishers {
namespace {

using policy::PersonaClaim;

constexpr size_t kClaimBytesMax = size_t{1} << 30;  // a third of a million claims; looked at one by one

constexpr reactor::BackoffPolicy kListBackoff{
    .initial = Charges::kInterval, .factor = 2.0, .cap = Charges::kSpreadMax, .jitter = 0.5};

// resource.k8s.io/v1 DeviceRequestAllocationResult, as far as it matters here.
struct Allocated {
  std::string_view driver, pool, device;
  bool is_shared = false;
  bool is_admin = false;  // looks on, and holds nothing
};

void visit_results(const kube::Json& claim, const std::function<void(const Allocated&)>& visit) {
  const kube::Json* at = &claim;
  for (const char* key : {"status", "allocation", "devices", "results"})
    if (at != nullptr) at = at->find(key);
  if (at == nullptr || at->array() == nullptr) return;
  for (const kube::Json& one : *at->array()) {
    const kube::Json* admin = one.find("adminAccess");
    visit({one.text("driver"), one.text("pool"), one.text("device"), !one.text("shareID").empty(),
           admin != nullptr && *admin == kube::Json(true)});
  }
}

}  // namespace

Charges::Charges(Ports ports, std::string sriov_driver, std::string exposure_driver,
                 std::function<void()> on_changed)
    : ports_(std::move(ports)),
      sriov_driver_(std::move(sriov_driver)),
      exposure_driver_(std::move(exposure_driver)),
      on_changed_(std::move(on_changed)),
      backoff_(ports_.random, kListBackoff) {}

bool Charges::learn(const kube::ResourceSlice& slice) {
  if (slice.driver != sriov_driver_ && slice.driver != exposure_driver_) return false;
  bool is_news = false;
  Pool& pool = pools_[{slice.driver, slice.pool.name}];
  for (const kube::Device& device : slice.devices) {
    const auto [at, fresh] = pool.entries.try_emplace(device.name);
    at->second.gone_since.reset();
    if (!fresh) continue;
    at->second.claim = slice.driver == sriov_driver_ ? policy::claim_of_function(device.name)
                                                     : policy::claim_of_entry(device, exposure_driver_);
    is_news = true;
  }
  const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
  if (record == slice.meta.annotations.end()) return is_news;
  auto claims = policy::decode_withdrawn(record->second);
  if (!claims) {
    const std::string text = slice.meta.name + ": " + claims.error().what;
    if (std::exchange(told_record_, text) != text)
      ports_.log.error(
          "the record of withdrawn devices cannot be understood; whatever it may have named is charged until "
          "the ResourceClaims tell",
          {{"problem", text}});
    claims = std::vector{policy::claim_of_unreadable(slice.pool.name)};
  }
  for (PersonaClaim& claim : *claims) {
    if (pool.released.contains(claim.entry)) continue;
    const std::string name = claim.entry;
    is_news |= pool.entries.try_emplace(name, Entry{std::move(claim), {}}).second;
  }
  return is_news;
}

std::map<std::string, std::vector<PersonaClaim>> Charges::held() const {
  std::map<std::string, std::vector<PersonaClaim>> out;
  for (const auto& [key, pool] : pools_) {
    if (key.first != exposure_driver_ || pool.entries.empty()) continue;
    auto& claims = out[key.second];
    for (const auto& [name, entry] : pool.entries) claims.push_back(entry.claim);
  }
  return out;
}

bool Charges::is_any_charged(const Pool& pool) {
  return std::any_of(pool.entries.begin(), pool.entries.end(),
                     [](const auto& one) { return one.second.claim.device == policy::kAnyDevice; });
}

std::set<std::string> Charges::sriov_held(const hotplug::Inventory& inventory) const {
  std::set<std::string> out;
  for (const auto& [key, pool] : pools_) {
    if (key.first != sriov_driver_) continue;
    for (const auto& [name, entry] : pool.entries) out.insert(name);
    if (!is_any_charged(pool)) continue;
    for (const auto& [id, device] : inventory.devices)
      if (device.type == hotplug::DeviceType::kVf && device.pci) out.insert(device.pci->dashed());
  }
  return out;
}

void Charges::decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools) {
  has_exposures_ = !decision.inputs->policies->exposures.empty();
  for (auto& [key, pool] : pools_)
    for (auto& [name, entry] : pool.entries) entry.claim.is_withdrawn = true;
  for (const auto& [name, claims] : decision.claims) {
    Pool& pool = pools_[{exposure_driver_, name}];
    for (const PersonaClaim& claim : claims) pool.entries.insert_or_assign(claim.entry, Entry{claim, {}});
  }
  for (const policy::DesiredPool& desired : sriov_pools) {
    Pool& pool = pools_[{sriov_driver_, desired.name}];
    for (const kube::Device& device : desired.devices) {
      const auto [at, fresh] = pool.entries.try_emplace(device.name);
      if (fresh) at->second.claim = policy::claim_of_function(device.name);
      at->second.claim.is_withdrawn = false;
      at->second.gone_since.reset();
    }
  }
  inventory_ = decision.inputs->inventory;
  forget_gone(*inventory_);
  for (policy::DesiredPool& desired : sriov_pools) note_record(desired);
}

// With its function goes whatever was allocated of it.
void Charges::forget_gone(const hotplug::Inventory& inventory) {
  for (auto& [key, pool] : pools_)
    std::erase_if(pool.entries, [&](const auto& one) {
      const PersonaClaim& claim = one.second.claim;
      return claim.is_withdrawn && claim.device != policy::kAnyDevice &&
             inventory.find(claim.device) == nullptr;
    });
}

void Charges::note_record(policy::DesiredPool& desired) const {
  std::vector<PersonaClaim> withdrawn;
  for (const auto& [name, entry] : pools_.at({desired.driver, desired.name}).entries)
    if (entry.claim.is_withdrawn) withdrawn.push_back(entry.claim);
  if (!withdrawn.empty())
    desired.annotations.insert_or_assign(std::string(policy::kWithdrawnAnnotation),
                                         policy::encode_withdrawn(std::move(withdrawn)));
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
  // Who waited for another daemon to end takes its records as they are.
  if (lists && !is_permitted_)
    for (auto& [key, pool] : pools_) pool.released.clear();
  is_permitted_ = lists;
  if (lists) return arm();
  due_.reset();
  call_.reset();
  listing_.reset();
}

bool Charges::is_waiting() const {
  return std::any_of(pools_.begin(), pools_.end(), [&](const auto& pool) {
    if (pool.first.first == sriov_driver_ && !has_exposures_) return false;
    return std::any_of(pool.second.entries.begin(), pool.second.entries.end(),
                       [](const auto& one) { return one.second.gone_since.has_value(); });
  });
}

void Charges::arm() {
  if (!is_permitted_ || due_ || call_ || !is_waiting()) return;
  const auto jitter = Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kJitter.count()))};
  const TimePoint now = ports_.scheduler.now();
  Millis delay = kGrace;
  if (listed_at_) delay = std::max(delay, *listed_at_ + kInterval - now);
  arm(delay + jitter, &Charges::count_claims);
}

void Charges::arm(Millis delay, void (Charges::*next)()) {
  due_ = ports_.scheduler.after(delay, [this, next] {
    due_.reset();
    (this->*next)();
  });
}

// How many claims there are tells how many nodes there may be, which all withdrew at once when a policy of
// all of them changed.
void Charges::count_claims() {
  if (!is_waiting()) return;
  auto count = std::make_shared<int64_t>(0);
  call_ = ports_.cluster.list(
      {.scope = {.resource = kube::kResourceClaims, .metadata_only = true},
       .limit = 1,
       .first_page_only = true},
      {.on_item = [count](std::string_view) { ++*count; },
       .on_done =
           [this, count](const std::string&) {
             call_.reset();
             const Millis spread = std::min(kSpreadMax, Millis{*count * 1000 / kClaimsPerSecond});
             arm(Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(spread.count()))},
                 &Charges::list_claims);
           },
       .on_failure = [this](const kube::Failure& failure) { fail(failure); },
       .on_remaining = [count](int64_t items) { *count += items; }});
}

void Charges::list_claims() {
  listing_.emplace(Listing{ports_.scheduler.now(), {}, ""});
  call_ = ports_.cluster.list({.scope = {.resource = kube::kResourceClaims}, .bytes_max = kClaimBytesMax},
                              {.on_item = [this](std::string_view object) { note_claim(object); },
                               .on_done = [this](const std::string&) { finish_list(); },
                               .on_failure = [this](const kube::Failure& failure) { fail(failure); }});
}

void Charges::note_claim(std::string_view object) {
  const auto json = kube::decode_json(object);
  if (!json) {
    listing_->problem = json.error().what;
    return;
  }
  visit_results(*json, [&](const Allocated& result) {
    if (result.is_admin || (result.driver != exposure_driver_ && result.driver != sriov_driver_)) return;
    const PoolKey key(result.driver, result.pool);
    if (pools_.contains(key)) listing_->allocated[key].emplace(result.device, result.is_shared);
  });
}

void Charges::finish_list() {
  call_.reset();
  const Listing listing = std::move(*listing_);
  listing_.reset();
  if (!listing.problem.empty())
    return fail({.what = "a ResourceClaim cannot be understood: " + listing.problem});
  listed_at_ = ports_.scheduler.now();
  backoff_.reset();
  told_.clear();
  release(listing);
}

void Charges::release(const Listing& listing) {
  size_t released = 0, found_out = 0;
  for (auto& [key, pool] : pools_) {
    const auto found = listing.allocated.find(key);
    const bool is_any = is_any_charged(pool);
    const auto is_free = [&](const auto& one) {
      const auto& [name, entry] = one;
      return entry.gone_since && *entry.gone_since + kGrace <= listing.begun &&
             (found == listing.allocated.end() || !found->second.contains(name));
    };
    for (const auto& one : pool.entries)
      if (is_free(one)) pool.released.insert(one.first);
    released += std::erase_if(pool.entries, is_free);
    if (found != listing.allocated.end()) found_out += learn_allocated(pool, found->second, is_any);
  }
  arm();
  if (released > 0) ports_.log.info("withdrawn devices are free", {{"devices", released}});
  if (found_out > 0)
    ports_.log.warning("devices are allocated that no record tells of; they are charged",
                       {{"devices", found_out}});
  if (released + found_out > 0) on_changed_();
}

// A record may have been lost with its slice. A link's name begins like that of another link, which may be
// gone: its entry is looked for only where a record was lost.
size_t Charges::learn_allocated(Pool& pool, const std::map<std::string, bool>& shared_by_name,
                                bool of_links) {
  size_t news = 0;
  for (const auto& [name, is_shared] : shared_by_name) {
    if (inventory_ == nullptr || pool.entries.contains(name)) continue;
    PersonaClaim claim =
        of_links ? policy::claim_of_unknown(name, *inventory_) : policy::claim_of_unknown(name);
    if (inventory_->find(claim.device) == nullptr) continue;
    claim.is_exclusive = !is_shared;
    pool.entries.emplace(name, Entry{std::move(claim), ports_.scheduler.now()});
    ++news;
  }
  return news;
}

void Charges::fail(const kube::Failure& failure) {
  call_.reset();
  listing_.reset();
  listed_at_ = ports_.scheduler.now();
  if (std::exchange(told_, failure.what) != failure.what)
    ports_.log.warning("the ResourceClaims cannot be listed; what was withdrawn stays charged",
                       {{"problem", failure.what}});
  if (!is_waiting()) return;
  // Being refused costs the server next to nothing, and it ends when somebody grants the permission, who then
  // wants to see devices come back.
  const Millis soon(static_cast<int64_t>((0.5 + ports_.random()) * static_cast<double>(kInterval.count())));
  arm(failure.code == Errc::kDenied ? soon : backoff_.next(ports_.scheduler.now()), &Charges::count_claims);
}

}  // namespace sliced::publishers
