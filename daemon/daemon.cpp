#include "daemon/daemon.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "hotplug/inventory.h"
#include "kube/objects/kinds.h"
#include "policy/configure/missing_mac.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

using publishers::ServerFeature;

// Own slices: the maximum of a node's entries (about 6,000 VFs; policy::WorkBudgets::entries).
constexpr size_t kSriovSlicesBytesMax = 10u << 20, kExposureSlicesBytesMax = 24u << 20;

// Longest time for which a stream of excludes and Node changes delays writes.
constexpr Millis kBehindMax{2'000};

// Longest wait of the first decision for PFs. It is shorter than the time for which their answers count as
// current (policy/gates/stale_conditions.h).
constexpr Millis kFirstWordMax{1'500};

bool has_interface_here(const hotplug::Inventory& host, const hotplug::PciAddress& pf) {
  const hotplug::HostDevice* device = host.find(pf.text());
  return device != nullptr && device->netdev && !device->netdev->stale;
}

bool has_lists(const kube::Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const auto& attribute) { return kube::is_list(attribute.second); });
}

bool uses_list_attributes(const policy::PolicySet& policies) {
  return std::any_of(policies.attributes.begin(), policies.attributes.end(),
                     [](const auto& object) { return has_lists(object->attributes); }) ||
         std::any_of(policies.exposures.begin(), policies.exposures.end(),
                     [](const auto& policy) { return has_lists(policy->exposure.additional_attributes); });
}

}  // namespace

// ---- composition

Daemon::Daemon(DaemonPorts ports, config::Options options)
    : scheduler_(ports.host.scheduler),
      executor_(ports.host.executor),
      log_(ports.host.log),
      options_(std::move(options)),
      state_{.node = OwnNode(log_, options_)},
      problems_(log_),
      decider_({scheduler_, executor_, log_, ports.random}, *this),
      server_features_({ports.cluster, scheduler_, log_, ports.random}, options_.sriov_driver_name,
                       options_.node_name, options_.scheduler_version,
                       [this] { mark("API server features changed"); }),
      reservations_(
          {ports.cluster, scheduler_, log_, ports.random},
          {options_.sriov_driver_name, options_.exposure_driver_name, options_.node_name},
          [this] {
            const std::string why = std::exchange(awaits_claims_for_, "");
            decide_before_writing((why.empty() ? "" : why + "; ") + "the ResourceClaims were read");
          },
          [this] { hold_first_slices(); }),
      publishers_{
          PoolPublisher({ports.cluster, scheduler_, log_, ports.random}, options_.sriov_driver_name, *this),
          PoolPublisher({ports.cluster, scheduler_, log_, ports.random}, options_.exposure_driver_name,
                        *this)},
      quiet_windows_(scheduler_, options_.settle, options_.settle_max, [this] { mark("host has settled"); }),
      pinned_host_(scheduler_, [this](const auto& update) { on_inventory(update); }),
      host_(std::move(ports.host), [this](const auto& update) { on_host(update); }),
      sources_({ports.cluster, scheduler_, log_, ports.random}, scope(), *this),
      node_states_({ports.cluster, scheduler_, log_, ports.random},
                   {options_.node_state_namespace, options_.node_name, ignored_of(options_)},
                   std::move(ports.boot),
                   [this](std::string why) {
                     update_readiness();
                     update_unconfigured();
                     mark(std::move(why));
                   }),
      admin_macs_(make_admin_macs(std::move(ports.set_missing_mac))) {
  host_.set_poll_interval_max(options_.readiness_poll);
  if (is_node_state_awaited()) state_.unconfigured = "the node's SriovNetworkNodeState has not been read yet";
}

