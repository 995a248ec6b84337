#include "t/sim/kubelet.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <set>
#include <utility>

#include "kube/objects/kinds.h"
#include "kubelet/checkpoint.h"
#include "kubelet/known_entries.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::sim {
namespace {

using kube::Json;

constexpr Millis kRetry{2'000};  // as the kubelet's pod workers
constexpr Millis kTick{50};
constexpr size_t kPodsMax = 6;
constexpr const char* kPlace = "ns";  // namespace of the sample claims
constexpr const char* kVfioDriver = "vfio-pci";

std::string address_of(const std::string& entry) {
  std::string pci = entry.substr(0, 12);
  pci[4] = pci[7] = ':';
  pci[10] = '.';
  return pci;
}

}  // namespace

Kubelet::Kubelet(World& world, uint64_t seed)
    : world_(world),
      dice_(seed),
      sandboxes_(
          world,
          [this](const std::string& step) { return world_.border.leave([&] { return on_step(step); }); },
          [this](const std::string& pci) { read_interface(pci); }) {
  world_.companion = this;
  node_.on_step = [this](const std::string& step) {
    return world_.border.leave([&] { return on_step(step); });
  };
}

Kubelet::~Kubelet() {
  end();
  world_.companion = nullptr;
}

// ---- the plugin's life

void Kubelet::begin(std::function<void()> ready) {
  note_unrestored_settings();
  const auto& daemon = world_.daemon;
  const auto find = [&daemon](const std::string& driver, const std::string& pool, const std::string& entry) {
    return kubelet::find_entry({*daemon->decision(), *daemon->inventory(), {}}, driver, pool, entry);
  };
  interfaces_ = std::make_unique<kubelet::Interfaces>(
      sandboxes_.ports(), sandboxes_.settings(),
      [this]() -> const kubelet::PreparedClaims& { return preparer_->prepared(); },
      kubelet::Sandboxes::Handlers{
          .on_attached =
              [this](const kubelet::AttachedInterface& one) {
                preparer_->set_network_data(one.wanted.claim, one.wanted.device, one.wanted.share_id,
                                            kubelet::pod_network_of(one.wanted.interface, one.result));
              },
          .on_trouble = [] {},
          .on_pod = [this](const auto& claim, const auto& pod) { preparer_->add_pod(claim, pod); },
          .refresh_nodes =
              [this](const std::string& pod_uid, bool is_new_sandbox, auto done) {
                preparer_->refresh_nodes(pod_uid, is_new_sandbox, std::move(done));
              }});
  preparer_ = std::make_unique<kubelet::ClaimPreparer>(
      kubelet::PreparerPorts{world_.sim_cluster, world_.sim_scheduler, world_.sim_executor, world_.log,
                             std::make_shared<fake::FakeHost>(node_), interfaces_.get()},
      kubelet::ClaimPreparer::DaemonState{
          .waits_for =
              [&daemon] { return std::string(daemon->decision() == nullptr ? "nothing is decided" : ""); },
          .find = find,
          .node = [&daemon] { return daemon->decision()->inputs->node; },
          .boot_id = [this] { return world_.machine.boot_id; }},
      kubelet::ClaimPreparer::Handlers{
          .on_prepared = [&daemon](const policy::Prepared& one) { daemon->take(one); },
          .on_unprepared = [&daemon](const policy::Unprepared& one) { daemon->take(one); },
          .on_pinned = [&daemon](const std::string& by,
                                 const hotplug::HostDevice& facts) { daemon->hold(by, facts); },
          .on_unpinned = [&daemon](const std::string& by) { daemon->let_go(by); },
          .on_not_returned = [&daemon](auto all) { daemon->withhold(std::move(all)); }},
      kubelet::ClaimPreparer::Settings{
          .files = {.drivers = {World::kDriver, kExposureDriver}, .device_info_directory = "/dp"},
          .plan = {.names_interfaces = true}});
  preparer_->start([this, ready = std::move(ready)] {
    interfaces_->start();
    ready();
    if (!world_.border.leave([this] { return is_away_; }))
      preparer_->reconcile();  // the kubelet registers the plugin
  });
}

// Its connections end with it, and the kubelet asks again.
void Kubelet::end() {
  preparer_.reset();
  interfaces_.reset();
  for (auto& [name, pod] : pods_)
    if (std::exchange(pod.is_asked, false)) ask_later(pod);
}

// A device whose interface was not back when its claim ended is withheld from the start, until it is restored.
void Kubelet::note_unrestored_settings() {
  for (const auto& [device, one] : node_.original_settings)
    if (one.is_unrestored) {
      ++world_.seen["unrestored settings at a start"];
      may_write_ = true;
    }
}

// ---- the node

std::optional<Error> Kubelet::on_step(const std::string& step) {
  if (kill_at_ > 0 && --kill_at_ == 0) {
    ++world_.seen["killed at a step: " + step.substr(0, step.find(' '))];
    fake::abandon(fake::Abandoned::kIsKilled);
  }
  if (fail_at_ > 0 && --fail_at_ == 0) {
    ++world_.seen["a step failed: " + step.substr(0, step.find(' '))];
    if (step.starts_with("restore settings ")) may_write_ = true;  // it is withheld until they are restored
    return Error{Errc::kIo, step + ": EIO"};
  }
  if (!stuck_.empty() && step == "restore " + stuck_) return Error{Errc::kBusy, step + ": EBUSY"};
  if (step.starts_with("read settings "))
    move_machine();  // an interface that a driver just made has its name
  read_machine();
  // Readers of the machine see the name immediately.
  constexpr std::string_view kSettings = "restore settings ";
  if (step.starts_with(kSettings)) {
    const std::string pci = step.substr(kSettings.size());
    const Machine::Interface* netdev = world_.machine.interface_of(pci);
    const auto kept = node_.original_settings.find(pci);
    if (netdev != nullptr && netdev->is_here && kept != node_.original_settings.end() &&
        kept->second.interface)
      world_.machine.rename(netdev->ifindex, kept->second.interface->name);
  }
  return std::nullopt;
}

void Kubelet::read_machine() {
  for (const auto& [address, function] : world_.machine.functions()) {
    if (function.pf.empty() || node_.functions.contains(address)) continue;
    originals_[address] = function.driver;
    node_.functions[address] = {.look = {.identity = {function.vendor, function.device, function.pf}},
                                .driver = function.driver,
                                .group = std::to_string(node_.functions.size()),
                                .settings = hotplug::VfConfig{}};
    read_interface(address);
  }
}

void Kubelet::read_interface(const std::string& pci) {
  const auto function = node_.functions.find(pci);
  const Machine::Interface* netdev = world_.machine.interface_of(pci);
  if (function == node_.functions.end()) return;
  function->second.is_interface_away = netdev != nullptr && !netdev->is_here;
  function->second.has_interface = !function->second.is_interface_away;
  if (netdev != nullptr && netdev->is_here) function->second.name = netdev->name;
}

// What was bound on the node is so for whoever reads the machine.
void Kubelet::move_machine() {
  for (const auto& [address, function] : node_.functions) {
    const auto at = world_.machine.functions().find(address);
    if (at == world_.machine.functions().end() || at->second.driver == function.driver) continue;
    world_.machine.unbind(address);
    world_.machine.bind(address, function.driver);
    read_interface(address);
  }
}

// ---- the API server

std::vector<std::string> Kubelet::published() const {
  std::vector<std::string> out;
  world_.cluster.for_each(kube::kResourceSlices, [&](const Json& object) {
    const Json* spec = object.find("spec");
    const Json* devices = spec->find("devices");
    if (spec->text("driver") != World::kDriver || devices == nullptr) return;
    for (const Json& device : *devices->array()) out.emplace_back(device.text("name"));
  });
  return out;
}

void Kubelet::put_claim(Pod& pod) {
  kubelet::sample::ClaimText text;
  text.name = pod.claim;
  text.uid = pod.claim_uid;
  text.node = World::kNode;
  text.results = {kubelet::sample::result("vf", pod.entry, World::kDriver, World::kNode)};
  if (pod.is_vfio) text.configs = {kubelet::sample::config({{"driver", kVfioDriver}})};
  if (pod.is_native) {
    const Json network = Json::Object{{"mtu", Json(1'400)}, {"addresses", Json::Array{Json("192.0.2.5/24")}}};
    text.configs = {kubelet::sample::config({{"ifName", "net1"}, {"network", network}})};
  }
  text.pods = {Json::Object{{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}}};
  world_.cluster.put(kube::kResourceClaims, text.object());
  const auto stored = world_.cluster.object(kube::kResourceClaims, pod.claim, kPlace);
  pod.claim_uid = stored->find("metadata")->text("uid");
}

// ---- pods

void Kubelet::start_pod() {
  const auto entries = published();
  if (entries.empty() || pods_.size() >= kPodsMax) return;
  start_pod_of(dice_.pick(entries));
}

void Kubelet::start_pod_of(const std::string& entry) {
  Pod pod;
  const std::string number = std::to_string(++names_);
  pod.name = "pod-" + number, pod.uid = "pod-uid-" + number;
  pod.claim = "claim-" + number, pod.claim_uid = "claim-uid-" + number;
  pod.entry = entry;
  const bool is_in_use =
      std::ranges::any_of(pods_, [&](const auto& one) { return one.second.entry == pod.entry; });
  // Seldom is a device given away twice.
  if (is_in_use && dice_.chance(0.8)) return;
  if (is_in_use) ++world_.seen["a device given away twice"];
  pod.pci = address_of(pod.entry);
  pod.is_vfio = dice_.chance(0.4);
  pod.is_native = !pod.is_vfio && dice_.chance(0.7);
  pod.asked_first_at = world_.scheduler.now();
  put_claim(pod);
  ask(pods_.emplace(pod.name, pod).first->second);
}

// The scheduler may have seen the entry before it was withdrawn.
void Kubelet::route() {
  std::vector<std::string> entries = published();
  std::erase_if(entries, [&](const std::string& entry) {
    return std::ranges::any_of(pods_, [&](const auto& one) { return one.second.entry == entry; });
  });
  if (entries.empty() || pods_.size() >= kPodsMax) return;
  const std::string entry = dice_.pick(entries);
  const Machine::Interface* own = world_.machine.interface_of(address_of(entry));
  if (own == nullptr || !own->is_here) return;
  ++world_.seen["a route of the host's"];
  may_write_ = true;
  world_.machine.set_host_route(own->ifindex, true);
  advance(dice_.millis(0, 8'000));
  if (!violation_ && dice_.chance(0.7)) start_pod_of(entry);
}

void Kubelet::end_routes() {
  for (const auto& [ifindex, netdev] : std::map(world_.machine.interfaces()))
    if (netdev.has_host_route) may_write_ = true, world_.machine.set_host_route(ifindex, false);
}

void Kubelet::end_pod(bool by_force) {
  std::vector<std::string> names;
  for (const auto& [name, pod] : pods_)
    if (!pod.ends) names.push_back(name);
  if (names.empty()) return;
  Pod& pod = pods_.at(dice_.pick(names));
  pod.ends = true;
  pod.passes_claim_on = !by_force && dice_.chance(0.25);
  if (by_force) may_write_ = true;  // it is withheld until it is taken back
  if (by_force) world_.cluster.remove(kube::kResourceClaims, pod.claim, kPlace);
  if (by_force) ++world_.seen["a claim gone before it is taken back"];
  if (!pod.is_asked) ask(pod);
}

void Kubelet::stick() {
  if (!stuck_.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, pod] : pods_)
    if (!pod.ends && pod.is_vfio && pod.is_prepared && !is_contested(pod)) names.push_back(name);
  if (names.empty()) return;
  Pod& pod = pods_.at(dice_.pick(names));
  ++world_.seen["a device that cannot be given back"];
  stuck_ = pod.pci, stuck_entry_ = pod.entry, stuck_claim_ = pod.claim_uid;
  may_write_ = true;
  pod.ends = pod.is_forgotten = true;
  world_.cluster.remove(kube::kResourceClaims, pod.claim, kPlace);
  if (!pod.is_asked) ask(pod);
}

void Kubelet::unstick() {
  if (stuck_.empty()) return;
  const auto is_on_record = [this] {
    return preparer_ == nullptr || !preparer_->has_started() ||
           preparer_->prepared().contains({World::kDriver, stuck_claim_});
  };
  advance(Millis{30'000});
  if (violation_) return;
  const auto offers = [this] {
    const auto all = published();
    return std::ranges::find(all, stuck_entry_) != all.end();
  };
  if (is_on_record() && offers()) fail("K9", stuck_entry_ + " is offered, and cannot be given back");
  // Retries are 5 minutes apart at most; a daemon that was killed before it noted the failure waits a minute longer.
  const std::string pci = std::exchange(stuck_, "");
  for (int i = 0; i < 480 && !violation_ && is_on_record(); ++i) advance(Millis{1'000});
  if (!violation_ && is_on_record()) fail("K9", pci + " is not given back by the daemon");
  for (int i = 0; i < 20 && !violation_ && !offers(); ++i) advance(Millis{1'000});
  if (!violation_ && !offers()) fail("K9", stuck_entry_ + " was given back, and is not offered");
}

// All that it has asked for is forgotten, and asked for again.
void Kubelet::restart() {
  is_away_ = true;
  ++world_.seen["kubelet restarted"];
  for (auto& [name, pod] : pods_) pod.call = ++calls_, pod.is_asked = false, pod.retry.reset();
  const bool wipes = dice_.chance(0.5);
  back_ = world_.scheduler.after(dice_.millis(100, 4'000), [this, wipes] {
    is_away_ = false;
    if (wipes)
      world_.tamper([this] {
        may_write_ = true;
        world_.cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + World::kNode);
      });
    if (preparer_ != nullptr) world_.border.enter([this] { preparer_->reconcile(); });
    for (auto& [name, pod] : pods_) ask(pod);
  });
}

void Kubelet::ask_later(Pod& pod) {
  pod.retry = world_.scheduler.after(kRetry, [this, name = pod.name, call = pod.call] {
    if (Pod* found = find(name, call)) ask(*found);
  });
}

void Kubelet::ask(Pod& pod) {
  const uint64_t call = pod.call = ++calls_;
  if (is_away_) return;
  if (preparer_ == nullptr || world_.border.is_dead()) return ask_later(pod);
  if (pod.ends && sandboxes_.has(pod.uid)) {  // first the sandbox ends
    sandboxes_.stop(pod.uid);
    return ask_later(pod);
  }
  pod.is_asked = true;
  const kubelet::PrepareRequest request{kPlace, pod.claim, pod.claim_uid};
  world_.border.enter([&, name = pod.name] {
    if (pod.ends)
      preparer_->unprepare(World::kDriver, request, [this, name, call](std::string error) {
        world_.border.leave([&] { taken_back(name, call, error); });
      });
    else
      preparer_->prepare(World::kDriver, request, [this, name, call](kubelet::PrepareAnswer answer) {
        world_.border.leave([&] { prepared(name, call, answer); });
      });
  });
}

Kubelet::Pod* Kubelet::find(const std::string& name, uint64_t call) {
  const auto at = pods_.find(name);
  return at == pods_.end() || at->second.call != call ? nullptr : &at->second;
}

void Kubelet::prepared(const std::string& name, uint64_t call, const kubelet::PrepareAnswer& answer) {
  Pod* pod = find(name, call);
  if (pod == nullptr) return;
  pod->is_asked = false;
  if (answer.error.empty()) {
    ++world_.seen[pod->is_prepared ? "prepared again" : pod->is_vfio ? "prepared for vfio" : "prepared"];
    judge_answer(*pod, answer);
    pod->is_prepared = true;
    pod->answer = answer;
  } else {
    ++world_.seen["refused"];
  }
  if (pod->ends)
    ask(*pod);
  else if (!answer.error.empty())
    ask_later(*pod);
}

void Kubelet::taken_back(const std::string& name, uint64_t call, const std::string& error) {
  Pod* pod = find(name, call);
  if (pod == nullptr) return;
  pod->is_asked = false;
  if (!error.empty() && pod->is_forgotten) return void(pods_.erase(name));
  if (!error.empty()) return ask_later(*pod);
  ++world_.seen["taken back"];
  const Pod gone = *pod;
  pods_.erase(name);
  if (!gone.passes_claim_on) return void(world_.cluster.remove(kube::kResourceClaims, gone.claim, kPlace));
  Pod next = gone;
  next.name = "pod-" + std::to_string(++names_), next.uid = "uid-of-" + next.name;
  next.ends = next.passes_claim_on = next.is_prepared = false;
  next.answer = {};
  ++world_.seen["a claim goes to the next pod"];
  put_claim(next);
  ask(pods_.emplace(next.name, next).first->second);
}

bool Kubelet::is_contested(const Pod& pod) const {
  return std::ranges::any_of(
      pods_, [&](const auto& one) { return one.second.entry == pod.entry && one.first != pod.name; });
}

// ---- what happens

void Kubelet::step() {
  switch (dice_.below(23)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      start_pod();
      break;
    case 6:
    case 7:
    case 8:
    case 9:
      end_pod(false);
      break;
    case 10:
      end_pod(true);
      break;
    case 11:
    case 12:
    case 13:
      kill_at_ = 1 + dice_.below(12);
      break;
    case 14:
    case 15:
      fail_at_ = 1 + dice_.below(12);
      break;
    case 16:
      world_.stop_daemon(dice_.chance(0.5), dice_.millis(50, 3'000));
      break;
    case 17:
      if (!is_away_) restart();
      break;
    case 19:
      route();
      break;
    case 20:
      end_routes();
      break;
    case 21:
      stick();
      break;
    case 18:
      advance(dice_.millis(2'000, 15'000));
      break;
    default:
      rest();
  }
  advance(dice_.chance(0.4) ? Millis{0} : dice_.millis(0, 1'500));
}

void Kubelet::rest() {
  kill_at_ = fail_at_ = 0;
  end_routes();
  unstick();
  const auto is_at_rest = [this] {
    return world_.daemon != nullptr && preparer_ != nullptr && preparer_->idle() && !is_away_ &&
           std::ranges::all_of(pods_, [this](const auto& one) {
             const Pod& pod = one.second;
             if (!pod.ends && !pod.is_prepared) return is_contested(pod);
             return !pod.ends && (!pod.is_native || sandboxes_.runs(pod.uid));
           });
  };
  for (int i = 0; i < 60 && !violation_ && !is_at_rest(); ++i) advance(Millis{1'000});
  if (!violation_ && !is_at_rest()) {
    std::string who;
    for (const auto& [name, pod] : pods_)
      if (pod.ends || !pod.is_prepared)
        who += " " + name + (pod.ends ? ", which ends," : "") + " of " + pod.entry;
    fail("K7", "a minute after the last fault:" + who);
  }
  advance(Millis{12'000});  // so long are facts of before believed
  if (violation_) return;
  if (!std::ranges::all_of(pods_, [](const auto& one) { return one.second.is_prepared; })) {
    std::map<std::string, int> with;
    for (const auto& [name, pod] : pods_) with[pod.entry] += pod.is_prepared ? 1 : 0;
    for (const auto& [entry, count] : with)
      if (count == 0) fail("K7", "of the pods that wait for " + entry + " none runs");
  }
  judge_files();
  judge_interfaces();
  may_write_ = false;
  writes_ = world_.writes;
  ++world_.seen["rest"];
}

void Kubelet::finish() {
  for (auto& [name, pod] : pods_) pod.ends = true, pod.passes_claim_on = false;
  for (auto& [name, pod] : std::map(pods_))
    if (Pod* here = find(name, pod.call); here != nullptr && !here->is_asked) ask(*here);
  rest();
  if (violation_) return;
  for (const auto& [address, driver] : originals_)
    if (node_.functions.at(address).driver != driver)
      fail("K6", address + " is bound to " + node_.functions.at(address).driver + ", and was to " + driver);
  if (!preparer_->prepared().empty()) fail("K5", "claims are on record that nobody has");
  if (const std::string what = sandboxes_.what_is_left(); !what.empty()) fail("K11", what);
}

// ---- judging

void Kubelet::advance(Millis time) {
  const TimePoint end = world_.scheduler.now() + time;
  do {
    world_.advance(std::min(kTick, end - world_.scheduler.now()));
    move_machine();
    for (const auto& [name, pod] : pods_)
      if (pod.is_native && pod.is_prepared && !pod.ends) sandboxes_.start(pod.name, pod.uid);
    sandboxes_.turn();
    judge();
  } while (world_.scheduler.now() < end && !violation_);
}

void Kubelet::judge_interfaces() {
  for (const auto& [address, function] : world_.machine.functions()) {
    const Machine::Interface* netdev = world_.machine.interface_of(address);
    if (netdev == nullptr || netdev->is_here) continue;
    const std::string user = sandboxes_.user_of(address);
    if (!sandboxes_.runs(user))
      fail("K11", "the interface of " + address + " is in a pod that is gone: " + user);
  }
}

void Kubelet::judge() {
  for (const auto& [device, one] : node_.original_settings)
    if (!one.is_known) fail("K12", "the original settings of " + device + " are lost");
  for (const auto& [name, pod] : pods_)
    if (pod.is_native && sandboxes_.runs(pod.uid) && sandboxes_.user_of(pod.pci) != pod.uid)
      fail("K10", name + " runs without the interface of " + pod.pci);
  if (!may_write_ && world_.writes != writes_)
    fail("K3", std::to_string(world_.writes - writes_) + " writes though nothing but pods came and went");
  if (preparer_ == nullptr || world_.border.is_dead() || !preparer_->has_started()) return;
  const policy::Ledger& ledger = world_.daemon->ledger();
  std::map<std::string, std::string> by;
  for (const auto& [key, claim] : preparer_->prepared())
    for (const auto& device : claim.devices) {
      if (const auto [at, is_first] = by.emplace(device.device, claim.uid); !is_first)
        fail("K1", device.device + " is prepared for " + at->second + " and for " + claim.uid);
      if (!ledger.is_prepared({claim.driver, device.pool}, device.device))
        fail("K2", device.device + " is prepared for " + claim.uid + ", and a list of claims may free it");
    }
}

void Kubelet::judge_answer(const Pod& pod, const kubelet::PrepareAnswer& answer) {
  for (const auto& [name, other] : pods_)
    if (other.entry == pod.entry && other.is_prepared && !other.ends && other.claim_uid != pod.claim_uid)
      fail("K1", pod.entry + " is given to " + pod.name + ", and " + name + " has it");
  if (answer.devices.size() != 1 || answer.devices[0].device != pod.entry)
    return fail("K4", pod.name + " is answered otherwise than its claim says");
  if (pod.is_prepared && answer != pod.answer) fail("K4", pod.name + " is answered otherwise than before");
  // So long may a change of routes take to be read.
  constexpr Millis kRead{5'000};
  const auto used = world_.machine.used_since(pod.pci);
  if (!pod.is_prepared && used && *used + kRead < pod.asked_first_at)
    fail("K8", pod.entry + " is prepared for " + pod.name + " although the host has routes through it");
  for (const std::string& id : answer.devices[0].cdi_ids) {
    const size_t at = id.find('=');
    const std::string kind = id.substr(0, at);
    const auto has_device = [&](const auto& spec) {
      return spec.first.first == kind && std::ranges::any_of(spec.second.devices, [&](const auto& device) {
               return device.name == id.substr(at + 1);
             });
    };
    if (!std::ranges::any_of(node_.specs, has_device))
      fail("K4", id + " is answered, and there is no such device");
  }
  const std::string& driver = node_.functions.at(pod.pci).driver;
  if (driver != (pod.is_vfio ? kVfioDriver : originals_.at(pod.pci)))
    fail("K4", pod.entry + " is answered while it is bound to " + driver);
}

void Kubelet::judge_files() {
  std::set<std::string> wanted;
  for (const auto& [name, pod] : pods_)
    if (pod.is_prepared) wanted.insert({pod.claim_uid, pod.uid});
  for (const auto& [key, spec] : node_.specs)
    if (wanted.erase(key.second) == 0) fail("K5", "a CDI spec of nobody: " + key.second);
  for (const std::string& id : wanted) fail("K5", "no CDI spec " + id);
  const auto read = kubelet::decode_checkpoint(node_.checkpoint.value_or(""));
  const size_t kept = read ? read->claims.size() : 0;
  const auto running = static_cast<size_t>(
      std::ranges::count_if(pods_, [](const auto& one) { return one.second.is_prepared; }));
  if (kept != running)
    fail("K5", std::to_string(kept) + " claims are on disk, and " + std::to_string(running) + " pods run");
  if (running == 0 && !node_.infos.empty())
    fail("K5", "a device info of nobody: " + node_.infos.begin()->first);
}

void Kubelet::fail(const std::string& invariant, const std::string& what) {
  if (!violation_) violation_ = Violation{invariant, what};
}

// ---- histories

namespace {

/// States that a hundred histories must reach.
constexpr const char* kDemandsOfPods[] = {
    "a pod runs with its interface",     "a sandbox starts without the daemon",
    "a sandbox ends without the daemon", "a call of the runtime was lost",
    "the kernel returns an interface",   "killed at a step: interface",
    "a step failed: interface"};

void make_vfs(World& world, int count) {
  for (int slot = 0; slot < 2; ++slot)
    world.machine.plug_pf(slot, "ens" + std::to_string(slot) + "f0", slot == 0 ? "8086" : "15b3", 0, count);
  for (const std::string& pf : world.machine.pfs()) {
    world.machine.announce_num_vfs(pf, count);
    for (int i = 0; i < count; ++i) {
      world.machine.add_vf(pf, i);
      world.machine.link_vf(pf, i);
      world.machine.bind(Machine::vf_address(pf, i), "");
    }
  }
}

std::optional<Violation> play(World& world, uint64_t seed, size_t steps) {
  Kubelet kubelet(world, seed);
  make_vfs(world, 2);
  Policy all;
  all.name = "p0";
  all.configs.emplace_back();
  world.put(all);
  world.start_daemon();
  world.advance(Millis{20'000});
  kubelet.rest();
  for (size_t i = 0; i < steps && !kubelet.violation(); ++i) kubelet.step();
  if (!kubelet.violation()) kubelet.finish();
  return kubelet.violation();
}

}  // namespace

Tally play_kubelets(uint64_t first, size_t seeds, size_t steps, bool is_loud) {
  Tally tally;
  std::map<std::string, size_t> seen;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Knobs knobs;
    knobs.troubles = knobs.excludes = 0;
    World world(seed, knobs);
    world.log.is_loud = is_loud;
    const auto violation = play(world, seed, steps);
    ++(violation ? tally.failed : tally.passed);
    for (const auto& [what, count] : world.seen) seen[what] += count;
    if (!violation) continue;
    std::printf("FAILED seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                violation->invariant.c_str(), violation->what.c_str());
    for (const std::string& line : world.log.tail) std::printf("  log: %s\n", line.c_str());
  }
  for (const auto& [what, count] : seen) std::printf("  %8zu: %s\n", count, what.c_str());
  if (seeds < 100) return tally;
  for (const char* demand : kDemandsOfPods)
    if (seen[demand] == 0) {
      ++tally.failed;
      std::printf("FAILED never reached: %s\n", demand);
    }
  return tally;
}

}  // namespace sliced::sim
