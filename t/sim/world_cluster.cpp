// The cluster of a world: policies, attributes, the Node, kinds that are uninstalled, and others who write.
#include <algorithm>
#include <cstdio>

#include "kube/objects/kinds.h"
#include "t/sim/bounds.h"
#include "t/sim/world.h"

namespace sliced::sim {

using kube::Json;

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

namespace {

constexpr const char* kOldVersion = "v1.36.1";
constexpr Millis kVersionBound{
    180'000};  // each watch has ended and is followed again, and the claims have told

}  // namespace

bool World::counts() const {
  int minor = 0, patch = 0;
  const bool is_read = std::sscanf(cluster.git_version.c_str(), "v1.%d.%d", &minor, &patch) == 2;
  return knobs.counters && is_read && (minor > 36 || (minor == 36 && patch >= 2));
}

// Every watch ends; before it is followed again nobody can know.
void World::change_version() {
  if (!knobs.counters) return;
  cluster.git_version = cluster.git_version == kOldVersion ? knobs.version : kOldVersion;
  cluster.expire_watches();
  disturb(kVersionBound);
  ++seen["another version"];
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
  if (knobs.readiness > 0 && dice_.chance(0.6)) {
    policy.wants_mac_for =
        dice_.chance(0.3) ? Millis{0} : kMacAskedForMax - Millis{dice_.chance(0.5) ? 4'000 : 0};
    policy.keeps = dice_.chance(0.4);
  }
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

}  // namespace sliced::sim
