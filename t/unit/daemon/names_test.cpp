// Names of links and of functions that would fall together.
#include <gtest/gtest.h>

#include "policy/reserved/record.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct NamesTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kBridge = "0000-3b-02-0-x";

  std::optional<kube::Device> entry_of(const std::string& type) const {
    for (const auto& slice : slices())
      for (const kube::Device& device : slice.devices)
        if (device.attributes.at("dra.networking/type") == kube::AttributeValue(type)) return device;
    return std::nullopt;
  }
  // What is left for the entry of the counters that it takes from; nullopt when it takes from none.
  std::optional<int64_t> left_for(const kube::Device& entry) const {
    for (const auto& taken : entry.consumes_counters)
      for (const auto& slice : slices())
        for (const auto& set : slice.shared_counters)
          if (set.name == taken.counter_set)
            return static_cast<int64_t>(set.counters.at(taken.counters.begin()->first).nanos() /
                                        1'000'000'000);
    return std::nullopt;
  }
};

// Red when a bridge takes the name of a function's entry: a claim for the one would get the other.
TEST_F(NamesTest, ALinkNeverUsesTheNameOfAFunction) {
  make_pf(2);
  tree.bridge(kBridge);
  put_exposure("a", of_type("bridge"));
  put_exposure("p", of_type("vf", ", exposure: {deviceNameSuffix: '-x'}"));
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 3u);
  ASSERT_TRUE(entry_of("vf"));
  EXPECT_EQ(entry_of("vf")->name, kBridge);
  EXPECT_TRUE(entry_of("bridge")->name.starts_with(std::string(kBridge) + "-"));
}

// A version that named the link otherwise has published it, and it is allocated: under its new name it is
// there for nobody until it is shown free.
TEST_F(NamesTest, ReservesTheOldNameOfARenamedLink) {
  tree.bridge(kBridge);
  put_exposure("a", of_type("bridge"));
  start();
  run(5min);  // until the claims have shown that nothing is allocated
  ASSERT_TRUE(entry_of("bridge"));
  const std::string name = entry_of("bridge")->name;
  EXPECT_FALSE(left_for(*entry_of("bridge")));
  daemon.reset();
  for (kube::ResourceSlice slice : slices()) {
    if (slice.devices.empty()) continue;
    kube::Device former = slice.devices.at(0);
    former.name = kBridge;
    slice.devices = {former};
    cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
  }
  put_claim("mine", kExposureDriver, "node-a/net", kBridge);
  start();
  run(1min);
  EXPECT_EQ(offered(), std::set<std::string>{name});
  EXPECT_EQ(left_for(*entry_of("bridge")), 0);
  remove_claim("mine");
  run(3min);
  EXPECT_FALSE(left_for(*entry_of("bridge"))) << "it is shown free";
}

}  // namespace
}  // namespace sliced
