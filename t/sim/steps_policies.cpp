// What administrators write, and the Node.
#include "kube/objects/kinds.h"
#include "t/sim/steps.h"

namespace sliced::sim {
namespace {

std::string some_name(World& world) {
  return std::string("p") + static_cast<char>('0' + world.dice().below(4));
}
}  // namespace

void put_policy(World& world) { world.put(world.random_policy(some_name(world))); }

namespace {

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
  if (world.dice().chance(0.25))
    return world.uninstall(kube::kDeviceExposurePolicies, world.dice().millis(0, 8'000));
  world.uninstall(world.dice().chance(0.7) ? kube::kSriovResourcePolicies : kube::kDeviceAttributes,
                  world.dice().millis(0, 8'000));
}
std::string name_of_exclude(World& world) { return "x" + std::to_string(world.dice().below(2)); }
void put_exclude(World& world) { world.put(world.random_exclude(name_of_exclude(world))); }
// Somebody edits one, and it cannot be understood any more.
void break_exclude(World& world) {
  const auto at = world.excludes.find(name_of_exclude(world));
  if (at == world.excludes.end()) return;
  Exclude broken = world.random_exclude(at->first);
  if (broken.flaw == Exclude::Flaw::kNone) broken.flaw = Exclude::Flaw::kField;
  broken.nodes = at->second.nodes;
  world.put(std::move(broken));
}
void remove_exclude(World& world) { world.remove_exclude(name_of_exclude(world)); }

constexpr StepKind kPolicySteps[] = {
    {"put policy", &Knobs::policies, 8, put_policy},
    {"delete policy", &Knobs::policies, 3, remove_policy},
    {"policy for all", &Knobs::policies, 3, open_policy},
    {"policy during hotplug", &Knobs::policies, 3, policy_during_hotplug},
    {"put DeviceAttributes", &Knobs::policies, 2, put_attributes},
    {"delete DeviceAttributes", &Knobs::policies, 1, remove_attributes},
    {"put exclude", &Knobs::excludes, 3, put_exclude},
    {"break exclude", &Knobs::excludes, 0.5, break_exclude},
    {"delete exclude", &Knobs::excludes, 2, remove_exclude},
    {"relabel node", &Knobs::policies, 2, relabel},
    {"recreate node", &Knobs::tampering, 0.5, recreate_node},
    {"uninstall CRD", &Knobs::cluster_faults, 0.4, uninstall},
};

}  // namespace

void change_policies(World& world) {
  constexpr void (*kChanges[])(World&) = {put_policy, remove_policy, open_policy, relabel};
  constexpr void (*kExcluding[])(World&) = {put_exclude, remove_exclude};
  if (world.knobs.excludes > 0 && world.dice().chance(0.4)) return kExcluding[world.dice().below(2)](world);
  kChanges[world.dice().below(std::size(kChanges))](world);
}

std::span<const StepKind> policy_steps() { return kPolicySteps; }

}  // namespace sliced::sim