std::unique_ptr<AdminMacs> Daemon::make_admin_macs(SetMissingMac set) {
  if (!options_.configure.contains(std::string(config::kAdminMac))) return nullptr;
  if (!set) {
    log_.warning("--configure ignored: this host is read-only", {{"host", options_.host_root}});
    return nullptr;
  }
  return std::make_unique<AdminMacs>(
      AdminMacPorts{scheduler_, executor_, log_, std::move(set)},
      AdminMacs::Handlers{.is_in_use = [this](const std::string& vf) { return pinned_host_.is_pinned(vf); },
                          .on_set = [this](const auto& pf) { host_.read_again(pf, "a MAC address was set"); },
                          .on_due = [this] { set_missing_macs(); }});
}

ClusterSources::Scope Daemon::scope() const {
  return {options_.node_name,
          !has_api_server(),
          {{{options_.sriov_driver_name, "own slices", kSriovSlicesBytesMax},
            {options_.exposure_driver_name, "own exposure slices", kExposureSlicesBytesMax}}},
          policy_resources(options_)};
}

void Daemon::start() {
  sources_.start();
  host_.start();
  arm_sync();
}

void Daemon::permit_writes(bool permitted, std::set<std::string> others) {
  is_permitted_ = permitted;
  others_ = std::move(others);
  apply_permission();
  set_missing_macs();
}

void Daemon::mark(std::string why) {
  ++state_.version;
  decider_.mark(std::move(why));
}

void Daemon::await_configuration(std::string why) {
  if (why == state_.unconfigured) return;
  const bool is_over = why.empty();
  state_.unconfigured = std::move(why);
  mark(is_over ? "this node is configured" : "this node is not configured yet");
}

void Daemon::withhold(policy::NotReturnedDevices not_returned) {
  if (not_returned == state_.not_returned) return;
  state_.not_returned = std::move(not_returned);
  mark("devices that could not be restored");
}

void Daemon::apply_permission() {
  reservations_.permit(may_write());
  for (PoolPublisher& offer : publishers_)
    offer.publisher().permit(may_write() && !others_.contains(offer.driver()));
}

void Daemon::reload(const config::Options& options) {
  if (options.readiness != options_.readiness) mark("reload");
  options_ = options;
  quiet_windows_.set_windows(options_.settle, options_.settle_max);
  host_.set_poll_interval_max(options_.readiness_poll);
  arm_sync();
  host_.rescan("reload");
}

void Daemon::arm_sync() {
  sync_ticket_ = scheduler_.after(options_.sync_interval, [this] {
    // The reason of a refusal may have ended, so entries are retried once per interval.
    bool is_any = false;
    for (PoolPublisher& offer : publishers_) is_any |= offer.empty_quarantine();
    if (is_any) mark("refused devices are tried again");
    host_.rescan("sync timer");
    arm_sync();
  });
}

// ---- events

void Daemon::on_host(const hotplug::InventoryUpdate& update) {
  pinned_host_.take(update);
  set_missing_macs();
}

void Daemon::on_inventory(const hotplug::InventoryUpdate& update) {
  // The first publication is complete, so earlier changes need not settle.
  quiet_windows_.note(update, state_.decision && !publishers_[kSriov].is_deferred());
  update_readiness();
  update_unconfigured();
  if (state_.decision)
    log_.debug("host changed", {{"why", update.why},
                                {"added", update.added.size()},
                                {"changed", update.changed.size()},
                                {"removed", update.removed.size()}});
  if (is_decided_already(update)) return;
  mark("host: " + update.why);
}

// A removed function is decided when its event comes. The reading that follows confirms the event, and a
// second decision would be the same.
bool Daemon::is_decided_already(const hotplug::InventoryUpdate& update) {
  return state_.decision && decider_.idle() && !update.relisted &&
         hotplug::is_confirmation(*state_.decision->inputs->inventory, *update.now) &&
         !reservations_.confirm_gone(update.now);
}

void Daemon::on_node(const OwnNode::Event& event) {
  const bool has_changed = state_.node.apply(event);
  if (!state_.node.is_there())
    for (PoolPublisher& offer : publishers_) offer.on_node_deleted();
  if (has_changed)
    hold_writes("node changed");
  else if (!state_.decision)
    mark("node listed");
}

