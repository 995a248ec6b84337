#include "publishers/charges.h"

#include <algorithm>
#include <utility>

#include "policy/identity.h"
#include "publishers/diff_pool.h"

namespace sliced::publishers {
namespace {

constexpr reactor::BackoffPolicy kListBackoff{
    .initial = Charges::kInterval, .factor = 2.0, .cap = Charges::kRetryMax, .jitter = 0.5};

}  // namespace

Charges::Charges(kube::Ports ports, policy::Ledger::Names names, std::function<void()> on_changed)
    : ports_(std::move(ports)),
      names_(std::move(names)),
      on_changed_(std::move(on_changed)),
      ledger_(names_),
      look_(ports_.scheduler, ports_.random, on_changed_, [this] { arm(); }),
      evidence_(
          ports_, {names_.sriov_driver, names_.exposure_driver}, names_.node,
          {.on_turn =
               [this](Millis wait) {
                 if (!has_exposures_) look_.postpone(wait);
               },
           .on_pods = [this](policy::Sighting seen, Evidence::Look look) { see_pods(std::move(seen), look); },
           .on_list = [this](policy::Census census) { see_list(std::move(census)); },
           .on_failure = [this](const kube::Failure& failure) { fail(failure); }}),
      claims_(ports_, ledger_, [this](const policy::Glimpse& seen) { see_claim(seen); }),
      backoff_(ports_.random, kListBackoff) {}

void Charges::begin(policy::RecordDoubt doubt, bool was_possible) {
  if (std::exchange(has_begun_, true)) return;
  if (doubt.exposure.is_any && was_possible) look_.open();
  ledger_.begin(std::move(doubt), ports_.scheduler.now());
}

bool Charges::learn(const kube::ResourceSlice& slice) {
  const policy::Ledger::Learned learned = ledger_.learn(slice);
  if (learned.is_overfull)
    ports_.log.error(
        "slices of ours have named more devices than a node can have; the pool is charged as a whole until "
        "the ResourceClaims tell",
        {{"pool", slice.pool.name}, {"remedy", "find out who else writes the ResourceSlices of this node"}});
  if (!learned.problem.empty() && told_record_.is_new(slice.meta.name + ": " + learned.problem))
    ports_.log.error(
        "the record of withdrawn devices in a slice of ours cannot be understood; whatever it may have named "
        "is charged until the ResourceClaims tell",
        {{"problem", told_record_.text()}});
  if (is_unreadable(slice) && told_slice_.is_new(slice.meta.name + ": " + slice.unknown_fields.back()))
    ports_.log.error(
        "a slice of ours cannot be understood; what can be read of it is charged, and it is replaced",
        {{"problem", told_slice_.text()}});
  return learned.is_new;
}

void Charges::find_awaited(const hotplug::Inventory& inventory) {
  ledger_.find_awaited(inventory, ports_.scheduler.now());
}

void Charges::take(const policy::Prepared& prepared) {
  const bool is_new = ledger_.take(prepared, ports_.scheduler.now()).found_out > 0;
  const policy::Holding* holding = ledger_.find(prepared.pool, prepared.entry);
  if (holding != nullptr && holding->is_withdrawn) arm();
  if (is_new) callbacks_.run(on_changed_);
}

void Charges::take(const policy::Unprepared& unprepared) {
  ledger_.take(unprepared);
  arm();
}

void Charges::decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools,
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
                   .doubted = decision.doubted,
                   .wanted = decision.wanted,
                   .inventory = decision.inputs->inventory,
                   .has_exposures = has_exposures_,
                   .has_link_slice = has_link_slice});
  for (auto* pools : {&sriov_pools, &exposure_pools})
    for (policy::DesiredPool& desired : *pools) {
      desired.record = ledger_.record({desired.driver, desired.name});
      if (desired.can_count) desired.groups = ledger_.groups({desired.driver, desired.name});
    }
  if (decision.awaits_pods && look_.want() && may_look()) look_.begin();
  arm();
}

