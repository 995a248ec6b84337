#include "t/worlds/node.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kube/objects/kinds.h"

namespace sliced::worlds {
namespace {

using kube::Json;

const kube::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};

constexpr Millis kQuiet{
    2'000};  // longer than anything is held back that the daemon will do by itself at once
constexpr Millis kStep{250};
constexpr int64_t kEventDelayMax = 20;  // ms, from the kernel to the daemon

void erase_member(Json& object, std::string_view key) {
  if (Json::Object* members = object.object())
    std::erase_if(*members, [&](const Json::Member& member) { return member.first == key; });
}

// As a server whose feature gates are off: what it does not know is dropped without a word.
void drop_fields(Json& slice, const Server& server) {
  const Json* found = slice.find("spec");
  if (found == nullptr) return;
  Json spec = *found;
  if (!server.counters) erase_member(spec, "sharedCounters");
  if (const Json* devices = spec.find("devices"); devices != nullptr && devices->array() != nullptr) {
    Json changed = *devices;
    for (Json& device : *changed.array()) {
      if (!server.counters) erase_member(device, "consumesCounters");
      if (server.shared) continue;
      erase_member(device, "allowMultipleAllocations");
      const Json* capacity = device.find("capacity");
      if (capacity == nullptr || capacity->object() == nullptr) continue;
      Json plain = *capacity;
      for (Json::Member& one : *plain.object()) erase_member(one.second, "requestPolicy");
      device.set("capacity", std::move(plain));
    }
    spec.set("devices", std::move(changed));
  }
  slice.set("spec", std::move(spec));
}

}  // namespace

void WorldLog::line(Level, std::string_view message, std::initializer_list<Field> fields) {
  if (!is_loud) return;
  std::string text = std::to_string(scheduler_.now().time_since_epoch().count()) + " " + std::string(message);
  for (const Field& field : fields) text += " " + std::string(field.key) + "=" + field.value;
  std::fprintf(stderr, "  %s\n", text.c_str());
}

Node::Node(uint64_t seed, const Server& server, bool loud) : dice_(seed), server_(server) {
  log_.is_loud = loud;
  cluster.keeps_log = false;
  cluster.history_max = 400;
  cluster.git_version = server.version;
  for (const auto* kind : {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes,
                           &kube::kDeviceExposurePolicies, &kClaims, &kube::kPods})
    cluster.install(*kind);
  cluster.on_admit = [this](const fake::Request& request, Json& object) -> std::optional<kube::Failure> {
    if (request.plural == "resourceslices") drop_fields(object, server_);
    return std::nullopt;
  };
  machine.now = [this] { return scheduler.now(); };
  machine.on_event = [this](hotplug::HostEvent event, const std::string& key) {
    deliver(std::move(event), key);
  };
  label({{"zone", "a"}});
}

Node::~Node() { stop(); }

void Node::deliver(hotplug::HostEvent event, const std::string& key) {
  if (!daemon_) return;
  const bool is_udev = std::holds_alternative<hotplug::Uevent>(event);
  TimePoint& at = heard_at_[is_udev ? key : std::string("netlink")];
  at = std::max(at, scheduler.now() + dice_.millis(0, kEventDelayMax));
  const uint64_t id = next_event_++;
  events_[id] = scheduler.after(at - scheduler.now(), [this, id, is_udev, life = life_, event] {
    const auto keep = events_.extract(id);
    const auto& hear = is_udev ? udev_.on_event : netlink_.on_event;
    if (daemon_ && life == life_ && hear) hear(event);
  });
}

// Between two things that the kernel does.
void Node::tick() {
  if (daemon_) scheduler.advance(dice_.millis(0, 3));
}

const sim::Machine::Interface* Node::interface_named(const std::string& name) const {
  for (const auto& [ifindex, netdev] : machine.interfaces())
    if (netdev.is_here && netdev.name == name) return &netdev;
  return nullptr;
}

void Node::plug(int slot, const std::string& name, const std::string& vendor, int numa, int total_vfs) {
  machine.plug_pf(slot, name, vendor, numa, total_vfs);
  tick();
}

void Node::set_vfs(const std::string& pf, int count, const std::string& driver) {
  const auto at = machine.functions().find(pf);
  if (at == machine.functions().end()) return;
  for (const std::string& vf : machine.vfs_of(pf)) {
    machine.unlink_vf(pf, machine.functions().at(vf).index);
    tick();
    machine.unplug(vf);
    tick();
  }
  machine.announce_num_vfs(pf, 0);
  for (int i = 0; i < std::min(count, at->second.total_vfs); ++i) {
    machine.add_vf(pf, i);
    tick();
    machine.link_vf(pf, i);
    tick();
    const std::string vf = sim::Machine::vf_address(pf, i);
    machine.bind(vf, driver);
    const auto* netdev = machine.interface_of(vf);
    const auto* above = machine.interface_of(pf);
    if (netdev != nullptr && above != nullptr)
      machine.rename(netdev->ifindex, above->name + "v" + std::to_string(i));
    tick();
  }
  machine.announce_num_vfs(pf, std::min(count, at->second.total_vfs));
}

void Node::add_vlan(const std::string& parent, int id) {
  if (const auto* below = interface_named(parent)) machine.add_vlan(below->ifindex, id);
}

void Node::enslave(const std::string& interface, const std::string& master) {
  const auto* netdev = interface_named(interface);
  const auto* above = interface_named(master);
  if (netdev != nullptr) machine.enslave(netdev->ifindex, above == nullptr ? 0 : above->ifindex);
}

void Node::set_default_route(const std::string& interface, bool on) {
  if (const auto* netdev = interface_named(interface)) machine.set_default_route(netdev->ifindex, on);
}

void Node::remove_link(const std::string& interface) {
  if (const auto* netdev = interface_named(interface)) machine.remove_link(netdev->ifindex);
}

void Node::move_away(const std::string& function) {
  if (const auto* netdev = machine.interface_of(function)) machine.move_away(netdev->ifindex);
}

void Node::come_back(const std::string& function) {
  if (const auto* netdev = machine.interface_of(function)) machine.come_back(netdev->ifindex, "");
}

void Node::reboot() {
  std::vector<int> links;
  for (const auto& [ifindex, netdev] : machine.interfaces())
    if (netdev.kind != "pci") links.push_back(ifindex);
  for (const int ifindex : links) machine.remove_link(ifindex);
  for (const std::string& pf : machine.pfs()) {
    for (const std::string& vf : machine.vfs_of(pf)) machine.unplug(vf);
    machine.unplug(pf);
  }
  machine.boot_id = "boot-" + std::to_string(++boots_);
}

void Node::start() {
  if (daemon_) return;
  ++life_;
  heard_at_.clear();
  machine.daemon_starts();
  std::vector<std::unique_ptr<hotplug::EventSource>> events;
  events.push_back(std::make_unique<fake::FakeEvents>(udev_));
  events.push_back(std::make_unique<fake::FakeEvents>(netlink_));
  config::Options options;
  options.node_name = kName;
  daemon_ = std::make_unique<sliced::daemon::Daemon>(
      sliced::daemon::Ports{{scheduler, executor_, machine.view(), std::move(events), log_, {}},
                            cluster,
                            [this] { return dice_.real(); }},
      options);
  daemon_->start();
  daemon_->permit_writes(true);
}

void Node::stop() { daemon_.reset(); }

void Node::run(Millis time) { scheduler.advance(time); }

bool Node::settle(Millis time_max) {
  const TimePoint end = scheduler.now() + time_max;
  TimePoint busy_at = scheduler.now();
  int64_t version = cluster.resource_version();
  while (scheduler.now() - busy_at < kQuiet) {
    if (scheduler.now() >= end) return false;
    run(kStep);
    const bool is_quiet = daemon_ && daemon_->converged() && daemon_->idle() && events_.empty();
    if (!is_quiet || std::exchange(version, cluster.resource_version()) != version) busy_at = scheduler.now();
  }
  return true;
}

namespace {

// The pod that has the claim, and its name.
Json pod_of(const Json& claim, const std::string& node) {
  const std::string name(claim.find("metadata")->text("name"));
  Json meta, named, spec, pod;
  meta.set("name", name);
  meta.set("namespace", "default");
  named.set("name", "c");
  named.set("resourceClaimName", name);
  spec.set("nodeName", node);
  spec.set("resourceClaims", Json::Array{std::move(named)});
  pod.set("metadata", std::move(meta));
  pod.set("spec", std::move(spec));
  return pod;
}

}  // namespace

void Node::set_claims(const std::vector<Json>& claims) {
  std::vector<std::string> gone;
  cluster.for_each(kClaims, [&](const Json& object) {
    const std::string name(object.find("metadata")->text("name"));
    const bool stays = std::any_of(claims.begin(), claims.end(), [&](const Json& claim) {
      return claim.find({"metadata", "name"}) != nullptr && claim.find("metadata")->text("name") == name;
    });
    if (!stays) gone.push_back(name);
  });
  for (const std::string& name : gone) {
    cluster.remove(kClaims, name, "default");
    cluster.remove(kube::kPods, name, "default");
  }
  for (const Json& claim : claims) {
    cluster.put(kube::kPods, pod_of(claim, kName));
    cluster.put(kClaims, claim);
  }
}

void Node::label(const std::map<std::string, std::string>& labels) {
  Json::Object map;
  for (const auto& [key, value] : labels) map.emplace_back(key, value);
  cluster.put(kube::kNodes,
              Json::Object{{"metadata",
                            Json::Object{{"name", kName}, {"uid", "uid-node"}, {"labels", std::move(map)}}}});
}

}  // namespace sliced::worlds
