// What a large node costs, and what a large cluster costs its API server.
#include "t/sim/scale.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "daemon/node_report_builder.h"
#include "daemon/reports/node_lease.h"
#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "t/fake/forwarding_cluster.h"
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

constexpr int64_t kClaimsPerNode = 10;
// That a daemon's start brings at once: policies, its slice in and out. Its pods are 70 KiB more. Schemas are
// not counted: no schema is served here, and daemons read theirs within a minute.
constexpr size_t kStartBytes = 24 << 10;
// The same without the slice.
constexpr size_t kStartBytesBesideSlices = 5 << 10;

// The API server with ResourceClaims and pods that are too many to be kept here: each page of a list counts
// in full, and one object of it is delivered.
class CrowdedCluster final : public fake::ForwardingCluster {
 public:
  CrowdedCluster(fake::FakeCluster& inner, reactor::Scheduler& scheduler, Meter& meter)
      : ForwardingCluster(inner), latency_(inner.latency), scheduler_(scheduler), meter_(meter) {}

  size_t lists_of_claims = 0;
  int64_t claims = 0;

  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers handlers) override {
    const std::string& plural = request.scope.resource.plural;
    if (plural == "resourceclaims") return page(std::move(request), std::move(handlers));
    if (plural == "pods") return pods(std::move(request), std::move(handlers));
    return ForwardingCluster::list(std::move(request), std::move(handlers));
  }
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers handlers) override {
    if (request.resource.plural != "resourceclaims")
      return ForwardingCluster::get(std::move(request), std::move(handlers));
    return later([this, done = handlers.on_done, name = request.name] {
      const std::string text = claim(name);
      count(text.size());
      done(text);
    });
  }
  std::string describe() const override { return "crowded"; }

 private:
  struct Pending final : kube::Call {
    reactor::Ticket due;
  };
  kube::CallPtr later(std::function<void()> task) {
    auto call = std::make_unique<Pending>();
    ++meter_.at(scheduler_.now()).requests;
    call->due = scheduler_.after(latency_, std::move(task));
    return call;
  }
  void count(size_t bytes) { meter_.at(scheduler_.now()).bytes_out += bytes; }

  // A VF of the exposure driver, with what a real claim carries beside: about a kilobyte.
  static std::string claim(const std::string& name) {
    const std::string managed(450, 'm');
    return R"({"metadata":{"name":")" + name +
           R"(","namespace":"default","uid":"6f1c9a52-3b0e-4d57-8a7e-2c4f0b9d1e35",)"
           R"("resourceVersion":"123456789","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[")" +
           managed +
           R"("]},"spec":{"devices":{"requests":[{"name":"vf","exactly":{"deviceClassName":"vf","count":1}}]}},)"
           R"("status":{"allocation":{"devices":{"results":[{"request":"vf","driver":"dra.networking",)"
           R"("pool":"another-node/0000-10-00-0","device":"0000-10-00-1"}]}},"reservedFor":[{"resource":"pods",)"
           R"("name":"a-pod-of-some-name","uid":"6f1c9a52-3b0e-4d57-8a7e-2c4f0b9d1e36"}]}})";
  }
  kube::CallPtr page(kube::ListRequest request, kube::ListHandlers handlers) {
    const int64_t offset = parse_int(request.continue_token).value_or(0);
    const int64_t here = std::min(request.limit, claims - offset), left = claims - offset - here;
    lists_of_claims += offset == 0 && request.limit > 1;
    return later([this, handlers, here, left, next = std::to_string(offset + here)] {
      const std::string text = claim("claim");
      count(text.size() * static_cast<size_t>(here));
      if (here > 0) handlers.on_item(text);
      if (handlers.on_remaining) handlers.on_remaining(left);
      if (left > 0 && handlers.on_continue) handlers.on_continue(next);
      const auto done = handlers.on_done;
      done("1");
    });
  }
  kube::CallPtr pods(kube::ListRequest request, kube::ListHandlers handlers) {
    const std::string node = request.scope.field_selector.substr(std::string("spec.nodeName=").size());
    return later([this, handlers, node] {
      for (int64_t i = 0; i < kClaimsPerNode; ++i) {
        const std::string text =
            R"({"metadata":{"name":"pod","namespace":"default","annotations":{"rest":")" +
            std::string(6'000, 'p') + R"("}},"spec":{"nodeName":")" + node +
            R"(","resourceClaims":[{"name":"c","resourceClaimName":"c-)" + std::to_string(i) + R"("}]}})";
        count(text.size());
        handlers.on_item(text);
      }
      const auto done = handlers.on_done;
      done("1");
    });
  }

  const Millis& latency_;
  reactor::Scheduler& scheduler_;
  Meter& meter_;
};

