#include "daemon/daemon.h"

#include <algorithm>
#include <set>

#include "kube/kinds.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/resolve.h"
#include "policy/footprint.h"
#include "policy/reliance.h"
#include "reactor/base/text.h"
#include "watchers/served_schema.h"

namespace sliced {
namespace {

using watchers::Standing;

// What follows a decision within this time is decided together (design: leading edge, then coalesced); one
// that changed nothing opens no window, only a breath for the loop.
constexpr Millis kCoalesce{50};
constexpr Millis kBreath{5};
// For the other sources, once one is served again after an outage: two seconds in all.
constexpr Millis kCatchUpStep{250};
constexpr int kCatchUpSteps = 7;
constexpr int kCatchUpStepsTold = 240;  // while a server says how long to wait
// What is decided on the loop's own thread: a millisecond or two. Selectors have budgets, but not so small
// ones.
constexpr size_t kDevicesOnLoop = 512;
constexpr uint64_t kFilterEntriesOnLoop = 200'000;  // over all devices
// Budgets keep a decision to a second or two. The clock is for what nobody has thought of: a machine that
// hardly runs gets more time with each attempt.
constexpr Millis kDecisionMax{5'000}, kDecisionMaxEver{120'000};
constexpr reactor::BackoffPolicy kDecisionBackoff{
    .initial = Millis{1'000}, .cap = Millis{60'000}, .jitter = 0.5, .reset_after = Millis{600'000}};
constexpr size_t kAbandonedMax = 3;  // of the executor's workers, which others need too
constexpr size_t kNamesInLog = 8;
constexpr size_t kReasonsInLog = 4;

template <class Source>
bool has_spoken(const std::unique_ptr<Source>& source) {
  return source == nullptr || source->standing().known;
}

template <class Source>
void say_if_silent(std::vector<std::string>& out, std::string_view what,
                   const std::unique_ptr<Source>& source) {
  if (has_spoken(source)) return;
  const Standing& standing = source->standing();
  out.push_back(std::string(what) + ": " + std::string(describe(standing.state)) +
                (standing.why.empty() ? "" : ": " + standing.why));
}

// A slice that cannot be decoded is one that is not what we want, if it is ours; the publisher finds out.
kube::ResourceSlice slice_of(const watchers::SliceWatcher::Item& item) {
  return item.value ? *item.value : publishers::unread_slice(item.id.name, item.uid, item.resource_version);
}

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<long>(std::min(names.size(), kNamesInLog)));
  if (names.size() > kNamesInLog)
    shown.push_back("and " + std::to_string(names.size() - kNamesInLog) + " more");
  return join(shown, ",");
}

template <class Id>
Id id_of(const watchers::PolicyWatcher::Id& id) {
  if constexpr (requires { Id{id.namespace_, id.name}; })
    return {id.namespace_, id.name};
  else
    return {id.name};
}

// What a list lacks leaves, except for what is kept until a second list lacks it too.
template <class Objects>
void leave_kept(Objects& objects, const Relisted<watchers::PolicyWatcher::Item>& list) {
  std::set<typename Objects::key_type> kept;
  for (const auto& id : list.kept) kept.insert(id_of<typename Objects::key_type>(id));
  std::erase_if(objects, [&](const auto& one) { return !kept.contains(one.first); });
}
void leave_kept(watchers::LeftOut& left_out, const Relisted<watchers::PolicyWatcher::Item>& list) {
  std::vector<watchers::Rooms::Name> kept;
  for (const auto& id : list.kept) kept.emplace_back(id.namespace_, id.name);
  left_out.keep_only(kept);
}

// "policy ns/name changed", "policy ns/name deleted", "policies listed: 410 Gone"
std::string reason_of(const std::string& kind, const SourceEvent<watchers::PolicyWatcher::Item>& event) {
  using Item = watchers::PolicyWatcher::Item;
  const auto named = [&](const auto& id) {
    return kind + " " + (id.namespace_.empty() ? "" : id.namespace_ + "/") + id.name;
  };
  if (const auto* changed = std::get_if<Changed<Item>>(&event)) return named(changed->now.id) + " changed";
  if (const auto* removed = std::get_if<Removed<Item>>(&event)) return named(removed->id) + " deleted";
  return kind + " listed: " + std::get<Relisted<Item>>(event).why;
}

bool uses_list_attributes(const policy::PolicySet& policies) {
  for (const auto& object : policies.attributes)
    for (const auto& [key, value] : object->attributes)
      if (kube::is_list(value)) return true;
  return false;
}

bool may_take_long(const policy::Inputs& inputs) {
  const size_t devices = inputs.inventory->devices.size();
  uint64_t entries = 0;
  for (const uint64_t one : inputs.policies->filter_entries) entries += one;
  uint64_t looks = inputs.policies->node_selector_entries;
  for (const uint64_t one : inputs.policies->attribute_entries) looks += one;
  return !inputs.policies->exposures.empty() || devices > kDevicesOnLoop ||
         devices * entries + looks > kFilterEntriesOnLoop;
}

// How much of each kind is kept (docs/scale.md): for the three and what passes, a process of 64 MiB has room.
constexpr watchers::RoomSizes kSriovRoom{.guards_bytes_max = 1u << 20, .others_bytes_max = 4u << 20};
constexpr watchers::RoomSizes kExposureRoom{.guards_bytes_max = 2u << 20, .others_bytes_max = 4u << 20};
constexpr watchers::RoomSizes kAttributesRoom{.guards_bytes_max = 1u << 20, .others_bytes_max = 2u << 20};
// Of own slices: what a node can have of entries (some 6,000 VFs; policy::WorkBudgets::entries).
constexpr size_t kSriovSlicesBytesMax = 10u << 20, kExposureSlicesBytesMax = 24u << 20;

template <class Policy>
watchers::PolicyObject decoded(Policy policy, const kube::Json& object, bool guards, bool is_in_effect) {
  auto kept = std::make_shared<const Policy>(std::move(policy));
  const watchers::Weight weight{policy::footprint(*kept), guards, static_cast<uint8_t>(is_in_effect ? 0 : 1),
                                watchers::created_at(object)};
  return {std::move(kept), weight};
}

watchers::PolicyKind sriov_kind() {
  const auto decode = [](const kube::Json& object) {
    policy::SriovPolicy policy = policy::decode_sriov_policy(object);
    const bool offers = policy.problems.empty() && std::any_of(policy.configs.begin(), policy.configs.end(),
                                                               [](const policy::ResourceConfig& config) {
                                                                 return config.problems.empty();
                                                               });
    return decoded(std::move(policy), object, false, offers);
  };
  return {decode, kSriovRoom};
}

watchers::PolicyKind attributes_kind(const std::string& driver) {
  const auto decode = [driver](const kube::Json& object) {
    policy::DeviceAttributes attributes = policy::decode_device_attributes(object, driver);
    const bool is_good = attributes.problems.empty();
    return decoded(std::move(attributes), object, false, is_good);
  };
  return {decode, kAttributesRoom};
}

watchers::PolicyKind exposure_kind(const std::string& driver) {
  const auto decode = [driver](const kube::Json& object) {
    policy::ExposurePolicy policy = policy::decode_exposure_policy(object, driver);
    const bool guards = policy.action != policy::ExposureAction::kExpose, is_good = policy.problems.empty();
    return decoded(std::move(policy), object, guards, is_good);
  };
  return {decode, kExposureRoom};
}

template <class Policy>
Shared<Policy> policy_of(const watchers::PolicyObject& object) {
  return Shared<Policy>(std::static_pointer_cast<const Policy>(object.policy));
}

// Notes whether it is.
bool is_left_out(const watchers::PolicyWatcher::Item& item, watchers::LeftOut& left_out) {
  const bool is = item.value && item.value->is_left_out();
  if (is)
    left_out.put({item.id.namespace_, item.id.name}, item.value->weight.guards);
  else
    left_out.erase({item.id.namespace_, item.id.name});
  return is;
}

}  // namespace

// One decision on a worker. It lives as long as anybody works on it.
struct Daemon::Attempt {
  std::shared_ptr<const policy::Inputs> inputs;
  std::string why;
  TimePoint began;
  std::stop_source stop;
  policy::Decision decision;  // the worker's, until the job is finished
};

Daemon::Daemon(DaemonPorts ports, config::Options options, OnDecided on_decided)
    : scheduler_(ports.host.scheduler),
      executor_(ports.host.executor),
      log_(ports.host.log),
      cluster_(ports.cluster),
      random_(ports.random),
      options_(std::move(options)),
      on_decided_(std::move(on_decided)),
      settler_(options_.settle, options_.settle_max),
      decision_backoff_(random_, kDecisionBackoff),
      decision_max_(kDecisionMax),
      abilities_({cluster_, scheduler_, log_, random_}, options_.sriov_driver_name, options_.node_name,
                 options_.scheduler_version, [this] { mark("the API server's abilities changed"); }),
      charges_({cluster_, scheduler_, log_, random_},
               {options_.sriov_driver_name, options_.exposure_driver_name, options_.node_name},
               [this] { decide_before_writing("the ResourceClaims were looked at"); }),
      publisher_({cluster_, scheduler_, log_, random_}, options_.sriov_driver_name,
                 handlers_of(options_.sriov_driver_name)),
      exposure_publisher_({cluster_, scheduler_, log_, random_}, options_.exposure_driver_name,
                          handlers_of(options_.exposure_driver_name)),
      host_(std::move(ports.host), [this](const hotplug::InventoryUpdate& update) { on_inventory(update); }) {
  publisher_.permit(false);
  exposure_publisher_.permit(false);
}

Daemon::~Daemon() {
  if (attempt_) attempt_->stop.request_stop();
}

watchers::Ports Daemon::watcher_ports() { return {cluster_, scheduler_, log_, random_}; }

void Daemon::start() {
  start_watchers();
  host_.start();
  arm_sync();
}

// What most of the offer stands on is not let go by one list, nor is an exclude that there is no room for: a
// server that is ill, or a replica that lost its data, may lack anything. A directory shows what is there.
template <class Policy>
watchers::PolicyWatcher::KeepMissing Daemon::keeper_of(const watchers::LeftOut& left_out) const {
  if (std::holds_alternative<config::ClusterDirectory>(options_.cluster)) return {};
  return [this, &left_out](const std::vector<watchers::PolicyWatcher::Id>& missing) {
    std::set<typename Policy::Id> ids;
    bool is_any_guard = false;
    for (const auto& id : missing) {
      ids.insert(id_of<typename Policy::Id>(id));
      is_any_guard |= left_out.is_guard({id.namespace_, id.name});
    }
    return decision_ && (is_any_guard || policy::relies_on(*decision_, ids));
  };
}

void Daemon::start_watchers() {
  const auto standing = [this](const Standing&) { on_standing(); };
  node_watcher_ = watchers::make_node_watcher(
      watcher_ports(), options_.node_name, [this](auto event) { on_node(event); }, standing);
  slice_watcher_ = watchers::make_slice_watcher(
      watcher_ports(), options_.sriov_driver_name, options_.node_name,
      [this](auto event) { on_slices(publisher_, event); }, standing, true, kSriovSlicesBytesMax);
  // Also when the kind is switched off: what it has published is withdrawn then.
  exposure_slice_watcher_ = watchers::make_slice_watcher(
      watcher_ports(), options_.exposure_driver_name, options_.node_name,
      [this](auto event) { on_slices(exposure_publisher_, event); }, standing, true, kExposureSlicesBytesMax);
  if (!options_.kinds_off.contains(kube::kDeviceExposurePolicies.kind)) {
    exposure_watcher_ = watchers::make_policy_watcher(
        watcher_ports(), kube::kDeviceExposurePolicies, "", exposure_kind(options_.exposure_driver_name),
        [this](auto event) { on_exposures(event); }, standing,
        keeper_of<policy::ExposurePolicy>(exposures_left_out_));
  }
  if (!options_.kinds_off.contains(kube::kSriovResourcePolicies.kind)) {
    sriov_watcher_ = watchers::make_policy_watcher(
        watcher_ports(), kube::kSriovResourcePolicies, options_.namespace_, sriov_kind(),
        [this](auto event) { on_policies(event); }, standing,
        keeper_of<policy::SriovPolicy>(sriov_left_out_));
    if (!options_.kinds_off.contains(kube::kDeviceAttributes.kind))
      attributes_watcher_ = watchers::make_policy_watcher(
          watcher_ports(), kube::kDeviceAttributes, options_.namespace_,
          attributes_kind(options_.sriov_driver_name), [this](auto event) { on_attributes(event); }, standing,
          keeper_of<policy::DeviceAttributes>(attributes_left_out_));
  }
  node_watcher_->start();
  slice_watcher_->start();
  if (sriov_watcher_) sriov_watcher_->start();
  if (attributes_watcher_) attributes_watcher_->start();
  exposure_slice_watcher_->start();
  if (exposure_watcher_) exposure_watcher_->start();
}

void Daemon::permit_writes(bool permitted) {
  is_permitted_ = permitted;
  apply_permission();
}

void Daemon::apply_permission() {
  const bool may_write = is_permitted_ && outage_.may_write();
  charges_.permit(may_write);
  publisher_.permit(may_write);
  exposure_publisher_.permit(may_write);
}

publishers::Publisher::Handlers Daemon::handlers_of(const std::string& driver) {
  return {
      .on_refused = [this, driver](auto entries) { on_refused(driver, std::move(entries)); },
      .on_lost =
          [this](const std::set<publishers::Ability>& abilities) {
            for (const publishers::Ability ability : abilities) abilities_.lost(ability);
          },
      .on_settled = [this, driver](
                        const std::set<std::string>& unsettled) { charges_.acknowledged(driver, unsettled); },
      .on_met = [this](const kube::ResourceSlice& slice) { meet(slice); }};
}

void Daemon::on_refused(const std::string& driver, std::vector<publishers::RefusedEntry> entries) {
  auto& refused = driver == options_.exposure_driver_name ? quarantine_.exposure : quarantine_.sriov;
  for (auto& entry : entries) refused[entry.name] = {entry.content_hash, std::move(entry.why)};
  mark("the API server refused a device");
}

void Daemon::reload(const config::Options& options) {
  options_ = options;
  node_view_.reset();
  settler_.set_windows(options_.settle, options_.settle_max);
  arm_sync();
  host_.rescan("reload");
}

void Daemon::on_inventory(const hotplug::InventoryUpdate& update) {
  const TimePoint now = scheduler_.now();
  for (const std::string& id : update.removed) settler_.forget(id);
  if (decision_) {
    for (const auto* ids : {&update.added, &update.changed})
      for (const std::string& id : *ids)
        if (const hotplug::HostDevice* device = update.now->find(id))
          settler_.touch(id, device->pf ? device->pf->text() : id, now);
    log_.debug("host changed", {{"why", update.why},
                                {"added", update.added.size()},
                                {"changed", update.changed.size()},
                                {"removed", update.removed.size()}});
  }
  arm_settle();
  mark("host: " + update.why);
}

void Daemon::on_node(const SourceEvent<watchers::NodeWatcher::Item>& event) {
  std::optional<watchers::NodeFacts> now;
  const auto take = [&](const watchers::NodeWatcher::Item& item) {
    now = item.value ? std::optional(*item.value)
                     : node_;  // what cannot be understood says nothing: the last word stands
  };
  if (const auto* changed = std::get_if<Changed<watchers::NodeWatcher::Item>>(&event))
    take(changed->now);
  else if (const auto* all = std::get_if<Relisted<watchers::NodeWatcher::Item>>(&event))
    for (const auto& item : all->all) take(item);
  if (now == node_) {
    if (!decision_) mark("node listed");
    return;
  }
  if (node_ && !now)
    log_.warning("the Node object is gone; nothing is written until it is back",
                 {{"node", options_.node_name}});
  if (node_ && now && node_->uid != now->uid)
    log_.info("the Node object was created anew", {{"node", options_.node_name}, {"uid", now->uid}});
  node_ = std::move(now);
  node_view_.reset();
  mark("node changed");
}

void Daemon::on_policies(const SourceEvent<watchers::PolicyWatcher::Item>& event) {
  const auto put = [this](const watchers::PolicyWatcher::Item& item) {
    const policy::SriovPolicy::Id id{item.id.namespace_, item.id.name};
    if (is_left_out(item, sriov_left_out_))
      sriov_.erase(id);
    else
      sriov_.insert_or_assign(id, item.value
                                      ? policy_of<policy::SriovPolicy>(*item.value)
                                      : Shared(policy::unreadable_sriov_policy(id, item.value.error().what)));
  };
  if (const auto* changed = std::get_if<Changed<watchers::PolicyWatcher::Item>>(&event)) {
    put(changed->now);
  } else if (const auto* removed = std::get_if<Removed<watchers::PolicyWatcher::Item>>(&event)) {
    sriov_.erase({removed->id.namespace_, removed->id.name});
    sriov_left_out_.erase({removed->id.namespace_, removed->id.name});
  } else {
    check_served_schema(kube::kSriovResourcePolicies);
    const auto& list = std::get<Relisted<watchers::PolicyWatcher::Item>>(event);
    leave_kept(sriov_, list);
    leave_kept(sriov_left_out_, list);
    for (const auto& item : list.all) put(item);
  }
  policy_set_.reset();
  mark(reason_of("policy", event));
}

void Daemon::on_attributes(const SourceEvent<watchers::PolicyWatcher::Item>& event) {
  const auto put = [this](const watchers::PolicyWatcher::Item& item) {
    const policy::DeviceAttributes::Id id{item.id.namespace_, item.id.name};
    if (is_left_out(item, attributes_left_out_))
      attributes_.erase(id);
    else
      attributes_.insert_or_assign(
          id, item.value
                  ? policy_of<policy::DeviceAttributes>(*item.value)
                  : Shared(policy::DeviceAttributes{.id = id, .problems = {{"", item.value.error().what}}}));
  };
  if (const auto* changed = std::get_if<Changed<watchers::PolicyWatcher::Item>>(&event)) {
    put(changed->now);
  } else if (const auto* removed = std::get_if<Removed<watchers::PolicyWatcher::Item>>(&event)) {
    attributes_.erase({removed->id.namespace_, removed->id.name});
    attributes_left_out_.erase({removed->id.namespace_, removed->id.name});
  } else {
    const auto& list = std::get<Relisted<watchers::PolicyWatcher::Item>>(event);
    leave_kept(attributes_, list);
    leave_kept(attributes_left_out_, list);
    for (const auto& item : list.all) put(item);
  }
  policy_set_.reset();
  mark(reason_of("DeviceAttributes", event));
}

// As an exclude. One for other nodes is understood here without its selector: it excludes nothing.
bool Daemon::is_understood(const policy::ExposurePolicy& policy) const {
  if (!policy.problems.empty() || !decision_) return false;
  return decision_->selectors->understands(policy.selector.cel) ||
         (has_node() && !kube::match_node(policy.node_selector, node_view()).matched);
}

// An exclude that can no longer be understood goes on as it was last understood.
void Daemon::on_exposures(const SourceEvent<watchers::PolicyWatcher::Item>& event) {
  const auto put = [&](const watchers::PolicyWatcher::Item& item, const auto& before) {
    const policy::ExposurePolicy::Id id{item.id.name};
    if (is_left_out(item, exposures_left_out_)) return void(exposures_.erase(id));
    Shared<policy::ExposurePolicy> now =
        item.value ? policy_of<policy::ExposurePolicy>(*item.value)
                   : Shared(policy::unreadable_exposure_policy(id.name, item.value.error().what));
    if (const auto at = before.find(id); at != before.end())
      now.edit([&](policy::ExposurePolicy& policy) {
        policy::remember_exclude(policy, at->second, is_understood(at->second));
      });
    exposures_.insert_or_assign(id, std::move(now));
  };
  if (const auto* changed = std::get_if<Changed<watchers::PolicyWatcher::Item>>(&event)) {
    put(changed->now, exposures_);
  } else if (const auto* removed = std::get_if<Removed<watchers::PolicyWatcher::Item>>(&event)) {
    exposures_.erase({removed->id.name});
    exposures_left_out_.erase({"", removed->id.name});
  } else {
    check_served_schema(kube::kDeviceExposurePolicies);
    const auto& list = std::get<Relisted<watchers::PolicyWatcher::Item>>(event);
    const auto before = exposures_;
    leave_kept(exposures_, list);
    leave_kept(exposures_left_out_, list);
    for (const auto& item : list.all) put(item, before);
  }
  policy_set_.reset();
  mark(reason_of("DeviceExposurePolicy", event));
}

void Daemon::on_slices(publishers::Publisher& publisher,
                       const SourceEvent<watchers::SliceWatcher::Item>& event) {
  using Item = watchers::SliceWatcher::Item;
  if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
    publisher.on_slices(Changed<kube::ResourceSlice>{slice_of(changed->now)});
    const auto at = publisher.observed().find(changed->now.id.name);
    if (at != publisher.observed().end()) meet(at->second);
  } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
    publisher.on_slices(Removed<kube::ResourceSlice>{{removed->id.name}});
  } else {
    Relisted<kube::ResourceSlice> whole{{}, std::get<Relisted<Item>>(event).why};
    for (const Item& item : std::get<Relisted<Item>>(event).all) whole.all.push_back(slice_of(item));
    publisher.on_slices(whole);
    abilities_.server_may_have_changed();
    for (const auto& [name, slice] : publisher.observed()) meet(slice);
    mark("own slices listed");
  }
}

