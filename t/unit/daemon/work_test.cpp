// How much work one event causes. Counts of calls, not times.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "reactor/base/text.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct WorkTest : testing::Test, fixture::DaemonWorld {
  // Inventories concluded, decisions, slices written, texts of slices decoded (watch events, answers).
  struct Work {
    uint64_t concluded = 0, decided = 0, written = 0, decoded = 0;
    bool operator==(const Work&) const = default;
    friend void PrintTo(const Work& work, std::ostream* out) {
      *out << "concluded " << work.concluded << ", decided " << work.decided << ", written " << work.written
           << ", decoded " << work.decoded;
    }
  };
  Work work() const {
    const auto& counters = daemon->offer_of(kDriver).publisher().counters();
    Work out{.concluded = daemon->host_counters().concluded,
             .decided = daemon->decisions().decided,
             .written = daemon->offer_of(kDriver).publisher().writes(),
             .decoded = counters.decoded};
    daemon->for_each_source([&](const std::string& name, const watchers::Source& source) {
      if (name == "own slices") out.decoded += source.decoded();
    });
    return out;
  }
  Work since(const Work& before) const {
    const Work now = work();
    return {now.concluded - before.concluded, now.decided - before.decided, now.written - before.written,
            now.decoded - before.decoded};
  }
  void start_with_vfs(int count) {
    read_vf_configs = [count](int) {
      std::map<int, hotplug::VfConfig> out;
      for (int i = 0; i < count; ++i)
        out[i].mac = "02:00:00:00:00:" + hex(static_cast<uint64_t>(i % 250 + 1), 2);
      return out;
    };
    make_pf(count);
    put_policy("p", "{configs: [{}]}");
    start();
    run(1min);
  }
  // In the order of the kernel: the interface, the driver, the function.
  void remove_vf(int index) {
    const std::string name = "ens1f0v" + std::to_string(index), vf = tree.pci(kPf).vf(index).address();
    const int ifindex = daemon->host_inventory()->find(vf)->netdev->ifindex;
    tree.remove_netdev(name);
    tree.pci(kPf).vf(index).remove();
    say(hotplug::LinkChange{ifindex, name, true, false});
    pci_event("unbind", vf);
    pci_event("remove", vf);
  }
};

// Each of the 256 VFs is in one of two slices; the other one is not written. The inventory is concluded once from the event and once
// from the reading that confirms it.
TEST_F(WorkTest, DecidesAndDecodesOnceForARemovedVf) {
  start_with_vfs(256);
  ASSERT_EQ(offered().size(), 256u);
  const Work before = work();
  const size_t lists = cluster.count("list", "resourceclaims");
  remove_vf(255);
  run(10s);
  ASSERT_EQ(offered().size(), 255u);
  EXPECT_EQ(since(before), (Work{.concluded = 2, .decided = 1, .written = 1, .decoded = 1})) << log.all();
  run(10min);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), lists) << "the reading releases its entry";
}

TEST_F(WorkTest, DecodesAChangeOfAnotherWriter) {
  start_with_vfs(4);
  const Work before = work();
  kube::Json slice;
  cluster.for_each(kube::kResourceSlices, [&](const kube::Json& object) { slice = object; });
  slice.set("extra", "x");
  cluster.put(kube::kResourceSlices, std::move(slice));
  run(1s);
  EXPECT_GE(since(before).decoded, 1u);
}

}  // namespace
}  // namespace sliced