void Daemon::on_policies(const PolicyEvent<policy::SriovPolicy>& event) {
  const PolicyBook::Applied applied = state_.policies.apply(event, known());
  if (applied.has_changed || !state_.decision) mark(applied.why);
}

void Daemon::on_policies(const PolicyEvent<policy::DeviceAttributes>& event) {
  const PolicyBook::Applied applied = state_.policies.apply(event, known());
  if (applied.has_changed || !state_.decision) mark(applied.why);
}

void Daemon::on_policies(const PolicyEvent<policy::ExposurePolicy>& event) {
  const PolicyBook::Applied applied = state_.policies.apply(event, known());
  if (!applied.has_changed && state_.decision) return;
  if (PolicyBook::may_exclude(event))
    hold_writes(applied.why);
  else
    mark(applied.why);
}

// The list of a directory is always complete.
bool Daemon::keeps_missing(const kube::Resource& kind, const std::vector<PolicyBook::Id>& missing) {
  return has_api_server() && state_.policies.keeps_missing(kind, missing, known());
}

void Daemon::on_sync_state() {
  if (!state_.decision) mark("a source has synced");
}

void Daemon::on_slices(size_t driver, const PoolPublisher::Event& event) {
  const bool is_list = std::holds_alternative<Relisted<PoolPublisher::Item>>(event);
  const auto met = publishers_[driver].apply(event);
  hold_first_slices();
  if (is_list) server_features_.server_may_have_changed();
  for (const kube::ResourceSlice* slice : met) adopt(*slice);
  if (is_list) mark("own slices listed");
}

const kube::ResourceSlice* Daemon::find_slice(size_t driver, const watchers::ObjectHead& head) const {
  return publishers_[driver].publisher().find_written(head.name, head.uid, head.resource_version);
}

void Daemon::on_refused() { mark("the API server refused a device"); }

void Daemon::on_lost(const std::set<ServerFeature>& lost) {
  for (const ServerFeature feature : lost) server_features_.lost(feature);
}

void Daemon::on_settled(const std::string& driver, const std::set<std::string>& unsettled) {
  reservations_.acknowledged(driver, unsettled);
}

void Daemon::on_adopted(const kube::ResourceSlice& slice) { adopt(slice); }

// Entries that an earlier daemon published may be allocated. They are learned even before the first decision,
// because another client may remove entries from slices meanwhile.
void Daemon::adopt(const kube::ResourceSlice& slice) {
  if (reservations_.learn(slice) && (state_.decision || decider_.is_deciding()))
    decide_before_writing("devices in own slices that were not known");
}

// After entries that may be allocated are reserved, slices may be overwritten.
void Daemon::decide_before_writing(std::string why) {
  for (PoolPublisher& offer : publishers_) offer.publisher().await_desired();
  ++state_.version;
  decider_.mark_void(std::move(why));
}

// A decision without it may add a device that it excludes. A continuous stream of changes delays writes for a
// limited time only.
void Daemon::hold_writes(std::string why) {
  state_.restricted_version = ++state_.version;
  if (!behind_since_) behind_since_ = scheduler_.now();
  if (is_behind())
    for (PoolPublisher& offer : publishers_) offer.publisher().await_desired();
  mark(std::move(why));
}

bool Daemon::is_behind() const {
  return snapshot_version_ < state_.restricted_version && behind_since_ &&
         scheduler_.now() - *behind_since_ < kBehindMax;
}

void Daemon::on_connectivity_change(const Connectivity::Change& change) {
  if (change.is_over) {
    server_features_.server_may_have_changed();
    if (!decider_.idle()) {
      for (PoolPublisher& offer : publishers_) offer.publisher().await_desired();
      decider_.decide_now();
    }
  }
  apply_permission();
  if (change.is_over) node_states_.retry_now();
  if (change.is_followed)
    for (PoolPublisher& offer : publishers_) offer.publisher().retry_now();
}

// ---- inputs of decisions

std::vector<std::string> Daemon::sources_awaited() const {
  std::vector<std::string> out;
  if (host_.inventory()->version == 0) out.push_back("host: being read");
  for (std::string& one : sources_.unsynced_sources()) out.push_back(std::move(one));
  if (out.empty() && !state_.node.is_there()) out.push_back(state_.node.missing());
  return out;
}