void Daemon::on_standing() {
  if (!standings_ticket_) standings_ticket_ = scheduler_.after(Millis{0}, [this] { note_standings(); });
  if (!decision_) mark("a source has spoken");
}

// After an outage the sources that still wait are asked at once, and until they have answered (or had their
// time) nothing is written.
void Daemon::note_standings() {
  standings_ticket_.reset();
  std::map<Standing::State, size_t> count;
  for_each_source([&](auto& source) { ++count[source.standing().state]; });
  const watchers::Outage::Phase before = outage_.phase();
  const watchers::Outage::Phase now = outage_.note(
      count[Standing::State::kLive], count[Standing::State::kUnreachable], count[Standing::State::kDenied]);
  park_all_but_one(now == watchers::Outage::Phase::kAway);
  if (now != watchers::Outage::Phase::kCatchingUp) catch_up_ticket_.reset();
  if (now == watchers::Outage::Phase::kCatchingUp && now != before)
    catch_up(kCatchUpSteps, kCatchUpStepsTold);
  if (before != watchers::Outage::Phase::kServed && outage_.may_write()) {
    end_outage();
  }
  apply_permission();
  if (!outage_.may_write() || count[Standing::State::kLive] == 0) return;
  publisher_.retry_now();
  exposure_publisher_.retry_now();
}

