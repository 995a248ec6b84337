// What a large node costs, and what a large cluster costs its API server.
#include "t/sim/scale.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "kube/kinds.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

class NoLog final : public Log {
 public:
  void line(Level, std::string_view, std::initializer_list<Field>) override {}
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool expect(Tally& tally, bool holds, const char* what) {
  ++(holds ? tally.passed : tally.failed);
  if (!holds) std::printf("FAILED scale: %s\n", what);
  return holds;
}

// One node, 16 PFs of 256 VFs.
void measure_node(Tally& tally) {
  constexpr int kPfs = 16, kVfs = 256;
  Knobs knobs;
  knobs.pfs = kPfs;
  knobs.vfs_max = knobs.total_vfs = kVfs;
  knobs.duplicates = 0;
  World world(1, knobs);
  for (int slot = 0; slot < kPfs; ++slot) {
    world.plug(slot);
    world.set_vfs(Machine::pf_address(slot), kVfs);
  }
  world.advance(Millis{30'000});
  Policy all{.name = "all"};
  all.configs.emplace_back();
  world.put(all);
  double since = seconds_now();
  world.start_daemon();
  world.come_to_rest();
  const double first = seconds_now() - since;
  const size_t slices = world.stored().size(), writes = world.writes;
  since = seconds_now();
  world.stop_daemon(true, Millis{0});
  world.come_to_rest();
  std::printf(
      "  one node, %d VFs: %zu slices by %zu writes, %.1f s of processor time with its judge; a restart "
      "writes %zu\n",
      kPfs * kVfs, slices, writes, first, world.writes - writes);
  if (world.violation())
    std::printf("  %s: %s\n", world.violation()->invariant.c_str(), world.violation()->what.c_str());
  expect(tally, !world.violation(), "a node with 4,096 VFs converges");
  expect(tally, slices == kPfs * kVfs / 128 && writes == slices, "each slice is written once");
  expect(tally, world.writes == writes, "a restart with nothing changed writes nothing");
}

// What the server gets and gives, by second.
struct Meter {
  struct Second {
    size_t requests = 0, bytes_in = 0, bytes_out = 0;
  };
  std::map<int64_t, Second> seconds;
  Second& at(TimePoint time) { return seconds[time.time_since_epoch().count() / 1'000]; }
};

class Fleet {
 public:
  explicit Fleet(size_t nodes) {
    cluster.keeps_log = false;
    cluster.history_max = 20'000;
    cluster.bookmark_every = Millis{60'000};
    cluster.latency = Millis{20};
    cluster.install(kube::kSriovResourcePolicies);
    cluster.install(kube::kDeviceAttributes);
    cluster.install(kube::kDeviceExposurePolicies);
    cluster.install(kube::kResourceClaims);
    cluster.on_request = [this](const fake::Request&) {
      ++meter.at(scheduler.now()).requests;
      return std::nullopt;
    };
    cluster.on_deliver = [this](std::string text) {
      meter.at(scheduler.now()).bytes_out += text.size();
      return text;
    };
    cluster.on_admit = [this](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      const size_t size = kube::encode_json(object).size();
      auto& now = meter.at(scheduler.now());
      now.bytes_in += size;
      now.bytes_out += size;  // the answer
      ++writes;
      return std::nullopt;
    };
    for (size_t i = 0; i < nodes; ++i) add_node(i);
  }

  void put_policy(const std::string& name, const Labels& nodes, const std::string& resource) {
    Policy policy{.name = name, .nodes = nodes};
    policy.configs.emplace_back().resource_name = resource;
    cluster.put(kube::kSriovResourcePolicies, object_of(policy, World::kNamespace));
  }
  void start() {
    for (auto& node : nodes) {
      node->daemon->start();
      node->daemon->permit_writes(true);
    }
  }
  size_t converged() const {
    return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(),
                                             [](const auto& node) { return node->daemon->converged(); }));
  }

  struct Node {
    Machine machine;
    fake::FakeEvents::Wire wire;
    Dice dice{0};
    std::unique_ptr<Daemon> daemon;
  };
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::FakeExecutor executor{scheduler};
  NoLog log;
  Meter meter;
  size_t writes = 0;
  std::vector<std::unique_ptr<Node>> nodes;

 private:
  void add_node(size_t i) {
    const std::string name = "node-" + std::to_string(i);
    kube::Json meta = kube::Json::Object{
        {"name", name},
        {"uid", "uid-" + name},
        {"labels", kube::Json::Object{{"kubernetes.io/hostname", name}, {"pool", "sriov"}}}};
    cluster.put(kube::kNodes, kube::Json::Object{{"metadata", std::move(meta)}});
    auto node = std::make_unique<Node>();
    node->dice = Dice(i + 1);
    node->machine.now = [this] { return scheduler.now(); };
    const std::string pf = Machine::pf_address(0);
    node->machine.plug_pf(0, "ens1f0", "8086", 0, 8);
    for (int vf = 0; vf < 4; ++vf) {
      node->machine.add_vf(pf, vf);
      node->machine.link_vf(pf, vf);
      node->machine.bind(Machine::vf_address(pf, vf), "");
    }
    config::Options options;
    options.node_name = name;
    std::vector<std::unique_ptr<hotplug::EventSource>> events;
    events.push_back(std::make_unique<fake::FakeEvents>(node->wire));
    node->daemon = std::make_unique<Daemon>(
        DaemonPorts{{scheduler, executor, node->machine.view(), std::move(events), log, {}},
                    cluster,
                    [dice = &node->dice] { return dice->real(); }},
        options);
    nodes.push_back(std::move(node));
  }
};

struct Load {
  size_t requests = 0, bytes = 0, peak = 0, peak_bytes = 0, seconds = 0;
};

/// Of what was asked for since the last call.
Load drain(Meter& meter) {
  Load load;
  for (const auto& [second, one] : std::exchange(meter.seconds, {})) {
    load.requests += one.requests;
    load.bytes += one.bytes_in + one.bytes_out;
    load.peak = std::max(load.peak, one.requests);
    load.peak_bytes = std::max(load.peak_bytes, one.bytes_in + one.bytes_out);
    load.seconds += one.requests > 0 ? 1 : 0;
  }
  return load;
}

void print(const char* what, size_t nodes, const Load& load, size_t writes) {
  std::printf(
      "  %-44s %8zu requests (%.2f a node, %zu writes), %8.1f KiB (%.2f a node); busiest second %zu "
      "requests, "
      "%.1f KiB\n",
      what, load.requests, static_cast<double>(load.requests) / static_cast<double>(nodes), writes,
      static_cast<double>(load.bytes) / 1024,
      static_cast<double>(load.bytes) / 1024 / static_cast<double>(nodes), load.peak,
      static_cast<double>(load.peak_bytes) / 1024);
}

// The reconnects of a fleet: the busiest second over the mean of the seconds in which all but the last
// hundredth came.
double peak_over_mean(const Meter& meter, int64_t from) {
  size_t all = 0, peak = 0, so_far = 0;
  for (const auto& [second, one] : meter.seconds)
    if (second >= from) all += one.requests, peak = std::max(peak, one.requests);
  int64_t last = from;
  for (const auto& [second, one] : meter.seconds) {
    if (second < from || so_far * 100 >= all * 99) continue;
    so_far += one.requests;
    last = second;
  }
  return static_cast<double>(peak) * static_cast<double>(last - from + 1) /
         static_cast<double>(std::max<size_t>(so_far, 1));
}

void measure_fleet(size_t count, Tally& tally) {
  const double since = seconds_now();
  Fleet fleet(count);
  fleet.put_policy("all", {{"pool", "sriov"}}, "example.com/a");
  const auto settled = [&](const char* what, size_t writes_wanted) {
    const Load load = drain(fleet.meter);
    print(what, count, load, fleet.writes);
    expect(tally, fleet.converged() == count, what);
    expect(tally, fleet.writes == writes_wanted, "no more writes than nodes that it concerns");
    fleet.writes = 0;
    return load;
  };
  fleet.start();
  fleet.scheduler.advance(Millis{10'000});
  settled("start, all at once", count);
  fleet.scheduler.advance(Millis{590'000});
  settled("ten quiet minutes", 0);
  fleet.put_policy("one", {{"kubernetes.io/hostname", "node-7"}}, "example.com/b");
  fleet.scheduler.advance(Millis{5'000});
  settled("a policy for one node", 0);  // the policy for all comes first by name
  fleet.put_policy("a-one", {{"kubernetes.io/hostname", "node-7"}}, "example.com/c");
  fleet.scheduler.advance(Millis{5'000});
  settled("a policy that changes one node", 1);
  fleet.put_policy("all", {{"pool", "sriov"}}, "example.com/d");
  fleet.scheduler.advance(Millis{5'000});
  settled("a policy that changes all nodes", count - 1);
  double worst = 0;
  for (const int outage : {5, 20, 60}) {
    fleet.cluster.set_network(fake::FakeCluster::Network::kRefused);
    fleet.scheduler.advance(Millis{outage * 1'000});
    fleet.cluster.set_network(fake::FakeCluster::Network::kUp);
    fleet.meter.seconds.clear();
    const int64_t back = fleet.scheduler.now().time_since_epoch().count() / 1'000;
    fleet.scheduler.advance(Millis{150'000});
    const double ratio = peak_over_mean(fleet.meter, back);
    worst = std::max(worst, ratio);
    const std::string what = "the API server is back after " + std::to_string(outage) + " s";
    settled(what.c_str(), 0);
    std::printf("    busiest second of it over the mean: %.2f\n", ratio);
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("  %zu daemons took %.1f s and %.0f MiB\n", count, seconds_now() - since,
              static_cast<double>(used.ru_maxrss) / 1024);
  expect(tally, worst <= 3.0, "reconnects are spread: the busiest second has at most three times the mean");
}

}  // namespace

Tally measure_scale(size_t nodes) {
  Tally tally;
  measure_node(tally);
  measure_fleet(nodes, tally);
  return tally;
}

}  // namespace sliced::sim