Decider::InputsPtr Daemon::prepare() {
  if (!sources_awaited().empty() || recover_sticky()) return nullptr;
  const policy::PolicySetPtr& policies = state_.policies.set();
  if (!are_server_features_known(*policies) && !state_.decision) return nullptr;
  if (!state_.decision) begin_reservations();
  reservations_.find_awaited(*inventory());
  update_node_state_watch(*policies);
  if (node_states_.is_awaited()) return nullptr;
  if (!state_.readiness.has_begun()) begin_readiness_tracking();
  update_readiness();
  update_unconfigured();
  snapshot_version_ = state_.version;
  const policy::QueryTimes* query_times =
      is_one_shot() || !inventory()->can_query_pfs ? nullptr : &host_.query_times();
  return make_snapshot({state_, options_, inventory(), server_features_, reservations_, quiet_windows_,
                        publishers_, scheduler_.now(), query_times});
}

bool Daemon::is_one_shot() const {
  return options_.command == config::Command::kPlan || options_.command == config::Command::kExplain;
}

// A ready device in slices is assumed to have been ready before. Commands read once, and do not wait.
void Daemon::begin_readiness_tracking() {
  const auto published = publishers::published(own_slices(publishers_, options_), *inventory(), {});
  std::set<std::string> devices;
  for (const auto* names : {&published.sriov, &published.exposure})
    for (const std::string& name : *names)
      if (const auto function = policy::function_named_by(name)) devices.insert(function->text());
  for (const auto& [entry, interface] : published.links) devices.insert(interface);
  state_.readiness.begin(inventory(), node_states_.over(inventory()), devices, is_one_shot(),
                         scheduler_.now());
}

// Every inventory counts, even without a decision: a short loss of readiness restarts the wait.
void Daemon::update_readiness() {
  if (state_.readiness.has_begun())
    state_.readiness.look(inventory(), node_states_.over(inventory()), scheduler_.now());
}

void Daemon::update_node_state_watch(const policy::PolicySet& policies) {
  node_states_.want(policies.asks_node_state || policy::asks_node_state(options_.readiness) ||
                    admin_macs_ != nullptr || is_node_state_awaited());
}

void Daemon::update_unconfigured() {
  const bool is_known = node_states_.is_wanted() && !node_states_.is_awaited() && inventory()->version > 0;
  if (!is_node_state_awaited() || !is_known) return;
  std::string why = policy::unconfigured_by(node_states_.reading(), node_states_.over(inventory()),
                                            options_.until_configured.allows_empty);
  if (why == state_.unconfigured) return;
  awaits_node_state_ = !why.empty();
  log_.info(why.empty() ? "node configured" : "waiting for the configuration of this node",
            {{why.empty() ? "node_state" : "awaited", why.empty() ? options_.node_name : why}});
  state_.unconfigured = std::move(why);
}

// Requires the interlock: then the devices of pods are known, and no other daemon does the same.
void Daemon::set_missing_macs() {
  if (admin_macs_ == nullptr || state_.decision == nullptr) return;
  if (!is_permitted_) return admin_macs_->take({}, *host_.inventory());
  const std::set<std::string> allocated = reservations_.ledger().known_allocated();
  const auto is_in_use = [&](const std::string& id) {
    return pinned_host_.is_pinned(id) || allocated.contains(id);
  };
  admin_macs_->take(
      policy::missing_macs({*state_.decision, *host_.inventory(), node_states_.reading(), is_in_use}),
      *host_.inventory());
}

// Restores facts of netdevs that left before the start, from published slices. Returns true if the host is
// read again for them.
bool Daemon::recover_sticky() {
  if (std::exchange(recovered_, true)) return false;
  auto found = publishers::restore_netdevs(own_slices(publishers_, options_), *host_.inventory());
  if (found.empty()) return false;
  log_.info("facts of interfaces in pods restored from own ResourceSlices", {{"functions", found.size()}});
  host_.recover_sticky(std::move(found));
  host_.rescan("recovered facts", [this](size_t) { mark("recovered facts"); });
  return true;
}