// During an outage one source knocks. If each did, the first of them to be let in would decide, and a fleet's
// reconnects would crowd into the first seconds.
void Daemon::park_all_but_one(bool away) {
  bool one_knocks = false;
  for_each_source([&](auto& source) {
    const bool waits = source.standing().state == Standing::State::kUnreachable;
    source.park(away && waits && one_knocks);
    one_knocks |= waits;
  });
}

void Daemon::catch_up(int steps_left, int told_steps_left) {
  for_each_source([](auto& source) {
    const Standing::State state = source.standing().state;
    if (state == Standing::State::kUnreachable || state == Standing::State::kDenied) source.retry_now();
  });
  bool is_told_to_wait = false;
  for_each_source([&](auto& source) { is_told_to_wait |= source.is_told_to_wait(); });
  const int taken = is_told_to_wait && told_steps_left > 0 ? 0 : 1;
  // Jitter: a fleet comes back together.
  const Millis step(static_cast<int64_t>(static_cast<double>(kCatchUpStep.count()) * (0.5 + random_())));
  catch_up_ticket_ = scheduler_.after(step, [this, steps_left, told_steps_left, taken] {
    if (steps_left > 0) return catch_up(steps_left - taken, told_steps_left - 1);
    catch_up_ticket_.reset();
    outage_.give_up();
    end_outage();
    apply_permission();
  });
}

