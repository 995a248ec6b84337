#include "publishers/reservations.h"

#include <algorithm>
#include <utility>

#include "policy/identity.h"
#include "publishers/diff_pool.h"

namespace sliced::publishers {
namespace {

constexpr reactor::BackoffPolicy kListBackoff{
    .initial = Reservations::kInterval, .factor = 2.0, .cap = Reservations::kRetryMax, .jitter = 0.5};

// An entry has 1.6 KB, and is transferred three times: the write, its answer and the watch event.
constexpr double kEntryBytes = 5 << 10;

// Returns true if a scheduler could allocate an entry of the pool while nothing of it is allocated.
bool offers_any(const policy::DesiredPool& pool) {
  const auto is_left = [&](const kube::CounterConsumption& wanted) {
    const auto set = std::find_if(pool.counters.begin(), pool.counters.end(),
                                  [&](const auto& one) { return one.name == wanted.counter_set; });
    return set != pool.counters.end() && std::ranges::all_of(wanted.counters, [&](const auto& one) {
             const auto total = set->counters.find(one.first);
             return total != set->counters.end() && total->second.nanos() >= one.second.nanos();
           });
  };
  return std::ranges::any_of(pool.devices, [&](const kube::Device& device) {
    return std::ranges::all_of(device.consumes_counters, is_left);
  });
}

}  // namespace

Reservations::Reservations(kube::ClusterPorts ports, policy::Ledger::Names names,
                           std::function<void()> on_changed, std::function<void()> on_delay)
    : ports_(std::move(ports)),
      names_(std::move(names)),
      on_changed_(std::move(on_changed)),
      on_turn_(std::move(on_delay)),
      ledger_(names_),
      pod_poll_(ports_.scheduler, ports_.random, on_changed_, [this] { arm(); }),
      evidence_(ports_, {names_.sriov_driver, names_.exposure_driver}, names_.node,
                {.on_delay =
                     [this](Millis wait) {
                       if (!has_exposures_) pod_poll_.postpone(wait);
                       choose_turn(wait);
                     },
                 .on_pods = [this](policy::PodClaims seen,
                                   EvidenceSource::Coverage coverage) { on_pods(std::move(seen), coverage); },
                 .on_list = [this](policy::ClaimList list) { on_list(std::move(list)); },
                 .on_failure = [this](const kube::Failure& failure) { fail(failure); }}),
      claim_reads_(ports_, ledger_, [this](const policy::ClaimRead& seen) { on_claim(seen); }),
      backoff_(ports_.random, kListBackoff) {}

void Reservations::begin(policy::UnverifiedRecords unverified, bool was_possible) {
  if (std::exchange(has_begun_, true)) return;
  if (unverified.exposure.is_any && was_possible) pod_poll_.open();
  may_await_turn_ = unverified.exposure.is_any;
  ledger_.begin(std::move(unverified), ports_.scheduler.now());
}

bool Reservations::learn(const kube::ResourceSlice& slice) {
  const policy::Ledger::Learned learned = ledger_.learn(slice);
  if (learned.is_overfull)
    ports_.log.error(
        "too many device names in ResourceSlices of this node: the whole pool is reserved until a list of all "
        "ResourceClaims shows which devices are allocated",
        {{"pool", slice.pool.name},
         {"remedy", "find out which other program writes the ResourceSlices of this node"}});
  if (!learned.problem.empty() && last_record_problem_.is_new(slice.meta.name + ": " + learned.problem))
    ports_.log.error(
        "invalid annotation dra.networking/withdrawn: the whole pool is reserved until a list of all "
        "ResourceClaims shows which devices are allocated",
        {{"problem", last_record_problem_.text()}});
  if (is_unreadable(slice) &&
      last_slice_problem_.is_new(slice.meta.name + ": " + slice.unknown_fields.back()))
    ports_.log.error(
        "invalid ResourceSlice of this node: its readable devices are reserved, and the slice is replaced",
        {{"problem", last_slice_problem_.text()}});
  return learned.is_new;
}

void Reservations::find_awaited(const hotplug::Inventory& inventory) {
  ledger_.find_awaited(inventory, ports_.scheduler.now());
}

void Reservations::take(const policy::Prepared& prepared) {
  const bool is_new = ledger_.take(prepared, ports_.scheduler.now()).newly_found > 0;
  const policy::Holding* holding = ledger_.find(prepared.pool, prepared.entry);
  if (holding != nullptr && holding->is_withdrawn) arm();
  if (is_new) callbacks_.run(on_changed_);
}

void Reservations::take(const policy::Unprepared& unprepared) {
  ledger_.take(unprepared);
  arm();
}

void Reservations::decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools,
                           std::vector<policy::DesiredPool>& exposure_pools) {
  has_exposures_ = !decision.inputs->policies->exposures.empty();
  std::map<std::string, std::vector<std::string>> sriov;
  for (const policy::DesiredPool& desired : sriov_pools)
    for (const kube::Device& device : desired.devices) sriov[desired.name].push_back(device.name);
  const std::string links = policy::exposure_pool_name(names_.node, {});
  const bool has_link_slice = std::any_of(exposure_pools.begin(), exposure_pools.end(),
                                          [&](const policy::DesiredPool& one) { return one.name == links; });
  ledger_.decided({.offered = decision.offered,
                   .contested = decision.contested,
                   .sriov = sriov,
                   .unverified = decision.unverified,
                   .wanted = decision.wanted,
                   .inventory = decision.inputs->inventory,
                   .has_exposures = has_exposures_,
                   .has_link_slice = has_link_slice});
  for (auto* pools : {&sriov_pools, &exposure_pools})
    for (policy::DesiredPool& desired : *pools) {
      desired.record = ledger_.record({desired.driver, desired.name});
      if (desired.can_count) desired.groups = ledger_.groups({desired.driver, desired.name});
    }
  note_urgency(exposure_pools);
  if (decision.awaits_pod_claims && pod_poll_.request() && may_poll()) pod_poll_.begin();
  arm();
}

