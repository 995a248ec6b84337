#include "t/sim/world.h"

#include <algorithm>
#include <cstdio>

#include "kube/objects/kinds.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/resolve.h"
#include "reactor/base/text.h"
#include "t/sim/bounds.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr size_t kTailLines = 40;

void drop(Json& object, std::string_view field) {
  if (object.object() != nullptr)
    std::erase_if(*object.object(), [&](const auto& one) { return one.first == field; });
}

// As a server does that has no DRAPartitionableDevices, or no DRAConsumableCapacity: without a word.
void drop_fields(Json& slice, bool has_counters, bool has_shared) {
  Json spec = *slice.find("spec");
  if (!has_counters) drop(spec, "sharedCounters");
  if (const Json* devices = spec.find("devices"); devices != nullptr && devices->array() != nullptr) {
    Json kept = *devices;
    for (Json& device : *kept.array()) {
      if (!has_counters) drop(device, "consumesCounters");
      if (has_shared) continue;
      drop(device, "allowMultipleAllocations");
      const Json* capacity = device.find("capacity");
      if (capacity == nullptr || capacity->object() == nullptr) continue;
      Json plain = *capacity;
      for (auto& [name, one] : *plain.object()) drop(one, "requestPolicy");
      device.set("capacity", std::move(plain));
    }
    spec.set("devices", std::move(kept));
  }
  slice.set("spec", std::move(spec));
}

}  // namespace

void SimLog::line(Level level, std::string_view message, std::initializer_list<Field> fields) {
  std::string text(message);
  for (const Field& field : fields) text += " " + std::string(field.key) + "=" + escaped(field.value);
  if (clock != nullptr) text = std::to_string(clock(clock_owner).time_since_epoch().count()) + " " + text;
  if (is_loud) std::fprintf(stderr, "%s\n", text.c_str());
  hash = mix(hash, text);
  ++said[std::string(message)];
  if (level == Level::kDebug) return;
  tail.push_back(std::move(text));
  if (tail.size() > kTailLines) tail.pop_front();
}

World::World(uint64_t seed, Knobs k) : knobs(k), dice_(seed), daemon_dice_(seed ^ 0x5eed) {
  log.clock = [](void* owner) { return static_cast<World*>(owner)->scheduler.now(); };
  log.clock_owner = this;
  cluster.keeps_log = false;
  cluster.history_max = 400;
  cluster.git_version = knobs.version;
  cluster.install(kube::kSriovResourcePolicies);
  cluster.install(kube::kDeviceAttributes);
  cluster.install(kube::kDeviceExposurePolicies);
  cluster.install(kube::kResourceClaims);
  cluster.install(kube::kPods);
  wire_ports();
  labels = {{"zone", "a"}, {"kubernetes.io/hostname", kNode}};
  remember_inputs();
  node_uid_ = "uid-node-0";
  relabel(labels);
}

World::~World() {
  border.dies();
  drop_daemon();
}