// What was told meanwhile is decided before anything is written.
void Daemon::end_outage() {
  abilities_.server_may_have_changed();
  if (!decide_ticket_ && !is_deciding_) return;
  is_decision_void_ |= !reasons_.empty();
  publisher_.await_desired();
  exposure_publisher_.await_desired();
  decide();
}

template <class Visit>
void Daemon::for_each_source(Visit visit) {
  if (node_watcher_) visit(*node_watcher_);
  if (slice_watcher_) visit(*slice_watcher_);
  if (sriov_watcher_) visit(*sriov_watcher_);
  if (attributes_watcher_) visit(*attributes_watcher_);
  if (exposure_slice_watcher_) visit(*exposure_slice_watcher_);
  if (exposure_watcher_) visit(*exposure_watcher_);
}

template <class Visit>
void Daemon::for_each_named_source(Visit visit) const {
  visit("node " + options_.node_name, node_watcher_);
  visit("policies", sriov_watcher_);
  visit("device attributes", attributes_watcher_);
  visit("exposure policies", exposure_watcher_);
  visit("own slices", slice_watcher_);
  visit("own exposure slices", exposure_slice_watcher_);
}

// A foreign CRD of the same name drops what it does not know, before we see it; all we can do is say so.
// Asked at each list, since a CRD may be replaced.
void Daemon::check_served_schema(const kube::Resource& kind) {
  const bool is_exposure = kind.kind == kube::kDeviceExposurePolicies.kind;
  (is_exposure ? exposure_schema_call_ : schema_call_) = cluster_.schema(
      kind.group, kind.version,
      [this, is_exposure](std::string_view text) {
        if (is_exposure)
          return tell_dropped(kube::kDeviceExposurePolicies, text, policy::exposure_policy_fields());
        tell_dropped(kube::kSriovResourcePolicies, text, policy::sriov_policy_fields());
        tell_dropped(kube::kDeviceAttributes, text, policy::device_attributes_fields());
      },
      [this](const kube::Failure& failure) {
        if (std::exchange(told_schema_failure_, failure.what) != failure.what)
          log_.info("the served schema of the policies is not readable", {{"problem", failure.what}});
      });
}