void Reservations::acknowledged(const std::string& driver, const std::set<std::string>& but) {
  ledger_.acknowledged(driver, but, ports_.scheduler.now());
  arm();
}

bool Reservations::confirm_gone(const hotplug::InventoryPtr& inventory) {
  const bool is_decision_due = ledger_.confirm_gone(inventory);
  arm();
  return is_decision_due;
}

void Reservations::permit(bool lists) {
  const bool is_new = lists && !is_permitted_;
  is_permitted_ = lists;
  ledger_.set_writing(lists);
  if (is_new && pod_poll_.is_requested()) {
    pod_poll_.begin();  // decisions wait for it again
    callbacks_.run(on_changed_);
  }
  if (lists) return arm();
  due_.reset();
  turn_.reset();
  evidence_.stop();
  claim_reads_.stop();
}

// Entries that can be allocated are published immediately.
void Reservations::note_urgency(const std::vector<policy::DesiredPool>& exposure_pools) {
  if (std::any_of(exposure_pools.begin(), exposure_pools.end(), offers_any)) {
    may_await_turn_ = false;
    return end_turn();
  }
  size_t entries = 0;
  for (const policy::DesiredPool& desired : exposure_pools) entries += desired.devices.size();
  if (entries == 0) return;
  first_bytes_ = static_cast<double>(entries) * kEntryBytes;
  awaits_turn_ |= std::exchange(may_await_turn_, false) && !has_read_pods_ && is_unknown_requested();
}

// The delay before the pods are read is uniform over the time that the pods of all nodes take. The same part
// of the time that the slices of all nodes take is this node's turn.
void Reservations::choose_turn(Millis until_pods) {
  may_await_turn_ = false;
  if (!awaits_turn_) return;
  const double part = std::min(1.0, first_bytes_ / EvidenceSource::kPodBytes);
  turn_ = ports_.scheduler.after(Millis{static_cast<int64_t>(static_cast<double>(until_pods.count()) * part)},
                                 [this] { end_turn(); });
}

void Reservations::end_turn() {
  turn_.reset();
  if (std::exchange(awaits_turn_, false) && on_turn_) callbacks_.run(on_turn_);
}

bool Reservations::is_unknown_requested() const {
  const auto need = ledger_.need();
  return need && need->unknown_from;
}

