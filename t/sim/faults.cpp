// The n-th fault: each scenario again and again, with the first, second, third ... operation of a kind
// failing, until a run has no such operation any more; and with memory refused at sampled allocations.
#include "t/sim/faults.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "kube/objects/kinds.h"
#include "t/sim/server_faults.h"
#include "t/sim/steps.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

const std::string kFirst = Machine::pf_address(0), kSecond = Machine::pf_address(1);

void offer_all(World& world) {
  Policy all{.name = "all"};
  all.configs.emplace_back();
  world.put(all);
}
int interface_of(World& world, const std::string& function) {
  const auto* netdev = world.machine.interface_of(function);
  return netdev == nullptr ? 0 : netdev->ifindex;
}
std::string vf(int index) { return Machine::vf_address(kFirst, index); }

// The lab's scenarios, as far as a machine without a kernel can have them.

void numbers_of_vfs(World& world) {
  for (const int count : {4, 0, 4, 2, 4}) {
    world.set_vfs(kFirst, count);
    world.advance(Millis{1'300});
  }
}
void pfs_come_and_go(World& world) {
  for (int i = 0; i < 3; ++i) {
    world.unplug(kFirst);
    if (i == 1) world.unplug(kSecond);
    world.advance(Millis{300});
    world.plug(0);
    world.plug(1);
    world.set_vfs(kFirst, 2);
    world.advance(Millis{1'300});
  }
}
void drivers(World& world) {
  world.machine.unbind(vf(0));
  world.advance(Millis{300});
  world.machine.bind(vf(0), "vfio-pci");
  world.advance(Millis{500});
  world.machine.unbind(vf(0));
  world.machine.bind(vf(0), "");
  world.advance(Millis{500});
}
void into_a_pod_and_back(World& world) {
  const int moved = interface_of(world, vf(1));
  world.machine.move_away(moved);
  world.advance(Millis{500});
  world.stop_daemon(true, Millis{500});
  world.advance(Millis{3'000});
  world.machine.come_back(moved, "pod0");
  world.advance(Millis{500});
}
void names_and_masters(World& world) {
  world.machine.rename(interface_of(world, kFirst), "uplink0");
  world.advance(Millis{500});
  world.machine.add_bridge("br0");
  const int slave = interface_of(world, vf(0));
  int bridge = 0;
  for (const auto& [ifindex, netdev] : world.machine.interfaces())
    if (netdev.kind == "bridge") bridge = ifindex;
  world.machine.enslave(slave, bridge);
  world.advance(Millis{500});
  world.machine.enslave(slave, 0);
  world.machine.set_default_route(slave, true);
  world.advance(Millis{500});
  world.machine.set_default_route(slave, false);
  world.advance(Millis{500});
}
void kills(World& world) {
  for (int i = 0; i < 6; ++i) {
    world.set_vfs(kFirst, i % 2 == 0 ? 4 : 2);
    world.advance(Millis{i * 37});
    world.stop_daemon(false, Millis{i * 100});
    world.advance(Millis{900});
  }
}
void storms(World& world) {
  for (int i = 0; i < 100; ++i) {
    world.machine.poke(interface_of(world, kFirst));
    world.machine.poke_function(kFirst);
  }
  world.lose_events(true);
  world.lose_events(false);
  world.set_vfs(kFirst, 4);
  world.advance(Millis{2'000});
}
void outage(World& world) {
  world.fault(
      "network", Millis{60'000}, Millis{130'000},
      [&] { world.cluster.set_network(fake::FakeCluster::Network::kRefused); },
      [&] { world.cluster.set_network(fake::FakeCluster::Network::kUp); });
  world.set_vfs(kFirst, 4);
  world.advance(Millis{61'000});
}
void numa_nodes(World& world) {
  Policy one{.name = "all"};
  one.configs.emplace_back().filters.emplace_back().numa_nodes = {1};
  world.put(one);
  world.set_vfs(kSecond, 2);
  world.advance(Millis{1'500});
}
void policies(World& world) {
  Policy narrow{.name = "all"};
  narrow.configs.emplace_back().filters.emplace_back().pf_addresses = {{kFirst, {{0, 0}}}};
  world.put(narrow);
  world.advance(Millis{200});
  offer_all(world);
  world.advance(Millis{200});
  world.put(Attributes{"a", {{"kind", "x"}}, {{"example.com/color", "red"}}});
  world.relabel({{"zone", "b"}});
  world.remove_policy("all");
  world.advance(Millis{200});
  offer_all(world);
  world.advance(Millis{200});
}
void others_write(World& world) {
  world.tamper([&] {
    world.cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + World::kNode);
  });
  world.advance(Millis{1'000});
  world.recreate_node(Millis{500});
  world.advance(Millis{5'000});
  world.cluster.compact();
  world.cluster.end_watches("");
  world.advance(Millis{2'000});
}
void crds(World& world) {
  world.uninstall(kube::kSriovResourcePolicies, Millis{2'000});
  world.advance(Millis{90'000});
  offer_all(world);
  world.advance(Millis{1'000});
}

void kubelet_starts_too(World& world) {
  world.stop_daemon(true, Millis{500});
  wipe_slices(world);
  world.remove_policy("all");
  world.advance(Millis{1'500});
  wipe_slices(world);
  offer_all(world);
  world.advance(Millis{1'000});
}
void exclude(World& world, Exclude::Asks asks, const std::string& value) {
  world.put(Exclude{.name = "x", .asks = asks, .value = value});
  world.advance(Millis{1'000});
}
void ill_servers(World& world) {
  exclude(world, Exclude::Asks::kVfIndex, "1");
  std::set<std::string> all = {watched_plurals().begin(), watched_plurals().end()};
  all.insert("discovery");
  answer_not_found(world, all, 1, Millis{4'000});
  world.advance(Millis{9'000});
  forget_kinds(world, {kube::kSriovResourcePolicies, kube::kDeviceExposurePolicies}, Millis{3'000});
  world.advance(Millis{9'000});
  put_others_objects(world);
  ignore_selectors(world, Millis{2'000});
  world.advance(Millis{5'000});
}
void interfaces_away(World& world) {
  const auto* netdev = world.machine.interface_of(vf(0));
  exclude(world, Exclude::Asks::kIfName, netdev == nullptr ? "" : netdev->name);
  world.machine.move_away(interface_of(world, vf(0)));
  world.advance(Millis{300});
  world.stop_daemon(false, Millis{300});
  world.advance(Millis{3'000});
}
void full_annotations(World& world) {
  fill_annotations(world);
  world.advance(Millis{300});
  exclude(world, Exclude::Asks::kIfName, "nobody0");
  world.set_vfs(kFirst, 1);
  world.advance(Millis{1'500});
}

struct Scenario {
  const char* name;
  void (*run)(World&);
};
constexpr Scenario kScenarios[] = {
    {"numbers-of-vfs", numbers_of_vfs},
    {"pfs-come-and-go", pfs_come_and_go},
    {"drivers", drivers},
    {"into-a-pod-and-back", into_a_pod_and_back},
    {"names-and-masters", names_and_masters},
    {"kills", kills},
    {"storms", storms},
    {"outage", outage},
    {"numa-nodes", numa_nodes},
    {"policies", policies},
    {"others-write", others_write},
    {"crds", crds},
    {"kubelet-starts", kubelet_starts_too},
    {"ill-servers", ill_servers},
    {"interfaces-away", interfaces_away},
    {"full-annotations", full_annotations},
};
constexpr const char* kOperations[] = {"list",  "watch", "write",   "get",      "discover", "schema",
                                       "event", "read",  "readdir", "readlink", "timer"};
// After one failed operation: the sync timer reads the host again, and asks again for what was refused.
constexpr Millis kFaultBound{420'000};

struct Run {
  std::optional<Violation> violation;
  std::map<std::string, uint64_t> counts;
  uint64_t failed = 0, deaths = 0, allocations = 0;
  std::vector<std::string> log;
};

Run run(const Scenario& scenario, const FaultPlan& plan, uint64_t refused_allocation) {
  Knobs knobs;
  knobs.duplicates = 0;
  World world(1, knobs);
  // Lists are asked for on servers without WatchList only; every other plan has it.
  if (plan.operation == "list") world.cluster.watch_list = false;
  world.plug(0);
  world.plug(1);
  world.set_vfs(kFirst, 2);
  world.advance(Millis{500});
  offer_all(world);
  world.border.plan = plan;
  if (plan.number > 0 || refused_allocation > 0) world.may_hide_devices = world.machine.is_blind = true;
  const uint64_t before = Memory::asked();
  Memory::refuse_after(refused_allocation);
  world.start_daemon();
  world.advance(Millis{3'000});
  scenario.run(world);
  Memory::refuse_after(0);
  Run out;
  out.allocations = Memory::asked() - before;
  if (plan.number > 0 || refused_allocation > 0) world.disturb(kFaultBound);
  world.come_to_rest();
  out.violation = world.violation();
  out.counts = world.border.counts;
  out.failed = world.border.failed;
  out.deaths = world.border.deaths;
  out.log.assign(world.log.tail.begin(), world.log.tail.end());
  return out;
}

bool report(const Scenario& scenario, const std::string& what, const Run& result) {
  if (!result.violation) return true;
  std::printf("FAILED scenario %s, %s: %s: %s\n", scenario.name, what.c_str(),
              result.violation->invariant.c_str(), result.violation->what.c_str());
  for (const std::string& line : result.log) std::printf("  log: %s\n", line.c_str());
  return false;
}

struct Samples {
  size_t failed = 0, ended = 0, crashed = 0;
};
enum Ending { kWell, kWrong, kEndedAndWell };

// In a process of its own: what an exception leaves behind in somebody else's library may end it there and
// then, as it would end the daemon's.
void refuse_allocation(const Scenario& scenario, uint64_t number, Samples& samples) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const Run result = run(scenario, {}, number);
    const bool well = report(scenario, "allocation " + std::to_string(number) + " is refused", result);
    std::fflush(stdout);
    ::_exit(!well ? kWrong : result.deaths > 0 ? kEndedAndWell : kWell);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    ++samples.failed;
    return;
  }
  if (!WIFEXITED(status)) ++samples.crashed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kWrong) ++samples.failed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kEndedAndWell) ++samples.ended;
}

}  // namespace

Tally sweep_faults(const std::string& only, size_t per_operation_max, size_t allocations) {
  Tally tally;
  for (const Scenario& scenario : kScenarios) {
    if (!only.empty() && only != scenario.name) continue;
    const Run plain = run(scenario, {}, 0);
    report(scenario, "no fault", plain) ? ++tally.passed : ++tally.failed;
    if (plain.violation) continue;
    std::string summary;
    for (const char* operation : kOperations) {
      // How many there are is known only by trying: a fault makes a run longer.
      const auto known = run(scenario, {operation, UINT64_MAX}, 0).counts[operation];
      const uint64_t stride = per_operation_max == 0 ? 1 : std::max<uint64_t>(1, known / per_operation_max);
      size_t runs = 0;
      for (uint64_t number = 1;; number += stride) {
        const Run result = run(scenario, {operation, number}, 0);
        if (result.failed == 0) break;
        ++runs;
        const bool well =
            report(scenario, std::string(operation) + " " + std::to_string(number) + " fails", result);
        well ? ++tally.passed : ++tally.failed;
        if (!well) break;
      }
      summary += " " + std::string(operation) + " " + std::to_string(runs) + (stride > 1 ? "*" : "");
    }
    Samples samples;
    for (size_t i = 0; i < allocations; ++i)
      refuse_allocation(scenario, 1 + i * plain.allocations / allocations, samples);
    tally.passed += allocations - samples.failed;
    tally.failed += samples.failed;
    std::printf(
        "  %-20s failed in turn:%s; allocations %zu of %llu (the process ended by itself in %zu, crashed in "
        "%zu)\n",
        scenario.name, summary.c_str(), allocations, static_cast<unsigned long long>(plain.allocations),
        samples.ended, samples.crashed);
    std::fflush(stdout);
  }
  return tally;
}

}  // namespace sliced::sim