void Daemon::tell_dropped(const kube::Resource& kind, std::string_view schema,
                          const std::vector<std::string>& fields) {
  const auto dropped = watchers::fields_dropped_by_schema(schema, kind, fields);
  std::string text;
  if (!dropped)
    text = dropped.error().code == Errc::kNotFound ? ""
                                                   : dropped.error().what;  // not installed is another matter
  else if (!dropped->empty())
    text = "drops " + join(*dropped, ", ");
  std::string& told = told_schema_[kind.kind];
  if (!text.empty() && text != told)
    log_.warning(
        "the installed CRD drops fields of ours; policies that use them say less than they should: install "
        "the CRD "
        "of this version",
        {{"kind", kind.kind}, {"schema", text}});
  told = std::move(text);
}

std::vector<std::string> Daemon::waiting_for() const {
  std::vector<std::string> out = sources_awaited();
  if (out.empty() && !decision_ && !late_.empty()) out.push_back("decision: " + late_);
  return out;
}

std::vector<std::string> Daemon::sources_awaited() const {
  std::vector<std::string> out;
  if (host_.inventory()->version == 0) out.push_back("host: being read");
  for_each_named_source(
      [&](const std::string& name, const auto& source) { say_if_silent(out, name, source); });
  if (node_watcher_ && out.empty() && !has_node()) out.push_back(missing_node());
  return out;
}