void Charges::acknowledged(const std::string& driver, const std::set<std::string>& but) {
  ledger_.acknowledged(driver, but, ports_.scheduler.now());
  arm();
}

void Charges::permit(bool lists) {
  const bool is_new = lists && !is_permitted_;
  is_permitted_ = lists;
  ledger_.set_writing(lists);
  if (is_new && look_.is_wanted()) {
    look_.begin();  // and what was decided for want of one waits again
    callbacks_.run(on_changed_);
  }
  if (lists) return arm();
  due_.reset();
  evidence_.stop();
  claims_.stop();
}

bool Charges::is_unknown_wanted() const {
  const auto need = ledger_.need();
  return need && need->unknown_from;
}

// When claims may be asked; nullopt: nothing waits for them. What was withdrawn, by whatever all nodes were
// told, waits for its jitter too.
std::optional<TimePoint> Charges::next_list() const {
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

void Charges::arm() {
  if (is_permitted_) claims_.arm();
  if (evidence_.is_busy()) return;
  if (!is_permitted_ && !(may_look() && look_.is_due())) return;
  if ((!has_seen_pods_ && is_unknown_wanted()) || look_.is_due()) {
    due_.reset();
    // Who only asks what would be written is one, and not a fleet.
    return evidence_.look_at_pods(!is_permitted_);
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

// Enough to charge, and not to free: a claim may be allocated before there is a pod.
void Charges::see_pods(policy::Sighting seen, Evidence::Look look) {
  has_seen_pods_ = true;
  const auto change = ledger_.take(seen, ports_.scheduler.now());
  const bool was_wanted = look_.is_wanted();
  look_.end(look);
  arm();
  tell(change, was_wanted && !look_.is_wanted());
}

void Charges::see_claim(const policy::Glimpse& seen) {
  const bool is_free = ledger_.take(seen).released > 0;
  arm();
  if (!is_free) return;
  ports_.log.info("a withdrawn device is free: its claim has it no more",
                  {{"pool", seen.pool.second}, {"device", seen.entry}});
  callbacks_.run(on_changed_);
}

void Charges::see_list(policy::Census census) {
  listed_at_ = ports_.scheduler.now();
  backoff_.reset();
  told_.forget();
  const bool was_wanted = look_.is_wanted();
  const auto change = ledger_.take(census, ports_.scheduler.now());
  if (change.ends_doubt) look_.close();
  arm();
  tell(change, was_wanted && !look_.is_wanted());
}

void Charges::tell(const policy::Ledger::Change& change, bool is_looked) {
  if (change.released > 0) ports_.log.info("withdrawn devices are free", {{"devices", change.released}});
  if (change.found_out > 0)
    ports_.log.warning("devices are allocated that no record tells of; they are charged",
                       {{"devices", change.found_out}});
  if (change.contested > 0)
    ports_.log.warning(
        "devices are offered, and allocated beside what excludes them; they are withdrawn until that ends",
        {{"devices", change.contested}});
  if (change.released + change.found_out + change.contested > 0 || is_looked) callbacks_.run(on_changed_);
}

void Charges::fail(const kube::Failure& failure) {
  listed_at_ = ports_.scheduler.now();
  has_seen_pods_ = true;  // or is not going to
  const bool is_denied = failure.code == Errc::kDenied;
  if (told_.is_new(failure.what))
    ports_.log.warning(
        "the ResourceClaims cannot be listed; what was withdrawn stays charged",
        {{"problem", failure.what},
         {"remedy", is_denied
                        ? "grant get and list on resourceclaims.resource.k8s.io (config/deploy/rbac.yaml)"
                        : "none; it is tried again"}});
  // Being refused costs the server next to nothing, and it ends when somebody grants the permission, who then
  // wants to see devices come back.
  const Millis soon(static_cast<int64_t>((0.5 + ports_.random()) * static_cast<double>(kInterval.count())));
  if (ledger_.need()) list_after(is_denied ? soon : backoff_.next(ports_.scheduler.now()));
  if (look_.is_due()) arm();
}

}  // namespace sliced::publishers