// Returns when claims may be listed; nullopt: no device waits for a list. A policy of all nodes withdraws
// everywhere at the same time, so that lists for withdrawn devices have a jitter.
std::optional<TimePoint> Reservations::next_list() const {
  const auto need = ledger_.need();
  if (!need) return std::nullopt;
  const TimePoint now = ports_.scheduler.now();
  const auto jitter = Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kJitter.count()))};
  const bool is_unknown = need->unknown_from.has_value();
  const TimePoint due =
      is_unknown ? std::max(*need->unknown_from, now) : now + policy::Ledger::kGrace + jitter;
  if (!listed_at_) return due;
  return std::max(due,
                  *listed_at_ + std::max(kInterval, evidence_.spread()) + (is_unknown ? Millis{0} : jitter));
}

void Reservations::arm() {
  if (is_permitted_) claim_reads_.arm();
  if (is_permitted_ && awaits_turn_ && !turn_)
    turn_ = ports_.scheduler.after(kTurnMax, [this] { end_turn(); });
  if (evidence_.is_busy()) return;
  if (!is_permitted_ && !(may_poll() && pod_poll_.is_due())) return;
  if ((!has_read_pods_ && is_unknown_requested()) || pod_poll_.is_due()) {
    due_.reset();
    // A command runs on one node, so that it needs no random delay.
    return evidence_.read_pods(!is_permitted_);
  }
  if (due_) return;
  if (const auto at = next_list()) list_after(*at - ports_.scheduler.now());
}

void Reservations::list_after(Millis delay) {
  due_ = ports_.scheduler.after(delay, [this] {
    due_.reset();
    if (next_list()) evidence_.list_claims();
  });
}

// Pods show allocations and free nothing: a claim may be allocated before its pod exists.
void Reservations::on_pods(policy::PodClaims seen, EvidenceSource::Coverage coverage) {
  has_read_pods_ = true;
  end_turn();
  const auto change = ledger_.take(seen, ports_.scheduler.now());
  const bool was_wanted = pod_poll_.is_requested();
  pod_poll_.end(coverage);
  arm();
  report(change, was_wanted && !pod_poll_.is_requested());
}

void Reservations::on_claim(const policy::ClaimRead& seen) {
  const bool is_free = ledger_.take(seen).released > 0;
  arm();
  if (!is_free) return;
  ports_.log.info("withdrawn device released: its ResourceClaim is deallocated",
                  {{"pool", seen.pool.second}, {"device", seen.entry}});
  callbacks_.run(on_changed_);
}

void Reservations::on_list(policy::ClaimList list) {
  listed_at_ = ports_.scheduler.now();
  end_turn();
  backoff_.reset();
  last_failure_.forget();
  const bool was_wanted = pod_poll_.is_requested();
  const auto change = ledger_.take(list, ports_.scheduler.now());
  if (change.ends_unverified) pod_poll_.close();
  arm();
  report(change, was_wanted && !pod_poll_.is_requested());
}

void Reservations::report(const policy::Ledger::Change& change, bool is_polled) {
  if (change.released > 0)
    ports_.log.info("withdrawn devices released: no ResourceClaim has them", {{"devices", change.released}});
  if (change.newly_found > 0)
    ports_.log.warning("unrecorded allocations found: the devices are reserved",
                       {{"devices", change.newly_found}});
  if (change.contested > 0)
    ports_.log.warning(
        "allocations exclude each other: the offered devices are withdrawn until one of them ends",
        {{"devices", change.contested}});
  if (change.released + change.newly_found + change.contested > 0 || is_polled) callbacks_.run(on_changed_);
}

void Reservations::fail(const kube::Failure& failure) {
  listed_at_ = ports_.scheduler.now();
  has_read_pods_ = true;  // reading them failed
  end_turn();
  const bool is_denied = failure.code == Errc::kDenied;
  if (last_failure_.is_new(failure.what))
    ports_.log.warning(
        "ResourceClaims cannot be listed: withdrawn devices stay reserved",
        {{"problem", failure.what},
         {"remedy", is_denied
                        ? "grant get and list on resourceclaims.resource.k8s.io (config/deploy/rbac.yaml)"
                        : "none; the request is repeated"}});
  // A refused request costs the server little, and devices return soon after an administrator grants the
  // permission.
  const Millis soon(static_cast<int64_t>((0.5 + ports_.random()) * static_cast<double>(kInterval.count())));
  if (ledger_.need()) list_after(is_denied ? soon : backoff_.next(ports_.scheduler.now()));
  if (pod_poll_.is_due()) arm();
}

}  // namespace sliced::publishers