void World::wire_ports() {
  machine.are_names_told = knobs.claims > 0;
  machine.are_macs_asked = knobs.readiness > 0;
  machine.has_udevd = knobs.has_udevd;
  machine.now = [this] { return scheduler.now(); };
  machine.on_event = [this](hotplug::HostEvent event, const std::string& key) {
    deliver(std::move(event), key);
  };
  machine.on_change = [this](const std::string& address) {
    remember_function(address);
    exposed.machine_changed(address);
  };
  machine.on_access = [this](const char* operation, std::string_view path) {
    return border.leave([&]() -> std::optional<Error> {
      if (is_racing && !ops_.empty() && dice_.chance(0.05)) run_op();
      const std::string kind = operation == std::string_view("list") ? "readdir" : operation;
      if (border.fails(kind)) return Error{Errc::kIo, std::string(path) + ": EIO"};
      return on_read ? on_read(operation, path) : std::nullopt;
    });
  };
  // Sources are answered one after the other, in any order.
  cluster.delay_of = [this](const fake::Request& request) {
    const bool reads = request.verb == "list" || request.verb == "watch";
    return reads && dice_.chance(knobs.late_reads) ? dice_.millis(0, 600) : Millis{0};
  };
  cluster.on_request = [this](const fake::Request& request) -> std::optional<kube::Failure> {
    for (const auto& [name, refuses] : refusals)
      if (auto why = refuses(request)) return why;
    return std::nullopt;
  };
  cluster.on_replace = [this](const fake::Request& request, const Json& before) {
    judge_touch(request, before);
  };
  cluster.on_admit = [this](const fake::Request& request, Json& object) -> std::optional<kube::Failure> {
    if (!request.dry_run) judge_sent(request, object);
    if (request.plural == "resourceslices" && !(knobs.counters && knobs.shared))
      drop_fields(object, knobs.counters, knobs.shared);
    return on_admit && !request.dry_run ? on_admit(request, object) : std::nullopt;
  };
  cluster.on_answer = [this](const fake::Request& request) -> std::optional<kube::Failure> {
    if (!request.dry_run) judge_stored(request);
    return on_answer ? on_answer(request) : std::nullopt;
  };
  sim_cluster.observer.on_failure = [this](const std::string& verb, const kube::Failure& why) {
    trace("failed " + verb + " " + why.what);
    if (why.code == Errc::kGone) ++seen["410"];
    if (why.code == Errc::kConflict) ++seen["conflict"];
    if (why.code == Errc::kDenied) ++seen["denied"];
    if (why.code == Errc::kBusy) ++seen["busy"];
    if (why.code == Errc::kTimeout) ++seen["timeout"];
    if (why.code == Errc::kIo) ++seen["broken connection"];
    if (why.code == Errc::kInvalid && verb == "write") ++seen["write refused"];
    if (why.what.find("reply lost") != std::string::npos) ++seen["lost reply"];
    if (why.code == Errc::kNotFound && why.reason.empty()) ++seen["404 of nobody"];
  };
  sim_cluster.observer.on_event = [this](const std::string& plural, kube::EventType type,
                                         std::string_view object) {
    trace(object);
    note_event(plural, type);
  };
  sim_cluster.observer.on_answer = [this](const std::string& verb) {
    trace("answered " + verb);
    if (verb == "list") ++seen["list without WatchList"];
  };
  sim_cluster.observer.on_write = [this](const kube::WriteRequest& request) {
    trace(request.body);
    if (request.dry_run) return;
    ++writes;
    last_write_at_ = scheduler.now();
    if (!exposed.is_used() && request.body.find("dra.networking/withdrawn") != std::string::npos)
      disturb(kDoubtBound);
    if (!std::exchange(kill_at_write_, false)) return;
    later(dice_.millis(0, cluster.latency.count()), [this] { stop_daemon(false, dice_.millis(0, 2'000)); });
  };
}

void World::trace(std::string_view text) {
  trace_ = mix(mix(trace_, text), std::to_string(scheduler.now().time_since_epoch().count()));
}

void World::fail(const std::string& invariant, const std::string& what) {
  if (!violation_) violation_ = Violation{invariant, what};
}

// Time.

void World::later(Millis delay, std::function<void()> task) {
  const uint64_t id = next_task_++;
  ++pending_;
  tasks_[id] = scheduler.after(delay, [this, id, task = std::move(task)] {
    const auto keep = tasks_.extract(id);
    --pending_;
    task();
  });
}

void World::queue_op(Millis delay, std::function<void()> op) {
  ops_.push_back(std::move(op));
  later(delay, [this] { run_op(); });
}

void World::run_op() {
  if (ops_.empty()) return;
  const auto op = std::move(ops_.front());
  ops_.pop_front();
  op();
}

void World::advance(Millis time) {
  scheduler.advance(time);
  if (daemon && border.is_dead()) bury();
}

// The process has ended by itself; whoever started it starts it again.
void World::bury() {
  ++seen["death"];
  drop_daemon();
  disturb(kStartBound + Millis{2'000});
  later(Millis{1'000}, [this] { start_daemon(); });
}

void World::drop_daemon() {
  if (companion != nullptr) companion->end();
  subscription.reset();
  daemon.reset();
}

void World::disturb(Millis recovery) {
  if (knobs.readiness > 0) recovery += kMacAskedForMax + kAskedAgainBound;
  if (exposed.has_policies()) recovery += kPoolsBound + cluster.latency * 12;
  if (exposed.is_used()) exposed.disturb(recovery);
  due_ = std::max(due_, scheduler.now() + recovery);
  is_verified_ = false;
}

bool World::is_quiet() const { return faults_.empty() && pending_ == 0 && daemon != nullptr; }

void World::fault(const std::string& name, Millis time, Millis recovery, std::function<void()> on,
                  std::function<void()> off) {
  if (faults_.contains(name)) return;
  const uint64_t number = ++next_fault_;
  on();
  faults_[name] = {recovery, std::move(off), number};
  is_verified_ = false;
  later(time, [this, name, number] {
    const auto at = faults_.find(name);
    if (at == faults_.end() || at->second.number != number) return;
    const Fault ending = std::move(at->second);
    faults_.erase(at);
    ending.off();
    disturb(ending.recovery);
  });
}

void World::heal_all() {
  for (auto& [name, ending] : std::exchange(faults_, {})) {
    ending.off();
    disturb(ending.recovery);
  }
}

void World::come_to_rest() {
  kill_at_write_ = false;
  is_racing = false;
  heal_all();
  const auto due = [this] { return exposed.is_used() ? std::max(due_, exposed.calm_due()) : due_; };
  for (int rounds = 0; rounds < 20'000 && !violation_ && !(is_quiet() && scheduler.now() >= due());
       ++rounds) {
    const bool waits = pending_ > 0 || daemon == nullptr || !faults_.empty();
    if (!faults_.empty()) heal_all();
    advance(waits ? Millis{50} : std::max(Millis{1}, std::min(Millis{5'000}, due() - scheduler.now())));
  }
  if (!is_quiet()) return fail("harness", "the world does not come to rest");
  is_verified_ = false;
  judge();
  if (violation_) return;
  const size_t before = writes;
  advance(Millis{2'000});
  if (writes != before && is_quiet()) fail("I3", "writes although nothing had changed");
  judge();
}

// The daemon.

void World::start_daemon() {
  if (daemon) return;
  ++lives_;
  started_at_ = scheduler.now();
  decided_for_.clear();
  decided_of_sriov_.clear();
  policies_decided_ = nullptr;
  border.is_born();
  ++netlink_epoch_;
  netlink_is_lost_ = false;
  machine.daemon_starts();
  exposed.daemon_starts();
  forget_seen_excludes(cluster.stale_by == 0);  // a list of the past may show what was understood
  // A write of the one before may be on its way, and what it is shown may be of the past.
  if (scheduler.now() - last_write_at_ > kWayMax && !cluster.breaks_promises) {
    told_since_ = scheduler.now();
    stored_lately_.clear();
  }
  stored_lately_.merge(names_stored());
  for (const std::string& plural : missing_) note_absence(plural);
  in_place_.clear();
  pci_heard_at_.reset();
  disturb(kStartBound + cluster.latency * 16);
  if (!excludes.empty()) disturb(kDoubtBound);
  config::Options options;
  options.node_name = kNode;
  border.enter([&] {
    std::vector<std::unique_ptr<hotplug::EventSource>> events;
    events.push_back(std::make_unique<fake::FakeEvents>(udev_));
    events.push_back(std::make_unique<fake::FakeEvents>(netlink_));
    daemon = std::make_unique<sliced::daemon::Daemon>(
        sliced::daemon::DaemonPorts{
            {sim_scheduler, sim_executor, machine.view(), std::move(events), log, vf_reader()},
            sim_cluster,
            [this] { return daemon_dice_.real(); }},
        options);
    subscription.emplace(daemon->observers(), *this);
    daemon->start();
    if (companion == nullptr) return daemon->permit_writes(true);
    companion->begin([this] { daemon->permit_writes(true); });
  });
  if (border.is_dead()) bury();
}

hotplug::ReadVfConfigs World::vf_reader() {
  if (knobs.readiness == 0) return {};
  return [this](int ifindex) -> Result<std::map<int, hotplug::VfConfig>> {
    if (auto error = machine.on_access("getlink", "netlink")) return *error;
    auto configs = machine.vf_configs(ifindex);
    if (!configs) return Error{Errc::kNotFound, "netlink: RTM_GETLINK: ENODEV"};
    return *configs;
  };
}

void World::stop_daemon(bool gracefully, Millis down_for) {
  if (!daemon) return;
  if (gracefully && !daemon->idle()) {
    // A write that is on its way is waited for, but not for long.
    border.enter([this] { daemon->permit_writes(false); });
    later(Millis{200}, [this, down_for, life = lives_] {
      if (life == lives_) stop_daemon(false, down_for);
    });
    return;
  }
  if (sim_cluster.writes_under_way() > 0) was_killed_in_write_ = true;
  trace("stop");
  border.dies();
  drop_daemon();
  disturb(kStartBound + down_for);
  later(down_for, [this] { start_daemon(); });
}

void World::reboot() {
  if (!ops_.empty() || !daemon) return;
  stop_daemon(false, dice_.millis(500, 3'000));
  const auto pfs = machine.pfs();
  exposed.boots(true);
  for (const std::string& pf : pfs) unplug(pf);
  exposed.boots(false);
  ++udev_epoch_;  // nobody hears after a boot that functions were gone before it
  udev_is_lost_ = false;
  machine.boot_id = "boot-" + std::to_string(++boots_);
  is_touched_ = true;
  for (int slot = 0; slot < knobs.pfs; ++slot)
    if (std::find(pfs.begin(), pfs.end(), Machine::pf_address(slot)) != pfs.end()) plug(slot);
  ++seen["reboot"];
}

void World::reload() {
  if (!daemon) return;
  config::Options options;
  options.node_name = kNode;
  border.enter([&] { daemon->reload(options); });
}

namespace {

// "" none.
std::string difference_of(const policy::Decision& a, const policy::Decision& b) {
  if (a.verdicts != b.verdicts) return "verdicts";
  if (a.personas != b.personas) return "personas";
  if (a.refusals != b.refusals) return "refusals";
  if (a.offered != b.offered || a.unverified != b.unverified || a.wanted != b.wanted) return "holdings";
  if (!std::equal(a.notes.begin(), a.notes.end(), b.notes.begin(), b.notes.end())) return "notes";
  if (a.selectors->memory.answers != b.selectors->memory.answers) return "answers";
  return "";
}

}  // namespace

void World::on_decided(const policy::Decision& decision) {
  border.leave([&] { judge_decision(decision); });
}

void World::judge_decision(const policy::Decision& decision) {
  ++decisions_;
  in_place_.clear();
  exposed.decided(decision);
  has_old_write_ = sim_cluster.writes_under_way() > 0 && writes_arrived_ < sim_cluster.writes_begun();
  if (lives_ > 1) ++seen["restart"];
  if (std::exchange(told_life_, lives_) != lives_ && lives_ > 1 &&
      daemon->offer_of(kDriver).publisher().observed().empty())
    ++seen["start without slices"];
  if (std::exchange(was_killed_in_write_, false)) ++seen["restart during a write"];
  if (!decision.refusals.empty()) ++seen["entry refused"];
  for (const auto& [id, verdict] : decision.verdicts) {
    if (log.is_loud) log.debug("decided", {{"function", id}, {"is", policy::explain(decision, id).summary}});
    if (verdict.outcome == policy::Outcome::kHostUse) ++seen["in use by the host"];
    if (verdict.outcome == policy::Outcome::kBroken) ++seen["half there"];
    if (verdict.outcome == policy::Outcome::kOffered) ++seen["offered"];
    if (verdict.outcome == policy::Outcome::kExcluded) ++seen["excluded"];
    if (verdict.outcome == policy::Outcome::kExcludeUnknown) ++seen["exclude unknown"];
    if (verdict.outcome == policy::Outcome::kMatchUnknown) ++seen["which policy has a VF is unknown"];
    if (verdict.outcome == policy::Outcome::kSettling) ++seen["settling"];
    if (verdict.outcome == policy::Outcome::kNotReady)
      ++seen[decision.due ? "ready, not for long enough" : "not ready"];
    if (verdict.outcome == policy::Outcome::kExcludeUnreadable) ++seen["exclude unreadable"];
  }
  for (const auto& [id, device] : decision.inputs->inventory->devices)
    if (device.netdev && device.netdev->stale) ++seen["interface away"];
  judge_verdicts(decision);
  if (!decision.pfs_to_query.empty()) ++seen["a PF is asked for who begins to ask"];
  judge_kept(decision);
  judge_unknown(decision);
  judge_unfinished(decision);
}

// What policies that say nothing of readiness offer of an interface that udevd has not finished with stood before. One
// that has come back may be known as it was when it left.
void World::judge_unfinished(const policy::Decision& decision) {
  std::set<std::string> now;
  const auto note = [&](const std::string& id, const std::string& entry, const policy::Readiness& readiness) {
    now.insert(entry);
    const auto device = decision.inputs->inventory->find(id);
    const bool is_read = device != nullptr && device->netdev && !device->netdev->stale;
    const auto netdev =
        is_read ? machine.interfaces().find(device->netdev->ifindex) : machine.interfaces().end();
    if (readiness.require || netdev == machine.interfaces().end() || !netdev->second.is_here ||
        netdev->second.has_come_back || machine.was_away(id))
      return;
    const bool is_new =
        !decided_for_.contains(entry) && !stored_lately_.contains(entry) && !exposed.stood(entry);
    if (is_new && machine.is_unfinished(id) && !names_stored().contains(entry))
      fail("I1", "offers " + entry + " before udevd has finished with it");
  };
  for (const auto& [id, verdict] : decision.verdicts)
    if (verdict.outcome == policy::Outcome::kOffered)
      note(id, name_of_entry(id),
           decision.inputs->policies->sriov[static_cast<size_t>(verdict.policy)]->readiness);
  for (const auto& [id, personas] : decision.personas)
    for (const policy::PersonaVerdict& one : personas)
      if (one.outcome == policy::Outcome::kOffered)
        note(id, one.entry, decision.inputs->policies->exposures[static_cast<size_t>(one.policy)]->readiness);
  decided_for_ = std::move(now);
}

// What was kept of the decision before has changed nothing.
void World::judge_kept(const policy::Decision& decision) {
  auto inputs = std::make_shared<policy::Inputs>(*decision.inputs);
  inputs->entries = nullptr;
  if (inputs->selectors != nullptr) {
    auto selectors = std::make_shared<policy::SelectorResults>(*inputs->selectors);
    selectors->memory.inventory = nullptr;  // what is away stands all the same
    inputs->selectors = std::move(selectors);
  }
  const policy::Decision anew = policy::decide(std::move(inputs));
  if (const std::string what = difference_of(decision, anew); !what.empty())
    return fail("I2", "deciding everything anew gives other " + what);
  for (const char* driver : {kDriver, kExposureDriver}) {
    const daemon::PoolPublisher& offer = daemon->offer_of(driver);
    const publishers::Publisher& publisher = offer.publisher();
    if (decision.awaits_pod_claims && offer.is_deferred()) continue;  // it is not published yet
    for (const policy::DesiredPool& pool : publisher.desired()) {
      const auto& pools = anew.pools.at(pool.driver);
      const auto at =
          std::find_if(pools.begin(), pools.end(), [&](const auto& one) { return one.name == pool.name; });
      if (at == pools.end() || at->devices != pool.devices || at->counters != pool.counters ||
          at->excludes != pool.excludes)
        return fail("I2", "deciding everything anew gives another pool " + pool.name);
    }
  }
}

// What a verdict calls offered is to be published, and nothing else is.
void World::judge_verdicts(const policy::Decision& decision) {
  const daemon::PoolPublisher& offer = daemon->offer_of(kDriver);
  const publishers::Publisher& publisher = offer.publisher();
  if (!publisher.has_desired()) return;
  if (decision.awaits_pod_claims && offer.is_deferred()) return;  // it is not published yet
  std::set<std::string> desired, offered;
  for (const auto& pool : publisher.desired())
    for (const kube::Device& entry : pool.devices) desired.insert(entry.name);
  for (const auto& [id, verdict] : decision.verdicts)
    if (verdict.outcome == policy::Outcome::kOffered) offered.insert(name_of_entry(id));
  if (desired != offered)
    fail("I9", "verdicts call " + std::to_string(offered.size()) + " VFs offered, and " +
                   std::to_string(desired.size()) + " are to be published");
}

}  // namespace sliced::sim