std::vector<std::string> Daemon::missing() const {
  std::vector<std::string> out;
  for_each_named_source([&](const std::string& name, const auto& source) {
    if (source == nullptr) return;
    const Standing& standing = source->standing();
    // A directory that cannot be read now is not on its way, as a server may be.
    const bool is_directory = std::holds_alternative<config::ClusterDirectory>(options_.cluster);
    if (standing.state == Standing::State::kDenied || standing.is_unserved ||
        (is_directory && standing.state == Standing::State::kUnreachable))
      say_if_silent(out, name, source);
  });
  if (node_watcher_ && has_spoken(node_watcher_) && !has_node()) out.push_back(missing_node());
  return out;
}

std::string Daemon::missing_node() const {
  return "node " + options_.node_name + ": there is no such Node object";
}

// With an API server a node is what its Node object says. In a directory that has none, flags stand in for
// it.
bool Daemon::has_node() const {
  return node_ || std::holds_alternative<config::ClusterDirectory>(options_.cluster);
}

const kube::NodeView& Daemon::node_view() const {
  if (!node_view_)
    node_view_ = node_ ? kube::NodeView{node_->name, node_->labels}
                       : kube::NodeView{options_.node_name, options_.node_labels};
  return *node_view_;
}

void Daemon::for_each_policy_problem(const std::function<void(const std::string&)>& say) const {
  const auto say_all = [&](const std::string& who, const policy::Problems& problems) {
    for (const policy::Problem& problem : problems)
      say(who + ": " + (problem.field.empty() ? "" : problem.field + ": ") + problem.what);
    if (problems.more() > 0) say(who + ": " + and_more(problems.more()));
  };
  for (const auto& [id, policy] : sriov_) say_all("policy " + text_of(id), problems_of(policy));
  for (const auto& [id, object] : attributes_)
    say_all("DeviceAttributes " + id.namespace_ + "/" + id.name, object->problems);
  for (const auto& [id, policy] : exposures_) say_all("DeviceExposurePolicy " + id.name, policy->problems);
  if (decision_)
    for (const auto& [policy, problem] : policy::problems_of(*decision_)) say_all(policy, {problem});
  for (const auto& [kind, left_out] : {std::pair{"SriovResourcePolicies", &sriov_left_out_},
                                       std::pair{"DeviceAttributes", &attributes_left_out_},
                                       std::pair{"DeviceExposurePolicies", &exposures_left_out_}})
    if (const std::string text = left_out->describe(); !text.empty()) say(std::string(kind) + ": " + text);
}

void Daemon::mark(std::string why) {
  if (reasons_.size() < kReasonsInLog && std::find(reasons_.begin(), reasons_.end(), why) == reasons_.end())
    reasons_.push_back(std::move(why));
  arm_decision();
}

void Daemon::arm_decision() {
  if (decide_ticket_) return;
  const TimePoint now = scheduler_.now();
  const Millis delay = not_before_ ? std::max(Millis{0}, *not_before_ - now) : Millis{0};
  decide_ticket_ = scheduler_.after(delay, [this] { decide(); });
}

publishers::OwnSlices Daemon::own_slices() const {
  return {publisher_.observed(), exposure_publisher_.observed(), options_.sriov_driver_name,
          options_.exposure_driver_name, options_.node_name};
}

// Facts of netdevs that left before we started, from what we published then. True when the host is read again
// for it.
bool Daemon::recover_sticky() {
  if (std::exchange(recovered_, true)) return false;
  auto found = publishers::recall_netdevs(own_slices(), *host_.inventory());
  if (found.empty()) return false;
  log_.info("facts of interfaces that are away were recovered from our own slices",
            {{"functions", found.size()}});
  host_.recover_sticky(std::move(found));
  host_.rescan("recovered facts", [this](size_t) { mark("recovered facts"); });
  return true;
}

void Daemon::make_policy_set() {
  if (policy_set_) return;
  std::vector<Shared<policy::SriovPolicy>> sriov;
  for (const auto& [id, policy] : sriov_) sriov.push_back(policy);
  std::vector<Shared<policy::DeviceAttributes>> attributes;
  for (const auto& [id, object] : attributes_) attributes.push_back(object);
  std::vector<Shared<policy::ExposurePolicy>> exposures;
  for (const auto& [id, policy] : exposures_) exposures.push_back(policy);
  // One stands for all excludes that there is no room for: it may mean any device.
  if (exposures_left_out_.guards() > 0)
    exposures.push_back(policy::unreadable_exposure_policy("(left out)", exposures_left_out_.describe()));
  policy_set_ = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(std::move(sriov), std::move(attributes), std::move(exposures)));
}

// What a predecessor has published may be allocated.
void Daemon::learn_charges(const publishers::Publisher& publisher) {
  for (const auto& [name, slice] : publisher.observed()) charges_.learn(slice);
}

// Before the first decision slices are learned whole; from then on as they are met.
void Daemon::meet(const kube::ResourceSlice& slice) {
  if ((decision_ || is_deciding_) && charges_.learn(slice))
    decide_before_writing("devices in own slices that were not known");
}

// Once entries that may be allocated are charged, slices may be overwritten.
void Daemon::decide_before_writing(std::string why) {
  publisher_.await_desired();
  exposure_publisher_.await_desired();
  is_decision_void_ = true;
  mark(std::move(why));
}

// Without the kind no DeviceExposurePolicy can have offered anything.
bool Daemon::may_have_exposed() const {
  return !exposure_watcher_ || exposure_watcher_->standing().state != Standing::State::kAbsent;
}

