// Steps of DeviceExposurePolicies, claims and who allocates.
#include <vector>

#include "kube/objects/kinds.h"
#include "t/sim/steps.h"

namespace sliced::sim {
namespace steps_claims {
namespace {

// A scheduler may be so late, and no later: design, charged.
constexpr int64_t kLagMax = 8'000;
constexpr Millis kClaimsBound{480'000};

std::string some_name(World& world) {
  static const std::vector<std::string> kNames = {"whole", "whole", "macvlan", "macvlan", "ipvlan", "vf",
                                                  "vf",    "share", "vdpa",    "links",   "all",    "vf-b"};
  return world.dice().pick(kNames);
}

void put_exposure(World& world) { world.exposed.put(world.exposed.random_policy(some_name(world))); }
void remove_exposure(World& world) { world.exposed.remove(some_name(world)); }
void whole_pfs_and_vfs(World& world) {
  for (const char* name : {"whole", "macvlan", "vf"}) world.exposed.put(world.exposed.random_policy(name));
}
void change_shape(World& world) { world.exposed.change_shape(); }
void add_link(World& world) {
  if (world.dice().chance(0.5))
    world.machine.add_virtual("dummy" + std::to_string(world.dice().below(2)));
  else
    world.machine.add_bridge("br" + std::to_string(world.dice().below(2)));
}

// And it is seen what comes of it.
void lose_macs(World& world) {
  if (!world.exposed.is_used()) return;
  world.exposed.lose_macs();
  if (world.dice().chance(0.3)) world.come_to_rest();
}
void allocate(World& world) { world.exposed.allocate(); }
void release(World& world) { world.exposed.release(); }
void release_all(World& world) { world.exposed.release_all(); }
// It goes on giving away what it saw.
void lag(World& world) {
  const Millis time = world.dice().millis(200, kLagMax);
  world.exposed.lag(time);
  if (world.dice().chance(0.7)) world.exposed.change_shape();
  for (int i = 0; i < 2; ++i)
    world.later(world.dice().millis(0, time.count() - 1), [&world] { world.exposed.allocate(); });
}
// What is allocated last may have been withdrawn already when the claims are listed for the first.
void change_shape_twice(World& world) {
  world.exposed.change_shape();
  world.later(world.dice().millis(5'000, 40'000), [&world] { lag(world); });
}
void deny_claims(World& world) {
  const std::string plural = world.dice().chance(0.7) ? "resourceclaims" : "pods";
  world.fault(
      "deny " + plural, world.dice().millis(1'000, 60'000), kClaimsBound, [&] { world.cluster.deny(plural); },
      [&world, plural] { world.cluster.allow(plural); });
}

// ---- whoever loses slices while somebody has what they say

void wipe(World& world) {
  world.tamper([&world] {
    world.cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + World::kNode);
  });
}
void kill_and_change(World& world, bool wipes) {
  const Millis down = world.dice().millis(200, 2'000);
  world.stop_daemon(false, down);
  const auto meanwhile = [&] { return world.dice().millis(0, down.count() - 100); };
  if (wipes) world.later(meanwhile(), [&world] { wipe(world); });
  if (world.dice().chance(0.7)) world.later(meanwhile(), [&world] { world.exposed.change_shape(); });
}
void change_while_down(World& world) { kill_and_change(world, false); }
void wipe_while_down(World& world) { kill_and_change(world, true); }
void wipe_and_kill(World& world) {
  wipe(world);
  world.later(world.dice().millis(0, 300), [&world] { kill_and_change(world, false); });
}
template <class Change>
void edit_a_slice(World& world, Change change) {
  std::vector<kube::Json> ours;
  world.cluster.for_each(kube::kResourceSlices, [&](const kube::Json& object) {
    if (object.find("spec")->text("driver") == kExposureDriver) ours.push_back(object);
  });
  if (ours.empty()) return;
  kube::Json object = world.dice().pick(ours);
  world.tamper([&] { change(object); });
}
void delete_a_slice(World& world) {
  edit_a_slice(world, [&](const kube::Json& object) {
    world.cluster.remove(kube::kResourceSlices, object.find("metadata")->text("name"));
  });
}
void empty_a_slice(World& world) {
  edit_a_slice(world, [&](kube::Json& object) {
    kube::Json spec = *object.find("spec");
    spec.set("devices", kube::Json::Array{});
    object.set("spec", std::move(spec));
    world.cluster.put(kube::kResourceSlices, std::move(object));
  });
}

void change_version(World& world) { world.change_version(); }

constexpr StepKind kSteps[] = {
    {"put DeviceExposurePolicy", &Knobs::claims, 6, put_exposure},
    {"delete DeviceExposurePolicy", &Knobs::claims, 2, remove_exposure},
    {"PFs, shared and whole, and VFs", &Knobs::claims, 1.5, whole_pfs_and_vfs},
    {"another shape for what is held", &Knobs::claims, 3, change_shape},
    {"two shapes for what is held", &Knobs::claims, 1, change_shape_twice},
    {"bridge or virtual link", &Knobs::claims, 0.7, add_link},
    {"what is exposed loses its MAC", &Knobs::readiness, 4, lose_macs},
    {"allocate", &Knobs::claims, 14, allocate},
    {"release", &Knobs::claims, 6, release},
    {"release all", &Knobs::claims, 0.5, release_all},
    {"the scheduler lags", &Knobs::claims, 2, lag},
    {"deny claims", &Knobs::claims, 0.5, deny_claims},
    {"change while down", &Knobs::claims, 1, change_while_down},
    {"wipe while down", &Knobs::claims, 1, wipe_while_down},
    {"wipe and kill", &Knobs::claims, 0.5, wipe_and_kill},
    {"delete a slice of DeviceExposurePolicies", &Knobs::claims, 0.4, delete_a_slice},
    {"empty a slice of DeviceExposurePolicies", &Knobs::claims, 0.3, empty_a_slice},
    {"another version", &Knobs::versions, 1, change_version},
};

}  // namespace
}  // namespace steps_claims

std::span<const StepKind> claim_steps() { return steps_claims::kSteps; }

}  // namespace sliced::sim
