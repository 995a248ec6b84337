// What ails the API server and the way to it.
#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/sim/server_faults.h"
#include "t/sim/steps.h"

namespace sliced::sim {
namespace {

using kube::Failure;

constexpr Millis kBlackHoleBound{480'000};

const std::string& some_plural(World& world) { return world.dice().pick(watched_plurals()); }
void compact(World& world) {
  world.cluster.compact();
  world.cluster.end_watches(world.dice().chance(0.5) ? "" : some_plural(world));
  world.disturb(kRelistBound);
}
void expire(World& world) {
  world.cluster.expire_watches(some_plural(world));
  world.disturb(kRelistBound);
}
void end_watches(World& world) {
  world.cluster.end_watches(world.dice().chance(0.3) ? "" : some_plural(world));
  world.disturb(kRelistBound);
}
void break_watches(World& world) {
  world.cluster.fail_watches(Failure{Errc::kIo, 0, "", "watch: connection reset", std::nullopt},
                             world.dice().chance(0.3) ? "" : some_plural(world));
  world.disturb(kRelistBound);
}
void bookmarks(World& world) { world.cluster.bookmark(); }
void garbage(World& world) {
  world.cluster.inject(some_plural(world), kube::EventType::kModified, R"({"kind":"Status"})");
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
  const std::string plural = some_plural(world);
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
        world.refusals["throttle"] = [&world, share,
                                      after](const fake::Request& request) -> std::optional<Failure> {
          if (!world.dice().chance(share)) return std::nullopt;
          Failure busy{Errc::kBusy, 429, "TooManyRequests", request.verb + ": too many requests",
                       std::nullopt};
          if (after) busy.retry_after = Millis{2'000};
          return busy;
        };
      },
      [&world] { world.refusals.erase("throttle"); });
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

std::set<std::string> some_kinds(World& world) {
  std::set<std::string> out = {world.dice().pick(watched_plurals())};
  for (const std::string& plural : watched_plurals())
    if (world.dice().chance(0.3)) out.insert(plural);
  return out;
}
void no_backend(World& world) {
  std::set<std::string> asked = some_kinds(world);
  if (world.dice().chance(0.4)) asked = {watched_plurals().begin(), watched_plurals().end()};
  if (world.dice().chance(0.6)) asked.insert("discovery");
  const double share = world.dice().chance(0.6) ? 1 : world.dice().real();
  answer_not_found(world, asked, share, world.dice().millis(200, world.dice().chance(0.2) ? 40'000 : 5'000));
}
void no_kinds(World& world) { refuse_kinds(world, some_kinds(world), world.dice().millis(200, 15'000)); }
void forgotten(World& world, Millis time) {
  std::vector<kube::Resource> kinds;
  const auto some = some_kinds(world);
  for (const kube::Resource& kind : {kube::kNodes, kube::kResourceSlices, kube::kSriovResourcePolicies,
                                     kube::kDeviceAttributes, kube::kDeviceExposurePolicies})
    if (some.contains(kind.plural)) kinds.push_back(kind);
  forget_kinds(world, kinds, time);
  ++world.seen["forgotten kinds"];
}
void forgotten_for_a_moment(World& world) { forgotten(world, world.dice().millis(200, 20'000)); }
void forgotten_for_long(World& world) { forgotten(world, world.dice().millis(31'000, 70'000)); }
void no_selectors(World& world) { ignore_selectors(world, world.dice().millis(200, 20'000)); }
void the_past(World& world) {
  // Of claims nobody could know then what is free.
  const bool breaks_promises = world.dice().chance(0.3) && !world.exposed.is_used();
  serve_the_past(world, 1 + static_cast<int64_t>(world.dice().below(12)), breaks_promises,
                 world.dice().millis(200, 20'000));
}
void anything(World& world) {
  answer_anything(world, 0.3 + 0.7 * world.dice().real(), world.dice().millis(200, 15'000));
}
void lost_excludes(World& world) {
  world.come_to_rest();
  if (!world.violation()) lose_excludes(world, world.dice().millis(200, 4'000));
}

// What a daemon that starts now knows is what the one before knew.
bool is_all_to_be_seen(const World& world) {
  for (const auto& [address, function] : world.machine.functions()) {
    const auto* netdev = world.machine.interface_of(address);
    if (netdev == nullptr) continue;
    const bool is_away = !netdev->is_here && function.pf.empty();
    if (is_away || function.is_rdma_open || function.names != std::set<std::string>{netdev->name})
      return false;
  }
  // What it goes by of an exclude that cannot be understood any more.
  return std::all_of(world.excludes.begin(), world.excludes.end(), [](const auto& one) {
    return one.second.flaw == Exclude::Flaw::kNone || one.second.former.empty();
  });
}
void start_again(World& world) {
  if (is_all_to_be_seen(world)) world.stop_daemon(world.dice().chance(0.5), world.dice().millis(0, 2'000));
}

// Each alone in a world at rest: whatever it is, nothing is written.
constexpr void (*kUnmoving[])(World&) = {compact,
                                         expire,
                                         end_watches,
                                         break_watches,
                                         network_outage,
                                         black_hole,
                                         deny,
                                         throttle,
                                         latency,
                                         watch_list,
                                         no_backend,
                                         no_backend,
                                         no_kinds,
                                         no_selectors,
                                         the_past,
                                         anything,
                                         forgotten_for_a_moment,
                                         start_again};
void nothing_moves(World& world) {
  world.come_to_rest();
  if (world.violation()) return;
  const size_t before = world.writes;
  kUnmoving[world.dice().below(std::size(kUnmoving))](world);
  world.advance(world.dice().millis(100, 12'000));
  world.come_to_rest();
  world.expect_writes(before);
  ++world.seen["nothing moves"];
}

constexpr StepKind kServerSteps[] = {
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
    {"404 of a load balancer", &Knobs::troubles, 1.5, no_backend},
    {"kinds refused", &Knobs::troubles, 0.7, no_kinds},
    {"kinds forgotten", &Knobs::troubles, 0.7, forgotten_for_a_moment},
    {"kinds forgotten for long", &Knobs::troubles, 0.3, forgotten_for_long},
    {"selectors ignored", &Knobs::troubles, 0.7, no_selectors},
    {"lists of the past", &Knobs::troubles, 1, the_past},
    {"any answer", &Knobs::troubles, 0.5, anything},
    {"excludes lost", &Knobs::troubles, 0.2, lost_excludes},
    {"others' objects", &Knobs::troubles, 0.5, put_others_objects},
    {"nothing moves", &Knobs::troubles, 0.5, nothing_moves},
};

}  // namespace

std::span<const StepKind> server_steps() { return kServerSteps; }

}  // namespace sliced::sim