class Fleet {
 public:
  explicit Fleet(size_t nodes) {
    crowd.claims = static_cast<int64_t>(nodes) * kClaimsPerNode;
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
    cluster.on_admit = [this](const fake::Request& request,
                              kube::Json& object) -> std::optional<kube::Failure> {
      const size_t size = kube::encode_json(object).size();
      if (request.plural == kube::kNodeDeviceReports.plural) {
        reported.add(scheduler.now(), size);
        return std::nullopt;
      }
      if (request.plural == kube::kLeases.plural) {
        leased.add(scheduler.now(), size);
        return std::nullopt;
      }
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
    kube::Json object = object_of(policy, World::kNamespace);
    kube::Json meta = *object.find("metadata");
    meta.set("generation", ++generation_);  // as the server counts edits
    object.set("metadata", std::move(meta));
    cluster.put(kube::kSriovResourcePolicies, std::move(object));
  }
  void put_exposure(const std::string& name, const std::string& selector) {
    cluster.put(kube::kDeviceExposurePolicies,
                kube::Json::Object{
                    {"metadata", kube::Json::Object{{"name", name}}},
                    {"spec", kube::Json::Object{{"selector", kube::Json::Object{{"cel", selector}}}}}});
  }
  /// Nodes of which something is charged.
  size_t waiting() const {
    std::set<std::string> found;
    cluster.for_each(kube::kResourceSlices, [&](const kube::Json& slice) {
      const kube::Json* notes = slice.find({"metadata", "annotations"});
      if (notes != nullptr && notes->find("dra.networking/withdrawn") != nullptr)
        found.emplace(slice.find("spec")->text("nodeName"));
    });
    return found.size();
  }
  void start() {
    for (auto& node : nodes) {
      node->daemon->start();
      node->daemon->permit_writes(true);
    }
  }
  /// Each daemon reports from now on.
  void report() {
    cluster.install(kube::kNodeDeviceReports);
    for (auto& node : nodes) {
      node->reports = std::make_unique<daemon::NodeReportBuilder>(daemon::NodeReportBuilder::Dependencies{
          .ports = {cluster, scheduler, log, [dice = &node->dice] { return dice->real(); }},
          .executor = executor,
          .daemon = *node->daemon,
          .node = node->name});
      node->reports->permit(true);
      node->reports->start();
    }
  }
  /// Each daemon keeps its Lease from now on.
  void lease() {
    cluster.install(kube::kLeases);
    for (auto& node : nodes) {
      node->lease = std::make_unique<reports::NodeLeaseWriter>(
          kube::ClusterPorts{cluster, scheduler, log, [dice = &node->dice] { return dice->real(); }},
          reports::NodeLeaseWriter::Settings{
              .namespace_ = World::kNamespace,
              .node = node->name,
              .node_uid = [daemon = node->daemon.get()] { return daemon->owner_uid(); },
              .now =
                  [this] {
                    return kube::encode_api_time(kLeasesBegin +
                                                 scheduler.now().time_since_epoch().count() / 1'000);
                  }});
      node->lease->permit(true);
    }
  }
  size_t converged() const {
    return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(),
                                             [](const auto& node) { return node->daemon->converged(); }));
  }

  struct Node final : sliced::daemon::Observer {
    void on_decided(const policy::Decision&) override {
      if (reports) reports->on_decided();
    }
    Machine machine;
    fake::FakeEvents::Wire wire;
    Dice dice{0};
    std::string name;
    std::unique_ptr<sliced::daemon::Daemon> daemon;
    std::unique_ptr<daemon::NodeReportBuilder> reports;
    std::unique_ptr<reports::NodeLeaseWriter> lease;
    std::optional<sliced::daemon::Subscription> subscription;
  };
  /// Writes of NodeDeviceReports.
  struct Reported {
    size_t writes = 0, bytes = 0, largest = 0;
    std::map<int64_t, size_t> by_second = {};
    void add(TimePoint at, size_t size) {
      ++writes, bytes += size, largest = std::max(largest, size);
      ++by_second[at.time_since_epoch().count() / 1'000];
    }
  };
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::FakeExecutor executor{scheduler};
  NoLog log;
  Meter meter;
  CrowdedCluster crowd{cluster, scheduler, meter};
  size_t writes = 0;
  Reported reported, leased;
  static constexpr int64_t kLeasesBegin = 1'795'219'200;  // 2026-11-21T00:00:00Z
  std::vector<std::unique_ptr<Node>> nodes;