std::shared_ptr<policy::Inputs> Daemon::decision_inputs() const {
  using publishers::Ability;
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = host_.inventory();
  inputs->policies = policy_set_;
  inputs->node = node_view();
  inputs->settings.sriov_driver = options_.sriov_driver_name;
  inputs->settings.exposure_driver = options_.exposure_driver_name;
  inputs->settings.list_attributes = abilities_.has(Ability::kListAttributes);
  inputs->settings.counters = abilities_.has(Ability::kCounters);
  inputs->settings.shared_devices = abilities_.has(Ability::kSharedDevices);
  inputs->quarantine = quarantine_;
  inputs->holdings = charges_.ledger().holdings();
  inputs->doubt = charges_.ledger().doubt();
  inputs->awaits_pods = charges_.awaits_pods(!policy_set_->exposures.empty());
  if (decision_) inputs->selectors = decision_->selectors;
  const bool has_exposures = !policy_set_->exposures.empty() || !inputs->holdings.empty();
  if (has_exposures || inputs->awaits_pods) inputs->sriov_holdings = charges_.ledger().sriov_holdings();
  for (const auto& [id, device] : host_.inventory()->devices)
    if (settler_.settling(id)) inputs->settling.insert(id);
  if (!inputs->settling.empty()) inputs->before = pools_before();
  inputs->published.is_sriov_pool_there = !publisher_.observed().empty();
  if (!has_exposures) return inputs;
  inputs->is_sriov_doubted = charges_.ledger().is_sriov_doubted();
  inputs->published = publishers::published(own_slices(), *host_.inventory(), inputs->holdings);
  inputs->published.is_sriov_pool_there = !publisher_.observed().empty();
  return inputs;
}

// What was last decided to be published; while there is no Node object, what was before it went.
policy::DesiredPoolsPtr Daemon::pools_before() const {
  return std::make_shared<const policy::DesiredPools>(policy::DesiredPools{
      {options_.sriov_driver_name, publisher_.desired().empty() ? before_gap_ : publisher_.desired()},
      {options_.exposure_driver_name, exposure_publisher_.desired()}});
}

void Daemon::decide() {
  using publishers::Ability;
  decide_ticket_.reset();
  // A Node that is gone takes its slices with it (owner reference); its successor gets new ones.
  if (decision_ && !has_node()) {
    if (!publisher_.desired().empty()) before_gap_ = publisher_.desired();
    publisher_.clear_desired();
    exposure_publisher_.clear_desired();
  }
  if (is_deciding_) return;  // its end sees the reasons
  const std::string why = join(std::exchange(reasons_, {}), "; ");
  if (!sources_awaited().empty()) return;
  if (recover_sticky()) return;
  make_policy_set();
  if (uses_list_attributes(*policy_set_)) abilities_.want(Ability::kListAttributes);
  if (!policy_set_->exposures.empty()) {
    abilities_.want(Ability::kCounters);
    abilities_.want(Ability::kSharedDevices);
  }
  if (!decision_ && !abilities_.settled()) return;  // on_changed marks again
  if (!decision_) {
    learn_charges(publisher_);
    learn_charges(exposure_publisher_);
    // A directory has no scheduler that could have given anything away.
    if (!std::holds_alternative<config::ClusterDirectory>(options_.cluster))
      charges_.begin(publishers::find_doubt(own_slices()), may_have_exposed());
  }
  charges_.find_awaited(*host_.inventory());
  const auto inputs = decision_inputs();
  if (may_take_long(*inputs)) return decide_elsewhere(inputs, why);
  was_overtaken_ = false;
  late_.clear();
  conclude(policy::decide(inputs), why);
}

void Daemon::decide_elsewhere(std::shared_ptr<const policy::Inputs> inputs, const std::string& why) {
  std::erase_if(abandoned_, [](const auto& attempt) { return attempt.expired(); });
  if (abandoned_.size() >= kAbandonedMax) {
    reasons_.insert(reasons_.begin(), why);
    return try_again_later(std::to_string(abandoned_.size()) + " that were given up still run");
  }
  is_deciding_ = true;
  is_decision_void_ = false;
  attempt_ = std::make_shared<Attempt>(Attempt{std::move(inputs), why, scheduler_.now(), {}, {}});
  auto work = [attempt = attempt_] {
    attempt->decision = policy::decide(attempt->inputs, attempt->stop.get_token());
  };
  auto done = [this](bool finished) {
    const auto own_job = std::move(decision_job_);
    const auto attempt = std::exchange(attempt_, nullptr);
    end_decision(*attempt, finished);
    if (!finished) abandoned_.push_back(attempt);
  };
  auto job = executor_.run(std::move(work), decision_max_, std::move(done));
  if (is_deciding_) decision_job_ = std::move(job);
}

void Daemon::end_decision(Attempt& attempt, bool finished) {
  is_deciding_ = false;
  if (!finished) return give_up(attempt);
  const Millis took = scheduler_.now() - attempt.began;
  decision_max_ = std::clamp(2 * took, kDecisionMax, kDecisionMaxEver);
  if (is_overtaken()) {
    reasons_.insert(reasons_.begin(), attempt.why);
    return decide();
  }
  decision_backoff_.reset();
  if (!std::exchange(late_, {}).empty())
    log_.info("a decision is made in time again", {{"took_ms", took.count()}});
  conclude(std::move(attempt.decision), attempt.why);
  if (!reasons_.empty()) arm_decision();
}

// The clock never takes a device away and never adds one: it only says that something is wrong.
void Daemon::give_up(Attempt& attempt) {
  attempt.stop.request_stop();
  reasons_.insert(reasons_.begin(), std::move(attempt.why));
  const std::string limit = std::to_string(decision_max_.count()) + " ms";
  decision_max_ = std::min(2 * decision_max_, kDecisionMaxEver);
  try_again_later("it was not made within " + limit);
}