// Queries features only if a policy or an option uses them.
bool Daemon::are_server_features_known(const policy::PolicySet& policies) {
  if (uses_list_attributes(policies) || options_.numa_node_attribute == config::NumaNodeAttribute::kList)
    server_features_.want(ServerFeature::kListAttributes);
  if (options_.skip_node_operations == config::Switch::kOn)
    server_features_.want(ServerFeature::kSkipNodeOperations);
  if (policies.holds_binding || options_.readiness.hold_binding.value_or(false))
    server_features_.want(ServerFeature::kBindingConditions);
  if (!policies.exposures.empty()) {
    server_features_.want(ServerFeature::kCounters);
    if (options_.exclusion == config::ExclusionForm::kCompatibilityGroups)
      server_features_.want(ServerFeature::kCompatibilityGroups);
    server_features_.want(ServerFeature::kSharedDevices);
  }
  return server_features_.settled();
}

void Daemon::begin_reservations() {
  // A directory cluster has no scheduler, so nothing is allocated. Without the kind, no DeviceExposurePolicy
  // can have offered anything.
  if (has_api_server())
    reservations_.begin(publishers::find_unverified(own_slices(publishers_, options_)),
                        !sources_.is_absent(kube::kDeviceExposurePolicies));
}

// ---- consequences of a decision

// If the policies arrive late, the PFs' answers are older than them. The PFs are queried again and the
// decision is repeated, so that the first slice of a node is not empty.
bool Daemon::must_query_first(const policy::Decision& first) {
  std::set<hotplug::PciAddress> pfs = first.pfs_to_query;
  std::erase_if(pfs, [this](const auto& pf) { return !has_interface_here(*host_.inventory(), pf); });
  if (pfs.empty()) return false;
  if (!first_queried_at_) {
    first_queried_at_ = scheduler_.now();
    ready_ticket_ = scheduler_.after(kFirstWordMax, [this] { mark("PFs are not waited for any longer"); });
  }
  if (scheduler_.now() - *first_queried_at_ >= kFirstWordMax) return false;
  host_.poll_pfs(pfs);  // one may fail to answer
  host_.query_pfs(std::move(pfs), [this] { mark("VF settings of PFs were read"); });
  return true;
}

bool Daemon::conclude(policy::Decision decision, const std::string& why) {
  if (!state_.decision && must_query_first(decision)) return false;
  reservations_.decided(decision, decision.pools.at(publishers_[kSriov].driver()),
                        decision.pools.at(publishers_[kExposure].driver()));
  Plan plan = make_plan(std::move(decision), why,
                        {.before = state_.decision.get(),
                         .offers = publishers_,
                         .node_name = options_.node_name,
                         .inventory = *inventory(),
                         .are_pods_being_read = reservations_.is_reading_pods(),
                         .out_of_sync = out_of_sync(),
                         .selecting_by_mac = selecting_by_mac_});
  const bool is_changed = plan.is_changed() || !state_.decision;
  const bool awaits_claims = plan.awaits_claims;
  apply(std::move(plan));
  // The pods are read soon: a coalescing window would delay that decision.
  return is_changed && !awaits_claims;
}

std::set<hotplug::PciAddress> Daemon::out_of_sync() {
  std::set<hotplug::PciAddress> pfs;
  if (!is_node_state_awaited()) return pfs;
  for (const auto& [pf, why] : node_states_.over(inventory()).out_of_sync)
    if (const auto address = hotplug::PciAddress::decode(pf)) pfs.insert(*address);
  return pfs;
}

