// The whole daemon in a stepped world: processor time of the removal of a VF and of the edit of a policy, beside the same
// writes with nobody around. What the world itself does is in both.
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/daemon.h"
#include "kube/objects/resource_slice.h"
#include "t/bench/ratio.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_events.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/sim/machine.h"
#include "t/sim/oracle.h"

using namespace sliced;

namespace {

constexpr const char *kNode = "node-a", *kNamespace = "dra-driver-sriov";

class NoLog final : public Log {
 public:
  void line(Level, std::string_view, std::initializer_list<Field>) override {}
};

kube::Json policy_object(const std::string& name, const std::string& resource) {
  sim::Policy policy{.name = name};
  policy.configs.emplace_back().resource_name = resource;
  return sim::object_of(policy, kNamespace);
}

// A node of PFs with 256 VFs each, and its API server.
struct Node {
  explicit Node(int pfs) {
    cluster.keeps_log = false;
    cluster.history_max = 100;
    for (const auto& kind : {kube::kSriovResourcePolicies, kube::kDeviceAttributes,
                             kube::kDeviceExposurePolicies, kube::kResourceClaims})
      cluster.install(kind);
    cluster.put(kube::kNodes,
                kube::Json::Object{{"metadata", kube::Json::Object{{"name", kNode}, {"uid", "uid-a"}}}});
    cluster.put(kube::kSriovResourcePolicies, policy_object("all", "example.com/a"));
    cluster.on_admit = [this](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      written.push_back(kube::encode_json(object));
      return std::nullopt;
    };
    machine.now = [this] { return scheduler.now(); };
    for (int slot = 0; slot < pfs; ++slot) {
      const std::string pf = sim::Machine::pf_address(slot);
      machine.plug_pf(slot, "ens" + std::to_string(slot), "8086", 0, 256);
      machine.announce_num_vfs(pf, 256);
      for (int vf = 0; vf < 256; ++vf) {
        machine.add_vf(pf, vf);
        machine.link_vf(pf, vf);
        machine.bind(sim::Machine::vf_address(pf, vf), "");
      }
    }
    machine.on_event = [this](hotplug::HostEvent event, const std::string&) {
      if (wire.on_event) wire.on_event(std::move(event));
    };
  }

  void start() {
    config::Options options;
    options.node_name = kNode;
    std::vector<std::unique_ptr<hotplug::EventSource>> events;
    events.push_back(std::make_unique<fake::FakeEvents>(wire));
    daemon = std::make_unique<daemon::Daemon>(
        daemon::DaemonPorts{
            {scheduler, executor, machine.view(), std::move(events), log, {}}, cluster, [] { return 0.5; }},
        options);
    daemon->start();
    daemon->permit_writes(true);
    scheduler.advance(Millis{10'000});
  }
  // On a node that has published nothing.
  void restart() {
    daemon.reset();
    cluster.remove_where(kube::kResourceSlices, "spec.nodeName=" + std::string(kNode));
    start();
  }
  void remove_vf() {
    const std::string pf = sim::Machine::pf_address(0), vf = sim::Machine::vf_address(pf, --vfs);
    machine.unbind(vf);
    machine.unlink_vf(pf, vfs);
    machine.unplug(vf);
    scheduler.advance(Millis{3'000});
  }
  void edit_policy() {
    cluster.put(kube::kSriovResourcePolicies,
                policy_object("all", edits++ % 2 ? "example.com/a" : "example.com/b"));
    scheduler.advance(Millis{3'000});
  }

  int vfs = 256, edits = 0;
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::FakeExecutor executor{scheduler};
  NoLog log;
  sim::Machine machine;
  fake::FakeEvents::Wire wire;
  std::vector<std::string> written;
  std::unique_ptr<daemon::Daemon> daemon;
};

// The least for a write: what is sent is encoded, the server stores it and tells its watch, and the answer and the
// watch event are decoded.
struct Bare {
  explicit Bare(const std::vector<std::string>& texts) {
    cluster.keeps_log = false;
    cluster.history_max = 100;
    watch = cluster.watch({.scope = {.resource = kube::kResourceSlices}, .resource_version = "1000"},
                          {.on_event = [this](const kube::WatchEvent& event) { read(event.object); }});
    for (const std::string& one : texts)
      slices.push_back(kube::decode_resource_slice(kube::decode_json(one).value()).value());
  }
  void read(std::string_view text) {
    sink += kube::decode_resource_slice(kube::decode_json(text).value()).value().devices.size();
  }
  void write(const kube::ResourceSlice& slice) {
    const std::string text = kube::encode_json(kube::encode_resource_slice(slice));
    read(text);
    kube::Json object = kube::decode_json(text).value();
    object.set("round", int64_t(++rounds));
    cluster.put(kube::kResourceSlices, std::move(object));
    scheduler.advance(Millis{100});
  }
  void write_all() {
    for (const auto& slice : slices) write(slice);
  }

  size_t sink = 0;
  int rounds = 0;
  std::vector<kube::ResourceSlice> slices;
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  kube::CallPtr watch;
};

void measure(int pfs, int rounds) {
  const std::string size = std::to_string(256 * pfs) + " VFs: ";
  Node node(pfs);
  node.start();
  const auto written = std::exchange(node.written, {});
  if (written.size() != static_cast<size_t>(2 * pfs)) {
    std::printf("%zu slices were written of %d VFs\n", written.size(), 256 * pfs);
    for (const std::string& one : node.daemon->waiting_for()) std::printf("  waiting for %s\n", one.c_str());
    std::exit(1);
  }
  Bare bare(written);
  const auto ratio = [&](const char* what, const std::function<void()>& floor,
                         const std::function<void()>& ours) {
    bench::compare((size + what).c_str(), rounds, floor, ours);
  };
  ratio(
      "a VF's removal / its write alone", [&] { bare.write(bare.slices.front()); },
      [&] { node.remove_vf(); });
  ratio("every entry edited / the writes alone", [&] { bare.write_all(); }, [&] { node.edit_policy(); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {  // for a profiler: what, PFs, rounds
    Node node(std::atoi(argv[2]));
    node.start();
    for (int i = 0; i < std::atoi(argv[3]); ++i)
      std::string(argv[1]) == "start"  ? node.restart()
      : std::string(argv[1]) == "edit" ? node.edit_policy()
                                       : node.remove_vf();
    std::printf("%zu writes\n", node.written.size());
    return 0;
  }
  for (const int pfs : {1, 16}) measure(pfs, 15);
  return 0;
}