void Daemon::try_again_later(std::string what) {
  const Millis wait = decision_backoff_.next(scheduler_.now());
  if (late_.empty())
    log_.warning(
        "no decision in time: what is offered stays as it is, nothing is added or withdrawn, and it is tried "
        "again; "
        "is the machine overloaded, or does a policy ask for too much?",
        {{"why", what},
         {"exposure_policies", policy_set_->exposures.size()},
         {"devices", host_.inventory()->devices.size()},
         {"again_in_ms", wait.count()}});
  late_ = std::move(what);
  not_before_ = scheduler_.now() + wait;
  decide_ticket_.reset();
  arm_decision();
}

// What has changed meanwhile may be bad news; a stream of it must not keep everything from being decided.
bool Daemon::is_overtaken() {
  if (is_decision_void_ || !sources_awaited().empty()) return true;
  was_overtaken_ = !was_overtaken_ && !reasons_.empty();
  return was_overtaken_;
}

void Daemon::conclude(policy::Decision decision, const std::string& why) {
  // Entries are kept once, by the publishers: a node may have thousands.
  auto sriov = std::move(decision.pools.at(options_.sriov_driver_name));
  auto exposures = std::move(decision.pools.at(options_.exposure_driver_name));
  decision.pools.clear();
  charges_.decided(decision, sriov, exposures);
  const bool is_sriov_news = tell_news(decision, publisher_, sriov, why);
  const bool is_exposure_news = tell_news(decision, exposure_publisher_, exposures, why);
  const bool changed = !decision_ || is_sriov_news || is_exposure_news;
  decision_ = std::move(decision);
  not_before_ = scheduler_.now() + (changed ? kCoalesce : kBreath);
  tell_problems();
  // A directory's Nodes have made-up uids, and an owner that does not exist would have the slices collected
  // once somebody applies them to a cluster.
  const bool owned = node_ && !std::holds_alternative<config::ClusterDirectory>(options_.cluster);
  const publishers::NodeIdentity node{options_.node_name, owned ? node_->uid : "",
                                      host_.inventory()->boot_id};
  // Where no pool stands, none is published without what comes in a moment: a restart, or another daemon's
  // turn, shows nobody an empty one.
  const bool is_incomplete = decision_->awaits_pods && charges_.is_looking() &&
                             (!publisher_.has_desired() || publisher_.observed().empty());
  before_gap_.clear();
  if (is_incomplete) {
    publisher_.await_desired();
    before_gap_ = std::move(sriov);  // what moves meanwhile stays as it stands
  } else {
    publisher_.set_desired(std::move(sriov), node);
  }
  exposure_publisher_.set_desired(std::move(exposures), node);
  if (on_decided_) on_decided_(*decision_);
}

// True when it says so.
bool Daemon::tell_news(const policy::Decision& now, const publishers::Publisher& publisher,
                       const std::vector<policy::DesiredPool>& pools, const std::string& why) {
  std::map<std::string, const kube::Device*> before;
  for (const auto& pool : publisher.desired())
    for (const kube::Device& device : pool.devices) before[device.name] = &device;
  std::vector<std::string> added, changed, removed;
  size_t offered = 0;
  for (const auto& pool : pools) {
    for (const kube::Device& device : pool.devices) {
      ++offered;
      const auto at = before.find(device.name);
      if (at == before.end())
        added.push_back(device.name);
      else if (*at->second != device)
        changed.push_back(device.name);
      before.erase(device.name);
    }
  }
  for (const auto& [name, device] : before) removed.push_back(name);
  const bool is_exposure = &publisher == &exposure_publisher_;
  const bool is_first = !decision_ && (!is_exposure || !pools.empty());
  if (!is_first && added.empty() && changed.empty() && removed.empty()) return false;
  const auto& policies = *now.inputs->policies;
  log_.info(decision_ ? "offer changed" : "decided",
            {{"driver", is_exposure ? options_.exposure_driver_name : options_.sriov_driver_name},
             {"why", why},
             {"offered", offered},
             {"devices", now.verdicts.size()},
             {"policies", is_exposure ? policies.exposures.size() : policies.sriov.size()},
             {"added", some_of(added)},
             {"changed", some_of(changed)},
             {"removed", some_of(removed)}});
  return true;
}

// Each problem and each thing left out is said once while it lasts.
void Daemon::tell_problems() {
  const auto say_if_new = [this](SaidOnce& said, const std::string& text) {
    if (said.note(text)) log_.warning("not used as written", {{"why", cut(text, kMessageBytesMax)}});
  };
  for_each_policy_problem([&](const std::string& text) { say_if_new(said_problems_, text); });
  for (const std::string& note : decision_->notes) say_if_new(said_notes_, note);
  if (const size_t more = decision_->notes.more(); more > 0) say_if_new(said_notes_, and_more(more, "note"));
  const size_t unsaid = said_problems_.end_round() + said_notes_.end_round();
  if (unsaid > 0) log_.warning("not used as written", {{"why", and_more(unsaid)}});
}

void Daemon::arm_settle() {
  const auto due = settler_.next_deadline();
  if (!due) return settle_ticket_.reset();
  settle_ticket_ = scheduler_.after(std::max(Millis{0}, *due - scheduler_.now()), [this] {
    if (settler_.expire(scheduler_.now())) mark("host has settled");
    arm_settle();
  });
}

void Daemon::arm_sync() {
  sync_ticket_ = scheduler_.after(options_.sync_interval, [this] {
    // What the server refused may have been refused by something that has passed: asked again, once an
    // interval.
    if (!std::exchange(quarantine_, {}).empty()) mark("refused devices are tried again");
    host_.rescan("sync timer");
    arm_sync();
  });
}

}  // namespace sliced
