// The steps of a history.
#include "t/sim/steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "kube/kinds.h"
#include "reactor/base/text.h"
#include "t/sim/history.h"

namespace sliced::sim {
namespace {

using kube::Failure;
using kube::Json;

// ---- the host

std::string some_pf(World& world) {
  const auto pfs = world.machine.pfs();
  return pfs.empty() ? "" : world.dice().pick(pfs);
}

std::string some_vf(World& world) {
  const auto vfs = world.machine.vfs_of(some_pf(world));
  return vfs.empty() ? "" : world.dice().pick(vfs);
}

// An interface that holds, of a PF, a VF or a link; 0 for none.
template <class Pred>
int some_interface(World& world, Pred pred) {
  std::vector<int> found;
  for (const auto& [ifindex, netdev] : world.machine.interfaces())
    if (pred(netdev)) found.push_back(ifindex);
  return found.empty() ? 0 : world.dice().pick(found);
}
bool is_own(const Machine::Interface& netdev) { return netdev.is_here && !netdev.function.empty(); }

void change_vfs(World& world) {
  world.set_vfs(some_pf(world),
                static_cast<int>(world.dice().below(static_cast<size_t>(world.knobs.vfs_max) + 1)));
}
void plug(World& world) {
  world.plug(static_cast<int>(world.dice().below(static_cast<size_t>(world.knobs.pfs))));
}
void unplug(World& world) {
  const std::string pf = some_pf(world);
  if (pf.empty() || world.is_busy(pf)) return;
  const int slot = static_cast<int>((*parse_hex(std::string_view(pf).substr(5, 2)) - 0x10) / 3);
  const auto vfs = world.machine.functions().at(pf).num_vfs;
  world.unplug(pf);
  if (!world.dice().chance(0.7)) return;
  world.later(world.dice().millis(10, 3'000), [&world, slot, vfs] {
    world.plug(slot);
    world.set_vfs(Machine::pf_address(slot), vfs);
  });
}
void rebind(World& world) {
  const std::string vf = some_vf(world);
  if (vf.empty() || world.is_busy(world.machine.functions().at(vf).pf)) return;
  const std::string before = world.machine.functions().at(vf).driver;
  world.machine.unbind(vf);
  const std::string next = before == "vfio-pci" ? "" : "vfio-pci";
  world.later(world.dice().millis(0, 300), [&world, vf, next] { world.machine.bind(vf, next); });
}
void leave_it_unbound(World& world) {
  const std::string vf = some_vf(world);
  if (!vf.empty() && !world.is_busy(world.machine.functions().at(vf).pf)) world.machine.unbind(vf);
}
void bind_again(World& world) {
  for (const auto& [address, function] : world.machine.functions())
    if (!function.pf.empty() && function.driver.empty() && !world.is_busy(function.pf))
      return world.machine.bind(std::string(address), "");
}
void to_a_pod(World& world) {
  const int moved = some_interface(world, is_own);
  if (moved == 0) return;
  const std::string function = world.machine.interfaces().at(moved).function;
  world.machine.move_away(moved);
  world.later(Millis{80} + world.knobs.netlink_delay_max + world.dice().millis(0, 200),
              [&world, function] { world.machine.move_rdma_away(function); });
  if (!world.dice().chance(0.5)) return;
  const bool renamed = world.dice().chance(0.3);
  world.later(world.dice().millis(5, 4'000), [&world, moved, renamed] {
    world.machine.come_back(moved, renamed ? "pod" + std::to_string(moved) : "");
  });
}
void from_a_pod(World& world) {
  const int back = some_interface(world, [](const auto& netdev) { return !netdev.is_here; });
  world.machine.come_back(back, world.dice().chance(0.3) ? "back" + std::to_string(back) : "");
}
void rename(World& world) {
  const int renamed = some_interface(world, is_own);
  static const std::vector<std::string> kNames = {"net0", "net1", "ens1f0", "ens2f0", "lan", "ens1f0v0"};
  world.machine.rename(renamed, world.dice().pick(kNames));
}
void enslave(World& world) {
  world.machine.add_bridge("br0");
  const int bridge = some_interface(world, [](const auto& netdev) { return netdev.kind == "bridge"; });
  world.machine.enslave(some_interface(world, is_own), bridge);
}
void free_slave(World& world) {
  world.machine.enslave(some_interface(world, [](const auto& netdev) { return netdev.master != 0; }), 0);
}
void route(World& world) {
  world.machine.set_default_route(some_interface(world, [](const auto& netdev) { return netdev.is_here; }),
                                  world.dice().chance(0.5));
}
void no_routes(World& world) {
  for (const auto& [ifindex, netdev] : std::map(world.machine.interfaces()))
    if (netdev.has_default_route) world.machine.set_default_route(ifindex, false);
}
void vlan(World& world) {
  const int parent = some_interface(world, is_own);
  world.machine.add_vlan(parent, 100 + static_cast<int>(world.dice().below(2)));
  const int made =
      some_interface(world, [&](const auto& netdev) { return netdev.parent == parent && parent != 0; });
  if (made != 0 && world.dice().chance(0.6)) world.machine.set_default_route(made, true);
}
void remove_link(World& world) {
  world.machine.remove_link(some_interface(world, [](const auto& netdev) { return netdev.kind != "pci"; }));
}
void storm(World& world) {
  for (int i = 0; i < 30; ++i) {
    world.machine.poke(some_interface(world, is_own));
    world.machine.poke_function(some_pf(world));
  }
}
void overflow_udev(World& world) { world.lose_events(true); }
void overflow_netlink(World& world) { world.lose_events(false); }

// ---- faults of the host

void race(World& world) { world.is_racing = !world.is_racing; }
void unreadable(World& world) {
  const std::string part = world.dice().chance(0.3) ? "sys/bus/pci/devices" : some_vf(world);
  if (part.empty()) return;
  const bool whole = part.starts_with("sys/");
  world.may_hide_devices = world.machine.is_blind = true;
  world.fault(
      "unreadable", world.dice().millis(10, 4'000), Millis{310'000},
      [&] {
        world.on_read = [&world, part, whole](const char*, std::string_view path) -> std::optional<Error> {
          const bool hit = whole ? path == part : path.find(part) != std::string_view::npos;
          if (!hit) return std::nullopt;
          ++world.seen["read failed"];
          world.may_hide_devices = world.machine.is_blind = true;
          return Error{Errc::kIo, std::string(path) + ": EIO"};
        };
      },
      [&world] { world.on_read = {}; });
}
void hang(World& world) {
  const std::string part = some_vf(world);
  if (part.empty()) return;
  world.may_hide_devices = world.machine.is_blind = true;
  world.fault(
      "hang", world.dice().millis(10, 9'000), Millis{330'000},
      [&] {
        world.on_read = [&world, part](const char*, std::string_view path) -> std::optional<Error> {
          if (path.find(part) == std::string_view::npos) return std::nullopt;
          ++world.seen["read hung"];
          world.may_hide_devices = world.machine.is_blind = true;
          throw fake::FakeExecutor::Hang{};
        };
      },
      [&world] { world.on_read = {}; });
}
void slow_reads(World& world) { world.executor.answer_after = world.dice().millis(0, 30); }

// ---- policies

std::string some_name(World& world) {
  return std::string("p") + static_cast<char>('0' + world.dice().below(4));
}
void put_policy(World& world) { world.put(world.random_policy(some_name(world))); }
void remove_policy(World& world) { world.remove_policy(some_name(world)); }
void open_policy(World& world) {
  Policy all{.name = some_name(world)};
  all.configs.emplace_back();
  world.put(all);
}
// The generator aims at a third of histories with this; the judge counts what the daemon saw.
void policy_during_hotplug(World& world) {
  change_vfs(world);
  world.later(world.dice().millis(1, 120), [&world] { world.put(world.random_policy(some_name(world))); });
}
void put_attributes(World& world) {
  Attributes object{.name = "a" + std::to_string(world.dice().below(2)), .labels = {{"kind", "x"}}};
  if (world.dice().chance(0.2)) object.labels = {{"kind", "y"}};
  object.texts["example.com/color"] = world.dice().chance(0.5) ? "red" : "blue";
  if (world.dice().chance(0.5)) object.texts["grade"] = std::to_string(world.dice().below(3));
  world.put(object);
}
void remove_attributes(World& world) { world.remove_attributes("a" + std::to_string(world.dice().below(2))); }
void relabel(World& world) {
  Labels labels = {{"kubernetes.io/hostname", World::kNode}, {"zone", world.dice().chance(0.7) ? "a" : "b"}};
  world.relabel(labels);
}
void recreate_node(World& world) { world.recreate_node(world.dice().millis(0, 5'000)); }
void uninstall(World& world) {
  world.uninstall(world.dice().chance(0.7) ? kube::kSriovResourcePolicies : kube::kDeviceAttributes,
                  world.dice().millis(0, 8'000));
}

// ---- faults of the cluster

constexpr Millis kRelistBound{130'000};  // a list's backoff at its longest, then a write's
constexpr Millis kBlackHoleBound{480'000};
constexpr Millis kQuarantineBound{420'000};  // the sync timer asks again for what was refused

const std::vector<std::string> kPlurals = {"nodes", "resourceslices", "sriovresourcepolicies",
                                           "deviceattributes"};

void compact(World& world) {
  world.cluster.compact();
  world.cluster.end_watches(world.dice().chance(0.5) ? "" : world.dice().pick(kPlurals));
  world.disturb(kRelistBound);
}
void expire(World& world) {
  world.cluster.expire_watches(world.dice().pick(kPlurals));
  world.disturb(kRelistBound);
}
void end_watches(World& world) {
  world.cluster.end_watches(world.dice().chance(0.3) ? "" : world.dice().pick(kPlurals));
  world.disturb(kRelistBound);
}
void break_watches(World& world) {
  world.cluster.fail_watches(Failure{Errc::kIo, 0, "", "watch: connection reset", std::nullopt},
                             world.dice().chance(0.3) ? "" : world.dice().pick(kPlurals));
  world.disturb(kRelistBound);
}
void bookmarks(World& world) { world.cluster.bookmark(); }
void garbage(World& world) {
  world.cluster.inject(world.dice().pick(kPlurals), kube::EventType::kModified, R"({"kind":"Status"})");
  world.disturb(kRelistBound);
}
void network_outage(World& world) {
  world.fault(
      "network", world.dice().millis(1, 20'000), kRelistBound,
      [&world] { world.cluster.set_network(fake::FakeCluster::Network::kRefused); },
      [&world] { world.cluster.set_network(fake::FakeCluster::Network::kUp); });
}
void black_hole(World& world) {
  world.fault(
      "network", world.dice().millis(1, 60'000), kBlackHoleBound,
      [&world] { world.cluster.set_network(fake::FakeCluster::Network::kBlackHole); },
      [&world] { world.cluster.set_network(fake::FakeCluster::Network::kUp); });
}
void deny(World& world) {
  const std::string plural = world.dice().pick(kPlurals);
  const bool cut = world.dice().chance(0.5);
  world.fault(
      "deny " + plural, world.dice().millis(1, 20'000), kRelistBound,
      [&] {
        world.cluster.deny(plural);
        if (cut) world.cluster.end_watches(plural);
      },
      [&world, plural] { world.cluster.allow(plural); });
}
void throttle(World& world) {
  const double share = 0.2 + 0.8 * world.dice().real();
  const bool after = world.dice().chance(0.5);
  world.fault(
      "throttle", world.dice().millis(1, 10'000), kRelistBound,
      [&] {
        world.on_request = [&world, share, after](const fake::Request& request) -> std::optional<Failure> {
          if (!world.dice().chance(share)) return std::nullopt;
          Failure busy{Errc::kBusy, 429, "TooManyRequests", request.verb + ": too many requests",
                       std::nullopt};
          if (after) busy.retry_after = Millis{2'000};
          return busy;
        };
      },
      [&world] { world.on_request = {}; });
}
void lose_replies(World& world) {
  world.fault(
      "replies", world.dice().millis(1, 5'000), kRelistBound,
      [&world] {
        world.on_answer = [&world](const fake::Request& request) -> std::optional<Failure> {
          if (!world.dice().chance(0.5)) return std::nullopt;
          return Failure{Errc::kIo, 0, "", request.verb + ": reply lost", std::nullopt};
        };
      },
      [&world] { world.on_answer = {}; });
}
void lag(World& world) {
  world.cluster.watch_lag = world.dice().millis(0, 600);
  world.disturb(kRelistBound);
}
void stale_lists(World& world) {
  world.cluster.stale_by = static_cast<int64_t>(world.dice().below(8));
  world.disturb(kRelistBound);
}
void latency(World& world) {
  world.cluster.latency = world.dice().millis(0, world.dice().chance(0.2) ? 800 : 20);
  world.disturb(kRelistBound);
}
void watch_list(World& world) { world.cluster.watch_list = !world.cluster.watch_list; }

// ---- admission and those who write what is ours

bool is_slice_write(const fake::Request& request) {
  return request.plural == "resourceslices" && (request.verb == "create" || request.verb == "update");
}
void refuse_entries(World& world) {
  world.may_hide_devices = true;
  const size_t which = world.dice().below(4);
  world.fault(
      "admission", world.dice().millis(10, 5'000), kQuarantineBound,
      [&] {
        world.on_admit = [&world, which](const fake::Request& request,
                                         Json& object) -> std::optional<Failure> {
          const Json* devices = object.find({"spec", "devices"});
          if (!is_slice_write(request) || devices == nullptr || devices->array()->size() <= which)
            return std::nullopt;
          world.may_hide_devices = true;
          Failure why{Errc::kInvalid, 422, "Invalid", "the server refuses a device", std::nullopt};
          why.fields = {"spec.devices[" + std::to_string(which) + "].attributes"};
          return why;
        };
      },
      [&world] { world.on_admit = {}; });
}
void drop_fields(World& world) {
  world.may_hide_devices = true;
  world.fault(
      "admission", world.dice().millis(10, 5'000), kQuarantineBound,
      [&world] {
        world.on_admit = [&world](const fake::Request& request, Json& object) -> std::optional<Failure> {
          if (!is_slice_write(request)) return std::nullopt;
          world.may_hide_devices = true;
          Json spec = *object.find("spec");
          if (const Json* devices = spec.find("devices"); devices != nullptr && devices->array() != nullptr) {
            Json changed = *devices;
            for (Json& device : *changed.array())
              if (Json attributes = device.find("attributes") ? *device.find("attributes") : Json();
                  attributes.object() != nullptr) {
                std::erase_if(*attributes.object(),
                              [](const auto& one) { return one.first.ends_with("/resourceName"); });
                device.set("attributes", std::move(attributes));
              }
            spec.set("devices", std::move(changed));
            object.set("spec", std::move(spec));
          }
          return std::nullopt;
        };
      },
      [&world] { world.on_admit = {}; });
}
void wipe(World& world) {
  world.tamper([&world] {
    world.cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + World::kNode);
  });
}
template <class Change>
void edit_a_slice(World& world, Change change) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  const StoredSlice& one = world.dice().pick(slices);
  world.tamper([&] {
    Json object = *world.cluster.object(kube::kResourceSlices, one.name);
    Json spec = *object.find("spec");
    change(object, spec);
    object.set("spec", std::move(spec));
    world.cluster.put(kube::kResourceSlices, std::move(object));
  });
}
void edit_devices(World& world) {
  edit_a_slice(world, [](Json&, Json& spec) { spec.set("devices", Json::Array{}); });
}
void edit_pool(World& world) {
  const int64_t more = world.dice().chance(0.5) ? 1 : 40;
  edit_a_slice(world, [&](Json&, Json& spec) {
    Json pool = *spec.find("pool");
    pool.set("generation", *pool.find("generation")->integer() + more);
    spec.set("pool", std::move(pool));
  });
}
void edit_metadata(World& world) {
  edit_a_slice(world, [](Json& object, Json&) {
    Json meta = *object.find("metadata");
    meta.set("labels", Json::Object{{"by", "somebody"}});
    meta.set("ownerReferences", Json::Array{});
    object.set("metadata", std::move(meta));
  });
}
void delete_a_slice(World& world) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  world.tamper([&] { world.cluster.remove(kube::kResourceSlices, world.dice().pick(slices).name); });
}
// Somebody else's object under a name of ours.
void squat(World& world) {
  const auto slices = world.stored();
  if (slices.empty()) return;
  const std::string name = world.dice().pick(slices).name;
  world.tamper([&] {
    world.cluster.remove(kube::kResourceSlices, name);
    world.cluster.put(
        kube::kResourceSlices,
        Json::Object{
            {"metadata", Json::Object{{"name", name}}},
            {"spec",
             Json::Object{
                 {"driver", "other.example.com"},
                 {"nodeName", "node-b"},
                 {"pool", Json::Object{{"name", "node-b"}, {"generation", 1}, {"resourceSliceCount", 1}}}}}});
  });
}
void end_squatting(World& world) {
  world.cluster.remove_where(kube::kResourceSlices, "spec.driver=other.example.com");
}
// A slice of our driver and node that we did not make.
void foreign_slice(World& world) {
  world.tamper([&world] {
    world.cluster.put(
        kube::kResourceSlices,
        Json::Object{
            {"metadata", Json::Object{{"name", "foreign-" + std::to_string(world.dice().below(3))}}},
            {"spec",
             Json::Object{
                 {"driver", World::kDriver},
                 {"nodeName", World::kNode},
                 {"pool", Json::Object{{"name", world.dice().chance(0.7) ? World::kNode : "p"},
                                       {"generation", static_cast<int64_t>(1 + world.dice().below(99))},
                                       {"resourceSliceCount", 1}}}}}});
  });
}

// ---- the daemon

void restart(World& world) { world.stop_daemon(true, world.dice().millis(0, 2'000)); }
void kill(World& world) { world.stop_daemon(false, world.dice().millis(0, 2'000)); }
void kill_in_write(World& world) {
  world.kill_at_next_write();
  put_policy(world);
}
void reload(World& world) { world.reload(); }
void reboot(World& world) { world.reboot(); }
void rest(World& world) { world.come_to_rest(); }

constexpr StepKind kOthers[] = {
    {"rest", &Knobs::quiet, 0, rest},
    {"change number of VFs", &Knobs::host, 8, change_vfs},
    {"plug PF", &Knobs::host, 3, plug},
    {"unplug PF", &Knobs::host, 2, unplug},
    {"rebind VF", &Knobs::host, 5, rebind},
    {"unbind VF", &Knobs::host, 1, leave_it_unbound},
    {"bind VF", &Knobs::host, 2, bind_again},
    {"move interface to a pod", &Knobs::host, 5, to_a_pod},
    {"interface comes back", &Knobs::host, 4, from_a_pod},
    {"rename interface", &Knobs::host, 3, rename},
    {"enslave", &Knobs::host, 2, enslave},
    {"free from bridge", &Knobs::host, 3, free_slave},
    {"default route", &Knobs::host, 2, route},
    {"no default routes", &Knobs::host, 2, no_routes},
    {"VLAN", &Knobs::host, 1, vlan},
    {"remove link", &Knobs::host, 2, remove_link},
    {"storm of events", &Knobs::host, 0.5, storm},
    {"lose udev events", &Knobs::host_faults, 1.5, overflow_udev},
    {"lose netlink events", &Knobs::host_faults, 1.5, overflow_netlink},
    {"reads race with changes", &Knobs::host_faults, 1, race},
    {"unreadable files", &Knobs::host_faults, 0.4, unreadable},
    {"hanging files", &Knobs::host_faults, 0.3, hang},
    {"slow reads", &Knobs::host_faults, 1, slow_reads},
    {"put policy", &Knobs::policies, 8, put_policy},
    {"delete policy", &Knobs::policies, 3, remove_policy},
    {"policy for all", &Knobs::policies, 3, open_policy},
    {"policy during hotplug", &Knobs::policies, 3, policy_during_hotplug},
    {"put DeviceAttributes", &Knobs::policies, 2, put_attributes},
    {"delete DeviceAttributes", &Knobs::policies, 1, remove_attributes},
    {"relabel node", &Knobs::policies, 2, relabel},
    {"recreate node", &Knobs::tampering, 0.5, recreate_node},
    {"uninstall CRD", &Knobs::cluster_faults, 0.4, uninstall},
    {"compact", &Knobs::cluster_faults, 1.5, compact},
    {"expire watches", &Knobs::cluster_faults, 1, expire},
    {"end watches", &Knobs::cluster_faults, 1.5, end_watches},
    {"break watches", &Knobs::cluster_faults, 1.5, break_watches},
    {"bookmarks", &Knobs::cluster_faults, 1, bookmarks},
    {"garbage event", &Knobs::cluster_faults, 0.5, garbage},
    {"outage", &Knobs::cluster_faults, 1, network_outage},
    {"black hole", &Knobs::cluster_faults, 0.3, black_hole},
    {"deny", &Knobs::cluster_faults, 1, deny},
    {"throttle", &Knobs::cluster_faults, 1, throttle},
    {"lose replies", &Knobs::cluster_faults, 1, lose_replies},
    {"watch lag", &Knobs::cluster_faults, 1, lag},
    {"stale lists", &Knobs::cluster_faults, 1, stale_lists},
    {"latency", &Knobs::cluster_faults, 1, latency},
    {"WatchList on or off", &Knobs::cluster_faults, 0.5, watch_list},
    {"refuse entries", &Knobs::tampering, 0.4, refuse_entries},
    {"drop fields", &Knobs::tampering, 0.4, drop_fields},
    {"wipe slices", &Knobs::tampering, 1, wipe},
    {"edit devices", &Knobs::tampering, 1, edit_devices},
    {"edit pool", &Knobs::tampering, 1, edit_pool},
    {"edit metadata", &Knobs::tampering, 1, edit_metadata},
    {"delete slice", &Knobs::tampering, 1, delete_a_slice},
    {"squat on a name", &Knobs::tampering, 0.4, squat},
    {"end squatting", &Knobs::tampering, 0.6, end_squatting},
    {"foreign slice", &Knobs::tampering, 1, foreign_slice},
    {"restart", &Knobs::restarts, 1, restart},
    {"kill", &Knobs::restarts, 1, kill},
    {"kill during a write", &Knobs::restarts, 1.5, kill_in_write},
    {"reload", &Knobs::restarts, 0.5, reload},
    {"reboot", &Knobs::restarts, 0.3, reboot},
};

const std::vector<StepKind>& all_steps() {
  static const std::vector<StepKind> kAll = [] {
    std::vector<StepKind> all(std::begin(kOthers), std::end(kOthers));
    all.insert(all.end(), claim_steps().begin(), claim_steps().end());
    return all;
  }();
  return kAll;
}

int pick_kind(Dice& dice, const Knobs& knobs) {
  if (dice.chance(knobs.quiet)) return 0;
  double all = 0;
  for (const StepKind& kind : all_steps()) all += kind.weight * (knobs.*kind.lively);
  double at = dice.real() * all;
  for (size_t i = 1; i < all_steps().size(); ++i) {
    at -= all_steps()[i].weight * (knobs.*all_steps()[i].lively);
    if (at < 0) return static_cast<int>(i);
  }
  return 0;
}

// Mostly no time or a little; sometimes enough for all to settle.
Millis pick_wait(Dice& dice) {
  switch (dice.below(10)) {
    case 0:
    case 1:
      return Millis{0};
    case 2:
    case 3:
    case 4:
      return dice.millis(0, 20);
    case 5:
    case 6:
      return dice.millis(0, 200);
    case 7:
    case 8:
      return dice.millis(0, 1'500);
    default:
      return dice.millis(0, 12'000);
  }
}

}  // namespace

std::string describe(const Step& step) {
  return std::string(all_steps()[static_cast<size_t>(step.kind)].name) + ", luck " +
         std::to_string(step.luck) + ", then " + std::to_string(step.wait.count()) + " ms";
}

Knobs knobs_for(uint64_t seed) {
  Dice dice(seed * 31 + 7);
  Knobs knobs;
  knobs.pfs = 1 + static_cast<int>(dice.below(3));
  if (dice.chance(0.5)) knobs.vfs_max = 3;
  if (dice.chance(0.02)) knobs.pfs = 2, knobs.vfs_max = knobs.total_vfs = 90;  // more than one slice
  // Calm histories are judged more strictly: with fewer disturbances less is excused.
  if (dice.chance(0.4)) knobs.cluster_faults = 0.1;
  if (dice.chance(0.4)) knobs.host_faults = 0.2;
  if (dice.chance(0.4)) knobs.tampering = 0.1;
  if (dice.chance(0.3)) knobs.restarts = 0.2;
  if (dice.chance(0.2)) knobs.udev_delay_max = Millis{1'500};
  if (dice.chance(0.3)) knobs.duplicates = 0;
  if (dice.chance(0.4) && knobs.total_vfs < 90) knobs.claims = 1;
  return knobs;
}

History make_history(uint64_t seed, size_t steps) {
  History history{seed, knobs_for(seed), {}};
  Dice dice(seed);
  for (size_t i = 0; i < steps; ++i) {
    const int kind = pick_kind(dice, history.knobs);
    const uint64_t luck = dice.next();
    history.steps.push_back({kind, luck, pick_wait(dice)});
  }
  return history;
}

Outcome run_history(const History& history, bool loud) {
  World world(history.seed, history.knobs);
  world.log.is_loud = loud;
  for (int slot = 0; slot < history.knobs.pfs; ++slot) world.plug(slot);
  change_vfs(world);
  world.start_daemon();
  Outcome outcome;
  for (; outcome.step < history.steps.size() && !world.violation(); ++outcome.step) {
    const Step& step = history.steps[outcome.step];
    if (loud) std::fprintf(stderr, "---- step %zu: %s\n", outcome.step, describe(step).c_str());
    world.reseed(step.luck);
    world.trace(all_steps()[static_cast<size_t>(step.kind)].name);
    all_steps()[static_cast<size_t>(step.kind)].run(world);
    world.advance(step.wait);
    world.judge();
  }
  if (!world.violation()) world.come_to_rest();
  outcome.violation = world.violation();
  for (const auto& [message, count] : world.log.said) {
    if (message == "slices were changed by somebody else; restoring") world.seen["restored"] = count;
    if (message == "somebody keeps changing our slices; restoring more slowly") world.seen["fight"] = count;
    if (message == "a slice of somebody else has our name; taking another") world.seen["squatter"] = count;
    if (message.starts_with("the Node object is gone")) world.seen["node gone"] = count;
    if (message == "kind is not installed; waiting for it") world.seen["kind not installed"] = count;
    if (message == "watch is silent; watching anew") world.seen["silent watch"] = count;
    if (message == "listed again") world.seen["relisted"] = count;
    if (message == "withdrawn devices are free") world.seen["shown free by the claims"] = count;
    if (message == "devices are allocated that no record tells of; they are charged")
      world.seen["charged by the claims alone"] = count;
    if (message.starts_with("the ResourceClaims cannot be listed"))
      world.seen["claims cannot be listed"] = count;
    if (message == "facts of interfaces that are away were recovered from our own slices")
      world.seen["facts recovered"] = count;
  }
  outcome.trace = mix(world.trace_hash(), std::to_string(world.log.hash));
  outcome.seen = world.seen;
  outcome.writes = world.writes;
  outcome.log.assign(world.log.tail.begin(), world.log.tail.end());
  return outcome;
}

History shortened(const History& history, const Outcome& outcome, double seconds_max) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_max);
  History best = history;
  best.steps.resize(std::min(best.steps.size(), outcome.step + 1));
  const auto still_fails = [&](const History& candidate) {
    const Outcome now = run_history(candidate);
    return now.violation && now.violation->invariant == outcome.violation->invariant;
  };
  if (!still_fails(best)) return history;
  for (size_t chunk = std::max<size_t>(1, best.steps.size() / 2); chunk > 0; chunk /= 2) {
    for (size_t at = 0; at < best.steps.size();) {
      if (std::chrono::steady_clock::now() > end) return best;
      History candidate = best;
      const auto first = candidate.steps.begin() + static_cast<long>(at);
      candidate.steps.erase(first, first + static_cast<long>(std::min(chunk, candidate.steps.size() - at)));
      if (still_fails(candidate))
        best = std::move(candidate);
      else
        at += chunk;
    }
  }
  return best;
}

}  // namespace sliced::sim
