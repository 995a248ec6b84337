// Histories: which steps they are made of, and what is seen of them.
#include "t/sim/steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "t/sim/history.h"
#include "t/sim/server_faults.h"

namespace sliced::sim {
namespace {

void restart(World& world) { world.stop_daemon(true, world.dice().millis(0, 2'000)); }
void kill(World& world) { world.stop_daemon(false, world.dice().millis(0, 2'000)); }
void kill_in_write(World& world) {
  world.kill_at_next_write();
  put_policy(world);
}
// What has changed meanwhile must count from the first write on.
void change_while_down(World& world) {
  const Millis down = world.dice().millis(300, 2'000);
  world.stop_daemon(false, down);
  for (size_t i = 0; i < 1 + world.dice().below(2); ++i)
    world.later(world.dice().millis(0, down.count() - 1), [&world] { change_policies(world); });
}
void restart_with_interfaces_away(World& world) {
  for (size_t i = 0; i < 1 + world.dice().below(3); ++i)
    if (const auto* netdev = world.machine.interface_of(some_vf(world)))
      world.machine.move_away(netdev->ifindex);
  if (world.dice().chance(0.3)) change_policies(world);
  world.stop_daemon(world.dice().chance(0.5), world.dice().millis(0, 2'000));
  if (world.dice().chance(0.3)) change_policies(world);
}
// It deletes what the drivers of its node have published: of those that are not there, and after a boot of
// all.
void kubelet_starts(World& world) {
  const size_t how = world.dice().below(3);
  const bool changes = world.dice().chance(0.4);
  if (changes) change_policies(world);
  if (how == 0) return wipe_slices(world);
  const Millis down = world.dice().millis(50, 2'000);
  const Millis when =
      how == 1 ? world.dice().millis(0, down.count() - 1) : down + world.dice().millis(0, 300);
  world.stop_daemon(world.dice().chance(0.5), down);
  world.later(when, [&world] { wipe_slices(world); });
  if (changes) world.later(world.dice().millis(0, 2'000), [&world] { change_policies(world); });
}
void reload(World& world) { world.reload(); }
void reboot(World& world) { world.reboot(); }
void rest(World& world) { world.come_to_rest(); }

constexpr StepKind kRest[] = {{"rest", &Knobs::quiet, 0, rest}};
constexpr StepKind kDaemonSteps[] = {
    {"restart", &Knobs::restarts, 1, restart},
    {"kill", &Knobs::restarts, 1, kill},
    {"kill during a write", &Knobs::restarts, 1.5, kill_in_write},
    {"policies change while it is down", &Knobs::troubles, 0.7, change_while_down},
    {"restart with interfaces away", &Knobs::troubles, 0.7, restart_with_interfaces_away},
    {"kubelet starts", &Knobs::troubles, 1, kubelet_starts},
    {"reload", &Knobs::restarts, 0.5, reload},
    {"reboot", &Knobs::restarts, 0.3, reboot},
};

// The first is the rest.
const std::vector<StepKind>& all_steps() {
  static const std::vector<StepKind> kAll = [] {
    std::vector<StepKind> all;
    for (const auto group : {std::span<const StepKind>(kRest), host_steps(), policy_steps(), server_steps(),
                             writer_steps(), std::span<const StepKind>(kDaemonSteps), claim_steps()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return kAll;
}

int pick_kind(Dice& dice, const Knobs& knobs, const Weights& weights) {
  if (dice.chance(knobs.quiet)) return 0;
  const auto weight_of = [&](const StepKind& kind) {
    const auto at = weights.find(kind.name);
    return (at == weights.end() ? kind.weight : at->second) * (knobs.*kind.lively);
  };
  double all = 0;
  for (const StepKind& kind : all_steps()) all += weight_of(kind);
  double at = dice.real() * all;
  for (size_t i = 1; i < all_steps().size(); ++i) {
    at -= weight_of(all_steps()[i]);
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
  if (dice.chance(0.4)) knobs.excludes = 0;
  if (dice.chance(0.3)) knobs.troubles = 0;
  knobs.counters = knobs.claims == 0 || dice.chance(0.85);
  if (dice.chance(0.5)) knobs.readiness = 1;
  knobs.has_udevd = dice.chance(0.4);
  return knobs;
}

bool is_step(std::string_view name) {
  return std::any_of(all_steps().begin(), all_steps().end(),
                     [&](const StepKind& kind) { return name == kind.name; });
}

Knobs knobs_of_claims(uint64_t seed, const Release& release) {
  Dice dice(seed * 37 + 11);
  Knobs knobs = knobs_for(seed);
  knobs.total_vfs = 8;
  knobs.pfs = 1 + static_cast<int>(dice.below(2));
  knobs.vfs_max = 4;
  knobs.claims = 3;
  knobs.host = 0.8;
  knobs.cluster_faults = knobs.host_faults = knobs.tampering = 0.05;
  knobs.troubles = 0;
  knobs.excludes = dice.chance(0.3) ? 0.3 : 0;
  knobs.readiness = 0;
  knobs.has_udevd = false;
  knobs.quiet = 0.12;
  knobs.has_steps = knobs.judges_groups = true;
  knobs.version = release.version;
  knobs.counters = release.counters;
  knobs.shared = release.shared;
  // Gates are turned off, or on where the release has them off, or the scheduler is older.
  switch (dice.below(20)) {
    case 0:
      knobs.counters = !knobs.counters;
      break;
    case 1:
      knobs.shared = !knobs.shared;
      break;
    case 2:
      knobs.counters = !knobs.counters;
      knobs.shared = !knobs.shared;
      break;
    case 3:
    case 4:
      knobs.versions = 6;
      break;
    default:
      break;
  }
  return knobs;
}

History make_history(uint64_t seed, size_t steps, const Weights& weights) {
  return make_history(seed, steps, weights, knobs_for(seed));
}

History make_history(uint64_t seed, size_t steps, const Weights& weights, Knobs knobs) {
  History history{seed, std::move(knobs), {}};
  Dice dice(seed);
  for (size_t i = 0; i < steps; ++i) {
    const int kind = pick_kind(dice, history.knobs, weights);
    const uint64_t luck = dice.next();
    history.steps.push_back({kind, luck, pick_wait(dice)});
  }
  return history;
}

Outcome run_history(const History& history, bool loud) {
  World world(history.seed, history.knobs);
  world.log.is_loud = loud;
  world.kubernetes = history.kubernetes;
  for (int slot = 0; slot < history.knobs.pfs; ++slot) world.plug(slot);
  change_vfs(world);
  if (history.knobs.troubles > 0) put_others_objects(world);
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
    if (message == "ResourceSlices changed by another writer: restoring") world.seen["restored"] = count;
    if (message == "ResourceSlices changed again by another writer: restoring with backoff")
      world.seen["fight"] = count;
    if (message == "name of a ResourceSlice in use by another object: using the next name")
      world.seen["squatter"] = count;
    if (message.starts_with("Node object deleted")) world.seen["node gone"] = count;
    if (message == "kind not installed: waiting for it") world.seen["kind not installed"] = count;
    if (message.starts_with("objects outside the selector received"))
      world.seen["objects not asked for"] = count;
    if (message.starts_with("most objects missing from a list"))
      world.seen["list without what was known"] = count;
    if (message == "watch silent: restarting it") world.seen["silent watch"] = count;
    if (message == "listed again") world.seen["relisted"] = count;
    if (message == "withdrawn devices released: no ResourceClaim has them")
      world.seen["shown free by the claims"] = count;
    if (message.starts_with("withdrawn device released: its ResourceClaim"))
      world.seen["shown free by its claim alone"] = count;
    if (message == "unrecorded allocations found: the devices are reserved")
      world.seen["charged by the claims alone"] = count;
    if (message.starts_with("allocations exclude each other"))
      world.seen["withdrawn for what is allocated beside it"] = count;
    if (message.starts_with("ResourceClaims cannot be listed")) world.seen["claims cannot be listed"] = count;
    if (message == "facts of interfaces in pods restored from own ResourceSlices")
      world.seen["facts recovered"] = count;
  }
  if (!history.knobs.counters) world.seen["a server without counters"] = 1;
  if (!history.knobs.shared) world.seen["a server without shared devices"] = 1;
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