void Daemon::apply(Plan plan) {
  for (const Driver which : {kSriov, kExposure}) report(which, plan);
  state_.decision = plan.decision;
  // `explain NAME` prints the problems of that device itself.
  const bool is_of_one = options_.command == config::Command::kExplain && !options_.arguments.empty();
  problems_.tell(state_.policies, *state_.decision, !is_of_one);
  publish(plan);
  host_.poll_pfs(std::move(plan.query_again));
  host_.query_pfs(std::move(plan.query_now), [this] { mark("VF settings of PFs were read"); });
  selecting_by_mac_ = std::move(plan.selecting_by_mac);
  ready_ticket_.reset();
  if (plan.decide_at)
    ready_ticket_ = scheduler_.after(std::max(Millis{0}, *plan.decide_at - scheduler_.now()),
                                     [this] { mark("a device has been ready for long enough"); });
  if (plan.decide_again) mark("an exclusionGroup has changed");
  set_missing_macs();
  observers_.decided(*state_.decision);
  if (plan.awaits_claims) awaits_claims_for_ = plan.why;
}

// Log and observers: the former decision is still in the state.
void Daemon::report(Driver which, const Plan& plan) const {
  const Plan::Pools& pools = plan.pools[which];
  if (!pools.difference) return;
  const policy::PolicySet& policies = *plan.decision->inputs->policies;
  publishers_[which].log(*pools.difference, pools.desired,
                         {.why = plan.why,
                          .devices = plan.decision->verdicts.size(),
                          .policies = which == kSriov ? policies.sriov.size() : policies.exposures.size(),
                          .is_first = pools.is_first});
  for (const policy::OfferChange& change : pools.changes) {
    log_.info("offered devices changed", {{"change", name_of(change.kind)},
                                          {"driver", change.driver},
                                          {"devices", some_devices_of(change)},
                                          {"count", change.devices.size() + change.left_out},
                                          {"policy", change.policy},
                                          {"generation", change.generation},
                                          {"manager", change.manager},
                                          {"outcome", change.outcome},
                                          {"why", change.why}});
    observers_.offer_changed(change);
  }
}

void Daemon::publish(Plan& plan) {
  const publishers::NodeIdentity node{options_.node_name, state_.node.owner_uid(),
                                      host_.inventory()->boot_id};
  for (const Driver which : {kSriov, kExposure}) {
    if (plan.pools[which].is_deferred)
      publishers_[which].defer();
    else
      publishers_[which].set_desired(std::move(plan.pools[which].desired), node);
  }
  hold_first_slices();
  if (snapshot_version_ >= state_.restricted_version) behind_since_.reset();
  if (is_behind())  // a newer change may withhold devices, and is decided next
    for (PoolPublisher& offer : publishers_) offer.publisher().await_desired();
}

// Published slices are not held: what they offer may have to be withdrawn.
void Daemon::hold_first_slices() {
  publishers::Publisher& publisher = publishers_[kExposure].publisher();
  publisher.hold(reservations_.awaits_turn() && publisher.observed().empty());
}

// ---- queries

const PoolPublisher& Daemon::offer_of(std::string_view driver) const {
  const auto at = std::find_if(publishers_.begin(), publishers_.end(),
                               [&](const PoolPublisher& offer) { return offer.driver() == driver; });
  assert(at != publishers_.end());
  return *at;
}

bool Daemon::converged() const {
  return state_.decision && !state_.decision->awaits_pod_claims && decider_.idle() &&
         std::all_of(publishers_.begin(), publishers_.end(),
                     [](const PoolPublisher& offer) { return offer.publisher().converged(); });
}

bool Daemon::idle() const {
  return std::all_of(publishers_.begin(), publishers_.end(),
                     [](const PoolPublisher& offer) { return offer.publisher().idle(); });
}

std::vector<std::string> Daemon::waiting_for() const {
  std::vector<std::string> out = sources_awaited();
  if (out.empty() && !state_.decision && !decider_.late().empty())
    out.push_back("decision: " + decider_.late());
  return out;
}

std::vector<std::string> Daemon::missing() const {
  std::vector<std::string> out = sources_.missing();
  if (sources_.has_node_synced() && !state_.node.is_there()) out.push_back(state_.node.missing());
  return out;
}

}  // namespace sliced::daemon
