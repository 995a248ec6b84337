#include "t/sim/world.h"

#include <algorithm>
#include <cstdio>

#include "kube/kinds.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/resolve.h"
#include "reactor/base/text.h"

namespace sliced::sim {
namespace {

using kube::Json;

// How long after its last cause a thing may take. Each is the sum of the daemon's own bounds on the way.
constexpr Millis kHostBound{2'500};     // coalescing, reading, settling at the longest, a write
constexpr Millis kClusterBound{1'500};  // a watch event, a decision, a write
constexpr Millis kTamperBound{3'000};
constexpr Millis kFightBound{125'000};  // restoring slows down against somebody who does not stop
constexpr Millis kStartBound{9'000};
constexpr Millis kPoolsBound{1'000};  // where there are several of them, with a decision on a worker
constexpr Millis kDoubtBound{
    150'000};                     // until the claims have told what may be allocated of the other driver
constexpr Millis kWayMax{1'000};  // of a write to the server
constexpr size_t kTailLines = 40;

// As a server does that has no DRAPartitionableDevices.
void drop_counters(Json& slice) {
  const auto without = [](Json& object, std::string_view field) {
    if (object.object() != nullptr)
      std::erase_if(*object.object(), [&](const auto& one) { return one.first == field; });
  };
  Json spec = *slice.find("spec");
  without(spec, "sharedCounters");
  if (const Json* devices = spec.find("devices"); devices != nullptr && devices->array() != nullptr) {
    Json kept = *devices;
    for (Json& device : *kept.array()) without(device, "consumesCounters");
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
  daemon.reset();
}

void World::wire_ports() {
  machine.are_names_told = knobs.claims > 0;
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
    if (!knobs.counters && request.plural == "resourceslices") drop_counters(object);
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
  daemon.reset();
  disturb(kStartBound + Millis{2'000});
  later(Millis{1'000}, [this] { start_daemon(); });
}

void World::disturb(Millis recovery) {
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

// Events.

void World::deliver(hotplug::HostEvent event, const std::string& key) {
  const bool udev = std::holds_alternative<hotplug::Uevent>(event);
  disturb(kHostBound + knobs.udev_delay_max);
  if (!udev) exposed.links_changed();
  if (udev ? udev_is_lost_ : netlink_is_lost_) return;
  const int copies = dice_.chance(knobs.duplicates) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    TimePoint& after = udev ? heard_at_[key] : netlink_at_;
    const Millis delay_max = udev ? knobs.udev_delay_max : knobs.netlink_delay_max;
    after = std::max(after, scheduler.now() + dice_.millis(0, delay_max.count()));
    const uint64_t epoch = udev ? udev_epoch_ : netlink_epoch_, id = next_task_++;
    tasks_[id] = scheduler.after(after - scheduler.now(), [this, id, event, udev, epoch] {
      const auto keep = tasks_.extract(id);
      hand_over(event, udev, epoch);
    });
  }
}

void World::hand_over(const hotplug::HostEvent& event, bool udev, uint64_t epoch) {
  if (epoch != (udev ? udev_epoch_ : netlink_epoch_) || !daemon) return;
  const auto& to = udev ? udev_.on_event : netlink_.on_event;
  if (!to) return;
  if (log.is_loud) say(event);
  if (const auto* one = std::get_if<hotplug::Uevent>(&event)) {
    trace(one->action + one->devpath);
    if (one->subsystem == "pci" && (one->action == "add" || one->action == "remove" || one->action == "bind"))
      pci_heard_at_ = scheduler.now();
  }
  if (std::holds_alternative<hotplug::Overflow>(event)) ++seen["overflow"];
  border.enter([&] { to(event); });
}

// For whoever reads a history.
void World::say(const hotplug::HostEvent& event) {
  if (const auto* one = std::get_if<hotplug::Uevent>(&event))
    log.debug("heard", {{"uevent", one->action}, {"path", one->devpath}});
  else if (const auto* link = std::get_if<hotplug::LinkChange>(&event))
    log.debug("heard", {{"link", link->name},
                        {"ifindex", link->ifindex},
                        {"how", link->is_moved     ? "moved"
                                : link->is_deleted ? "deleted"
                                                   : "changed"}});
}

void World::lose_events(bool udev) {
  bool& is_lost = udev ? udev_is_lost_ : netlink_is_lost_;
  uint64_t& epoch = udev ? udev_epoch_ : netlink_epoch_;
  if (is_lost) return;
  is_lost = true;
  ++epoch;
  machine.forget_what_events_told();
  later(dice_.millis(0, 60), [this, udev, epoch] {
    if (epoch != (udev ? udev_epoch_ : netlink_epoch_)) return;
    machine.forget_what_events_told();
    (udev ? udev_is_lost_ : netlink_is_lost_) = false;
    hand_over(hotplug::Overflow{"ENOBUFS"}, udev, epoch);
    disturb(kHostBound);
  });
}

void World::note_event(const std::string& plural, kube::EventType type) {
  if (type == kube::EventType::kBookmark) {
    ++seen["bookmark"];
    return;
  }
  // Of a wipe, once it is heard of.
  if (plural == "resourceslices" && type == kube::EventType::kDeleted && is_wiped_) ++seen["wiped"];
  if (plural != "sriovresourcepolicies" || !daemon || daemon->decision() == nullptr) return;
  ++seen["policy edit"];
  // From a function's first event to the end of its settling the hotplug is under way in the daemon.
  if (pci_heard_at_ && scheduler.now() - *pci_heard_at_ <= Millis{100})
    ++seen["policy edit during a hotplug"];
}

// The host.

void World::remember_function(const std::string& address) {
  const auto remember = [&](auto& past, auto facts) {
    auto& one = past[address];
    if (!one.empty() && one.back().second == facts) return;
    one.emplace_back(scheduler.now(), std::move(facts));
    if (log.is_loud) log.debug("machine changed", {{"function", address}});
    disturb(kHostBound + knobs.udev_delay_max);
  };
  const auto at = machine.functions().find(address);
  if (at == machine.functions().end() || !at->second.pf.empty()) {
    remember(vf_past_, machine.vf_facts(address));
    address_of_[name_of_entry(address)] = address;
  }
  if (at == machine.functions().end() || at->second.pf.empty()) remember(pf_past_, machine.pf_facts(address));
}

// As the kernel does it (drivers/pci/iov.c): numbers first, each function, then its links, then its driver.
void World::set_vfs(const std::string& pf, int count) {
  const auto at = machine.functions().find(pf);
  if (at == machine.functions().end() || busy_.contains(pf) || at->second.num_vfs == count) return;
  busy_.insert(pf);
  count = std::min(count, at->second.total_vfs);
  const int before = at->second.num_vfs;
  const std::vector<int64_t> paces = {0, 1, 5, 20};
  const int64_t pace = dice_.pick(paces);
  Millis time{0};
  const auto op = [&](std::function<void()> what) {
    time += dice_.millis(0, pace);
    queue_op(time, std::move(what));
  };
  // A number is changed by way of none.
  for (int i = 0; i < before; ++i) {
    op([this, pf, i] { machine.unlink_vf(pf, i); });
    op([this, pf, i] { machine.unplug(Machine::vf_address(pf, i)); });
  }
  if (before > 0) op([this, pf] { machine.announce_num_vfs(pf, 0); });
  const bool vfio = dice_.chance(0.2), is_late = !vfio && knobs.troubles > 0 && dice_.chance(0.15);
  for (int i = 0; i < count; ++i) {
    op([this, pf, i] { machine.add_vf(pf, i); });
    op([this, pf, i] { machine.link_vf(pf, i); });
    op([this, pf, i, vfio, is_late] {
      const std::string vf = Machine::vf_address(pf, i);
      if (is_late)
        machine.bind_without_interface(vf);
      else
        machine.bind(vf, vfio ? "vfio-pci" : "");
      if (is_late) later(dice_.millis(0, 3'000), [this, vf] { machine.make_interface(vf); });
      const auto* netdev = machine.interface_of(vf);
      const auto* above = machine.interface_of(pf);
      if (netdev != nullptr && above != nullptr)
        machine.rename(netdev->ifindex, machine.free_name(above->name + "v" + std::to_string(i)));
    });
  }
  op([this, pf, count] {
    machine.announce_num_vfs(pf, count);
    busy_.erase(pf);
  });
}

void World::plug(int slot) {
  machine.plug_pf(slot, "ens" + std::to_string(slot + 1) + "f0", slot % 2 == 0 ? "8086" : "15b3",
                  slot % 3 == 2 ? -1 : slot % 2, knobs.total_vfs);
}

void World::unplug(const std::string& pf) {
  if (busy_.contains(pf) || !machine.functions().contains(pf)) return;
  for (const std::string& vf : machine.vfs_of(pf)) {
    machine.unlink_vf(pf, machine.functions().at(vf).index);
    machine.unplug(vf);
  }
  machine.unplug(pf);
}

// The cluster.

void World::remember_inputs() {
  policies_past_.emplace_back(scheduler.now(), crd_is_there ? policies : Policies{});
  labels_past_.emplace_back(scheduler.now(), labels);
  excludes_past_.emplace_back(scheduler.now(), exclude_crd_is_there ? excludes : Excludes{});
  disturb_inputs();
}

void World::disturb_inputs() { disturb(kClusterBound + cluster.latency * 3 + cluster.watch_lag); }

void World::put(const Policy& policy) {
  if (!crd_is_there) return;
  policies[policy.name] = policy;
  cluster.put(kube::kSriovResourcePolicies, object_of(policy, kNamespace));
  remember_inputs();
}

void World::remove_policy(const std::string& name) {
  if (policies.erase(name) == 0) return;
  cluster.remove(kube::kSriovResourcePolicies, name, kNamespace);
  remember_inputs();
}

void World::put(const Attributes& object) {
  if (!attributes_crd_is_there) return;
  attributes[object.name] = object;
  cluster.put(kube::kDeviceAttributes, object_of(object, kNamespace));
  remember_inputs();
}

void World::remove_attributes(const std::string& name) {
  if (attributes.erase(name) == 0) return;
  cluster.remove(kube::kDeviceAttributes, name, kNamespace);
  remember_inputs();
}

void World::relabel(const Labels& now) {
  labels = now;
  remember_inputs();
  exposed.inputs_changed();
  if (!node_is_there) return;
  Json::Object map;
  for (const auto& [key, value] : labels) map.emplace_back(key, value);
  cluster.put(kube::kNodes,
              Json::Object{{"metadata",
                            Json::Object{{"name", kNode}, {"uid", node_uid_}, {"labels", std::move(map)}}}});
}

void World::recreate_node(Millis gone_for) {
  if (!node_is_there) return;
  fault(
      "node", gone_for, kFightBound,
      [this] {
        node_is_there = false;
        cluster.remove(kube::kNodes, kNode);
        node_uid_.clear();
        later(dice_.millis(0, 3'000), [this] { collect_garbage(); });
      },
      [this] {
        node_is_there = true;
        node_uid_ = "uid-node-" + std::to_string(++node_uids_);
        relabel(labels);
        later(dice_.millis(0, 3'000), [this] { collect_garbage(); });
      });
}

// What belongs to a Node that is no more goes.
void World::collect_garbage() {
  tamper([this] {
    for (const Json& object : cluster.objects(kube::kResourceSlices)) {
      const StoredSlice slice = stored_slice(object);
      if (!slice.owner_uid.empty() && slice.owner_uid != node_uid_)
        cluster.remove(kube::kResourceSlices, slice.name);
    }
  });
}

void World::uninstall(const kube::Resource& kind, Millis time) {
  const bool is_policies = kind == kube::kSriovResourcePolicies,
             is_excludes = kind == kube::kDeviceExposurePolicies;
  bool& is_there = is_policies ? crd_is_there : is_excludes ? exclude_crd_is_there : attributes_crd_is_there;
  if (!is_there) return;
  fault(
      "uninstalled " + kind.plural, time, Millis{125'000},
      [this, kind, is_policies, is_excludes, &is_there] {
        is_there = false;
        if (is_policies)
          policies.clear();
        else if (is_excludes)
          excludes.clear();
        else
          attributes.clear();
        cluster.uninstall(kind);
        remember_inputs();
        if (is_excludes) exposed.forget_policies();
      },
      [this, kind, &is_there] {
        is_there = true;
        cluster.install(kind);
        remember_inputs();
      });
}

void World::tamper(const std::function<void()>& change) {
  is_touched_ = true;
  std::map<std::string, std::optional<Json>> before;
  for (const std::string& name : ours_) before[name] = cluster.object(kube::kResourceSlices, name);
  change();
  for (const auto& [name, object] : before)
    if (cluster.object(kube::kResourceSlices, name) != object) {
      tampered_with_.insert(name);
      exposed.tampered(name);
    }
  in_place_.clear();
  const auto views = pools();
  const auto at = views.find(std::string(kDriver) + "/" + kNode);
  last_view_.reset();
  for (const StoredSlice& slice : stored())
    if (slice.is_terminating)
      for (const auto& [name, entry] : slice.devices) tampered_out_.insert(name);
  if (at != views.end()) {
    for (const auto& [name, address] : address_of_)
      if (!at->second.devices.contains(name)) tampered_out_.insert(name);
    if (at->second.is_complete) last_view_ = at->second;
  }
  tampered_at_.push_back(scheduler.now());
  while (scheduler.now() - tampered_at_.front() > Millis{180'000}) tampered_at_.pop_front();
  is_wiped_ = at == views.end();
  exposed.others_wrote();
  disturb((tampered_at_.size() > 3 ? kFightBound : kTamperBound) + cluster.latency * 16 + cluster.watch_lag);
}

Policy World::random_policy(const std::string& name) {
  Policy policy{.name = name};
  policy.priority = static_cast<int>(dice_.below(3)) - 1;
  policy.allow_host_use = dice_.chance(0.2);
  policy.is_broken = dice_.chance(0.05);
  if (dice_.chance(0.3)) policy.nodes = {{"zone", dice_.chance(0.7) ? "a" : "b"}};
  std::vector<std::string> names, addresses = {"0000:99:00.0"};
  for (const std::string& pf : machine.pfs()) {
    addresses.push_back(pf);
    if (const auto* netdev = machine.interface_of(pf)) names.push_back(netdev->name);
  }
  names.push_back("ens9f9");
  const auto choice = [&](const std::vector<std::string>& from) {
    PfChoice one{dice_.pick(from), {}};
    if (dice_.chance(0.5)) {
      const int first = static_cast<int>(dice_.below(static_cast<size_t>(knobs.vfs_max)));
      one.ranges.emplace_back(first, first + static_cast<int>(dice_.below(4)));
    }
    return one;
  };
  for (size_t c = 0; c < 1 + dice_.below(2); ++c) {
    Config config;
    config.is_broken = dice_.chance(0.05);
    if (dice_.chance(0.4)) config.resource_name = dice_.chance(0.5) ? "example.com/fast" : "example.com/slow";
    if (dice_.chance(0.2)) config.attributes_of = {{"kind", "x"}};
    for (size_t f = 0; f < dice_.below(3); ++f) {
      Filter filter;
      switch (dice_.below(8)) {
        case 0:
          filter.vendors = {dice_.chance(0.5) ? "8086" : "15b3"};
          break;
        case 1:
          filter.drivers = {dice_.chance(0.5) ? "vfio-pci" : "iavf", "mlx5_core"};
          break;
        case 2:
          filter.pf_addresses = {choice(addresses)};
          break;
        case 3:
          filter.root_devices = {choice(addresses)};
          break;
        case 4:
          filter.numa_nodes = {static_cast<int>(dice_.below(2))};
          break;
        case 5:
          filter.link_type = dice_.chance(0.8) ? "ethernet" : "infiniband";
          break;
        case 6:
          filter.addresses = {Machine::vf_address(dice_.pick(addresses), static_cast<int>(dice_.below(4)))};
          break;
        default:
          filter.pf_names = {choice(names), choice(names)};
      }
      if (dice_.chance(0.2)) filter.pf_names.push_back(choice(names));
      config.filters.push_back(std::move(filter));
    }
    policy.configs.push_back(std::move(config));
  }
  return policy;
}

// The daemon.

void World::start_daemon() {
  if (daemon) return;
  ++lives_;
  border.is_born();
  ++netlink_epoch_;
  netlink_is_lost_ = false;
  machine.daemon_starts();
  exposed.daemon_starts();
  forget_seen_excludes(true);
  // A write of the one before may be on its way, and what it is shown may be of the past.
  if (scheduler.now() - last_write_at_ > kWayMax && !cluster.breaks_promises) {
    told_since_ = scheduler.now();
    stored_lately_ = names_stored();
  }
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
        sliced::daemon::Ports{{sim_scheduler, sim_executor, machine.view(), std::move(events), log, {}},
                              sim_cluster,
                              [this] { return daemon_dice_.real(); }},
        options, [this](const policy::Decision& decision) { border.leave([&] { on_decided(decision); }); });
    daemon->start();
    daemon->permit_writes(true);
  });
  if (border.is_dead()) bury();
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
  daemon.reset();
  disturb(kStartBound + down_for);
  later(down_for, [this] { start_daemon(); });
}

void World::reboot() {
  if (!ops_.empty() || !daemon) return;
  stop_daemon(false, dice_.millis(500, 3'000));
  ++udev_epoch_;
  udev_is_lost_ = false;
  const auto pfs = machine.pfs();
  exposed.boots(true);
  for (const std::string& pf : pfs) unplug(pf);
  exposed.boots(false);
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
  if (a.offered != b.offered || a.doubted != b.doubted || a.wanted != b.wanted) return "holdings";
  if (!std::equal(a.notes.begin(), a.notes.end(), b.notes.begin(), b.notes.end())) return "notes";
  if (a.selectors->memory.answers != b.selectors->memory.answers) return "answers";
  return "";
}

}  // namespace

void World::on_decided(const policy::Decision& decision) {
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
    if (verdict.outcome == policy::Outcome::kSettling) ++seen["settling"];
    if (verdict.outcome == policy::Outcome::kExcludeUnreadable) ++seen["exclude unreadable"];
  }
  for (const auto& [id, device] : decision.inputs->inventory->devices)
    if (device.netdev && device.netdev->stale) ++seen["interface away"];
  judge_verdicts(decision);
  judge_kept(decision);
}

// What was kept of the decision before has changed nothing.
void World::judge_kept(const policy::Decision& decision) {
  auto inputs = std::make_shared<policy::Inputs>(*decision.inputs);
  inputs->entries = nullptr;
  if (inputs->selectors != nullptr) {
    auto selectors = std::make_shared<policy::SelectorAnswers>(*inputs->selectors);
    selectors->memory.inventory = nullptr;  // what is away stands all the same
    inputs->selectors = std::move(selectors);
  }
  const policy::Decision anew = policy::decide(std::move(inputs));
  if (const std::string what = difference_of(decision, anew); !what.empty())
    return fail("I2", "deciding everything anew gives other " + what);
  for (const char* driver : {kDriver, kExposureDriver}) {
    const publishers::Publisher& publisher = daemon->offer_of(driver).publisher();
    if (decision.awaits_pods && publisher.observed().empty()) continue;  // it is not published yet
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
  const publishers::Publisher& publisher = daemon->offer_of(kDriver).publisher();
  if (!publisher.has_desired()) return;
  if (decision.awaits_pods && publisher.observed().empty()) return;  // it is not published yet
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