 private:
  int64_t generation_ = 0;

  void add_node(size_t i) {
    const std::string name = "node-" + std::to_string(i);
    kube::Json meta = kube::Json::Object{
        {"name", name},
        {"uid", "uid-" + name},
        {"labels", kube::Json::Object{{"kubernetes.io/hostname", name}, {"pool", "sriov"}}}};
    cluster.put(kube::kNodes, kube::Json::Object{{"metadata", std::move(meta)}});
    auto node = std::make_unique<Node>();
    node->name = name;
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
    node->daemon = std::make_unique<sliced::daemon::Daemon>(
        sliced::daemon::DaemonPorts{{scheduler, executor, node->machine.view(), std::move(events), log, {}},
                                    crowd,
                                    [dice = &node->dice] { return dice->real(); }},
        options);
    node->subscription.emplace(node->daemon->observers(), *node);
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
  // Each looks at its pods in its turn.
  const auto turns = Millis{static_cast<int64_t>(count) * (512 << 10) / 25'000};
  fleet.scheduler.advance(Millis{10'000} + turns);
  const Load started = settled("start, all at once", count);
  expect(tally, started.peak_bytes < count * kStartBytes, "the looks at the pods are spread");
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

// After a power cut: every kubelet has deleted its node's slices, and every daemon starts in the same second
// with policies that exclude each other's devices.
void measure_power_up(size_t count, Tally& tally) {
  constexpr Millis kLook{20'000};
  const double since = seconds_now();
  Fleet fleet(count);
  fleet.put_exposure("vfs", "device.attributes[\"dra.networking\"].type == \"vf\"");
  fleet.start();
  fleet.scheduler.advance(Millis{10'000});
  const size_t at_once = fleet.converged();
  const Load started = drain(fleet.meter);
  int64_t longest = 0;
  while (fleet.waiting() > 0 && longest < 100'000) {
    fleet.scheduler.advance(kLook);
    longest = fleet.scheduler.now().time_since_epoch().count() / 1'000;
  }
  const size_t lists = fleet.crowd.lists_of_claims;
  const Load load = drain(fleet.meter);
  std::printf(
      "  power-up of %zu nodes, %lld claims: all have published within 10 s: %s; busiest second of these %zu requests, "
      "%.1f MB, and of the rest %zu, %.1f MB; %.1f GB in all; %zu lists of claims; the longest wait for one %lld s; it "
      "took %.1f s\n",
      count, static_cast<long long>(fleet.crowd.claims), at_once == count ? "yes" : "no", started.peak,
      static_cast<double>(started.peak_bytes) / 1e6, load.peak, static_cast<double>(load.peak_bytes) / 1e6,
      static_cast<double>(started.bytes + load.bytes) / 1e9, lists, static_cast<long long>(longest),
      seconds_now() - since);
  expect(tally, fleet.waiting() == 0, "all of what waits for the claims is free in the end");
  expect(tally, lists == count, "each node lists the claims once");
  // The first slices wait for their turn, as reads do. The rest is a Node and policies for each node.
  expect(tally, started.peak_bytes < count * kStartBytesBesideSlices + 25'000'000,
         "the first slices of unverified pools are spread");
  expect(tally, load.peak_bytes < 50'000'000, "a fleet that starts reads less than 50 MB a second");
}

// What nodes say of themselves, beside what they publish.
void measure_reports(size_t count, Tally& tally) {
  Fleet fleet(count);
  fleet.put_policy("all", {{"pool", "sriov"}}, "example.com/a");
  fleet.report();
  fleet.start();
  const auto settled = [&](const char* what, Millis within, size_t reports_wanted, size_t again = 0) {
    fleet.scheduler.advance(within);
    const auto reported = std::exchange(fleet.reported, {});
    const Load load = drain(fleet.meter);
    size_t peak = 0;
    for (const auto& [second, writes] : reported.by_second) peak = std::max(peak, writes);
    std::printf(
        "  reports: %-35s %zu writes of slices, %zu of reports (%.1f KiB, the largest %zu bytes; busiest second %zu); "
        "%.1f KiB of all else\n",
        what, std::exchange(fleet.writes, 0), reported.writes, static_cast<double>(reported.bytes) / 1024,
        reported.largest, peak, static_cast<double>(load.bytes) / 1024);
    expect(tally,
           reported.writes >= reports_wanted &&
               reported.writes <= reports_wanted + std::max(again, reports_wanted / 50),
           what);
    expect(tally, reported.largest <= reports::kReportBytesMax, "a report fits");
    expect(tally, peak <= std::max<size_t>(count / 5, 8), "reports of a fleet are spread");
  };
  const auto turns = Millis{static_cast<int64_t>(count) * (512 << 10) / 25'000};
  // A slice that comes late, after a look at the node's pods in its turn, is told a second time.
  settled("start, all at once", Millis{60'000} + turns, count, count);
  settled("ten quiet minutes", Millis{600'000}, 0);
  fleet.put_policy("a-one", {{"kubernetes.io/hostname", "node-7"}}, "example.com/c");
  settled("a policy that changes one node", Millis{30'000}, 1);
  fleet.put_policy("all", {{"pool", "sriov"}}, "example.com/d");
  settled("a policy that changes all nodes", Millis{30'000}, count);
  for (auto& node : fleet.nodes) node->reports.reset();
  fleet.report();
  settled("all daemons' reporting restarted", Millis{120'000}, 0);
}

// What it costs that each node shows that it is alive, and that it is seen when it is not.
void measure_leases(size_t count, Tally& tally) {
  Fleet fleet(count);
  fleet.put_policy("all", {{"pool", "sriov"}}, "example.com/a");
  fleet.start();
  fleet.lease();
  const auto now = [&] {
    return Fleet::kLeasesBegin + fleet.scheduler.now().time_since_epoch().count() / 1'000;
  };
  const auto expired = [&] {
    size_t out = 0;
    fleet.cluster.for_each(kube::kLeases, [&](const kube::Json& object) {
      const auto lease = reports::decode_node_lease(object);
      out += lease && lease->is_expired(now());
    });
    return out;
  };
  const auto show = [&](const char* what, Millis time, size_t wanted_min, size_t wanted_max) {
    fleet.leased = {};
    fleet.meter.seconds.clear();
    fleet.scheduler.advance(time);
    size_t peak = 0;
    for (const auto& [second, writes] : fleet.leased.by_second) peak = std::max(peak, writes);
    const double seconds = static_cast<double>(time.count()) / 1'000;
    std::printf(
        "  leases: %-36s %zu writes (%.1f a second, the busiest second %zu; %.1f KiB a second, the largest %zu bytes); "
        "%zu expired\n",
        what, fleet.leased.writes, static_cast<double>(fleet.leased.writes) / seconds, peak,
        static_cast<double>(fleet.leased.bytes) / 1024 / seconds, fleet.leased.largest, expired());
    expect(tally, fleet.leased.writes >= wanted_min && fleet.leased.writes <= wanted_max, what);
    return peak;
  };
  show("start, all at once", Millis{15'000}, count, count);
  show("ten quiet minutes", Millis{600'000}, 10 * count, 12 * count);
  const size_t peak = show("an hour", Millis{3'600'000}, 60 * count, 72 * count);
  expect(tally, peak <= std::max<size_t>(count / 8, 8),
         "renewals of a fleet that started together are spread");
  expect(tally, fleet.writes <= count, "a renewal writes no slice");
  expect(tally, expired() == 0, "of those that live none has expired");
  for (size_t i = 0; i < count / 10; ++i) fleet.nodes[i]->lease.reset();
  show("a tenth of the daemons has died", Millis{120'000}, count * 9 / 10 * 2, count * 9 / 10 * 3);
  expect(tally, expired() == count / 10, "who has died is seen within two minutes, and nobody else");
}

}  // namespace

Tally measure_scale(size_t nodes) {
  Tally tally;
  measure_node(tally);
  measure_fleet(nodes, tally);
  measure_power_up(nodes, tally);
  measure_reports(nodes, tally);
  measure_leases(nodes, tally);
  return tally;
}

Tally measure_power_up(size_t nodes) {
  Tally tally;
  measure_power_up(nodes, tally);
  return tally;
}

}  // namespace sliced::sim
