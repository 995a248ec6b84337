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
  bool is_admin = false;  // looks on, and holds nothing
};

void visit_results(const kube::Json& claim, const std::function<void(const Allocated&)>& visit) {
  const kube::Json* at = &claim;
  for (const char* key : {"status", "allocation", "devices", "results"})
    if (at != nullptr) at = at->find(key);
  if (at == nullptr || at->array() == nullptr) return;
  for (const kube::Json& one : *at->array()) {
    const kube::Json* admin = one.find("adminAccess");
    visit({one.text("driver"), one.text("pool"), one.text("device"),
           admin != nullptr && *admin == kube::Json(true)});
  }
}

}  // namespace

Charges::Charges(Ports ports, std::string sriov_driver, std::string exposure_driver,
                 std::function<void()> on_released)
    : ports_(std::move(ports)),
      sriov_driver_(std::move(sriov_driver)),
      exposure_driver_(std::move(exposure_driver)),
      on_released_(std::move(on_released)),
      backoff_(ports_.random, kListBackoff) {}

bool Charges::learn(const kube::ResourceSlice& slice) {
  bool is_news = false;
  const bool is_sriov = slice.driver == sriov_driver_;
  const auto add = [&](PersonaClaim claim, bool is_withdrawn) {
    if (is_sriov) {
      is_news |= !sriov_released_.contains(claim.entry) && sriov_.names.insert(claim.entry).second;
      return;
    }
    EntryKey key{slice.pool.name, claim.entry};
    if (is_withdrawn && released_.contains(key)) return;
    is_news |= entries_.try_emplace(std::move(key), Entry{std::move(claim), is_withdrawn, {}}).second;
  };
  if (!is_sriov)
    for (const kube::Device& device : slice.devices)
      add(policy::claim_of_entry(device, exposure_driver_), false);
  const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
  if (record == slice.meta.annotations.end()) return is_news;
  auto claims = policy::decode_withdrawn(record->second);
  if (!claims) {
    const std::string text = slice.meta.name + ": " + claims.error().what;
    if (std::exchange(told_record_, text) != text)
      ports_.log.error(
          "the record of withdrawn devices cannot be understood, so they are not charged any more",
          {{"problem", text}});
    return is_news;
  }
  for (PersonaClaim& claim : *claims) add(std::move(claim), true);
  return is_news;
}

std::map<std::string, std::vector<PersonaClaim>> Charges::held() const {
  std::map<std::string, std::vector<PersonaClaim>> out;
  for (const auto& [key, entry] : entries_) out[key.first].push_back(entry.claim);
  return out;
}

void Charges::decided(const policy::Decision& decision, const std::vector<std::string>& sriov_gone,
                      std::vector<policy::DesiredPool>& sriov_pools) {
  has_exposures_ = !decision.inputs->policies->exposures.empty();
  decide_exposures(decision);
  if (!sriov_pools.empty()) sriov_pool_ = sriov_pools.front().name;
  decide_sriov(decision, sriov_gone);
  for (const policy::DesiredPool& pool : sriov_pools)
    for (const kube::Device& device : pool.devices)
      if (sriov_.names.erase(device.name) > 0) {
        sriov_.gone_since.erase(device.name);
        sriov_released_.insert(device.name);
      }
  if (sriov_.names.empty()) return;
  std::vector<PersonaClaim> claims;
  for (const std::string& name : sriov_.names) claims.push_back(policy::claim_of_function(name));
  for (policy::DesiredPool& pool : sriov_pools)
    pool.annotations.insert_or_assign(std::string(policy::kWithdrawnAnnotation),
                                      policy::encode_withdrawn(claims));
}

void Charges::decide_exposures(const policy::Decision& decision) {
  std::set<EntryKey> offered;
  for (const auto& [pool, claims] : decision.claims)
    for (const PersonaClaim& claim : claims) {
      const auto key = offered.insert({pool, claim.entry}).first;
      entries_.insert_or_assign(*key, Entry{claim, false, {}});
      if (is_permitted_) released_.insert(*key);
    }
  for (auto& [key, entry] : entries_) entry.is_withdrawn = !offered.contains(key);
  std::erase_if(entries_, [&](const auto& one) {
    const Entry& entry = one.second;
    return entry.is_withdrawn && decision.inputs->inventory->find(entry.claim.device) == nullptr;
  });
}

void Charges::decide_sriov(const policy::Decision& decision, const std::vector<std::string>& gone) {
  for (const std::string& name : gone) sriov_.names.insert(name);
  std::erase_if(sriov_.names, [&](const std::string& name) {
    const bool is_gone = decision.inputs->inventory->find(policy::claim_of_function(name).device) == nullptr;
    if (is_gone) sriov_.gone_since.erase(name);
    return is_gone;
  });
}

void Charges::acknowledged(const std::string& driver) {
  const TimePoint now = ports_.scheduler.now();
  if (driver == sriov_driver_) {
    sriov_released_.clear();
    for (const std::string& name : sriov_.names) sriov_.gone_since.try_emplace(name, now);
  } else {
    released_.clear();
    for (auto& [key, entry] : entries_)
      if (entry.is_withdrawn && !entry.gone_since) entry.gone_since = now;
  }
  arm();
}

void Charges::permit(bool lists) {
  // Who waited for another daemon to end takes its records as they are.
  if (lists && !is_permitted_) {
    released_.clear();
    sriov_released_.clear();
  }
  is_permitted_ = lists;
  if (lists) return arm();
  due_.reset();
  call_.reset();
  listing_.reset();
}

bool Charges::is_waiting() const {
  if (has_exposures_ && !sriov_.gone_since.empty()) return true;
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& one) { return one.second.gone_since.has_value(); });
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
  listing_.emplace(Listing{ports_.scheduler.now(), {}, {}, ""});
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
    if (result.is_admin) return;
    if (result.driver == exposure_driver_)
      listing_->allocated.emplace(result.pool, result.device);
    else if (result.driver == sriov_driver_)
      listing_->sriov_allocated.emplace(std::string(result.pool) + "/" + std::string(result.device));
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
  const auto is_free = [&](std::optional<TimePoint> gone_since, bool is_allocated) {
    return !is_allocated && gone_since && *gone_since + kGrace <= listing.begun;
  };
  size_t released = std::erase_if(entries_, [&](const auto& one) {
    const auto& [key, entry] = one;
    if (!is_free(entry.gone_since, listing.allocated.contains(key))) return false;
    released_.insert(key);
    return true;
  });
  released += std::erase_if(sriov_.names, [&](const std::string& name) {
    const auto at = sriov_.gone_since.find(name);
    const bool is_allocated = listing.sriov_allocated.contains(sriov_pool_ + "/" + name);
    if (at == sriov_.gone_since.end() || !is_free(at->second, is_allocated)) return false;
    sriov_.gone_since.erase(at);
    sriov_released_.insert(name);
    return true;
  });
  arm();
  if (released == 0) return;
  ports_.log.info("withdrawn devices are free", {{"devices", released}});
  on_released_();
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
