#include "cli/show.h"

#include <gtest/gtest.h>

namespace sliced::cli {
namespace {

kube::ResourceSlice slice(const std::string& name, int64_t slots, int64_t macvlans, const std::string& mode) {
  kube::ResourceSlice out;
  out.meta.name = name;
  if (slots > 0) {
    out.shared_counters = {{"pf", {{"exclusion-slots", kube::Quantity(slots)}}}};
    return out;
  }
  kube::Device device;
  device.name = "d";
  device.attributes.insert_or_assign("dra.networking/eswitchMode", mode);
  device.capacity["dra.networking/macvlans"] = {kube::Quantity(macvlans),
                                                kube::RequestPolicy{.default_ = kube::Quantity(1)}};
  device.consumes_counters = {{"pf", {{"exclusion-slots", kube::Quantity(macvlans / 8)}}}};
  out.devices = {device};
  return out;
}

// Red when somebody who looks at the difference before it is published does not see what changes: a capacity,
// or a counter that decides what may be allocated together.
TEST(Show, TheDifferenceNamesEveryValueThatChanges) {
  const publishers::ObservedSlices observed = {{"a", slice("a", 9, 0, "")},
                                               {"b", slice("b", 0, 64, "legacy")}};
  publishers::Plan plan;
  plan.updates = {slice("a", 8, 0, ""), slice("b", 0, 32, "switchdev")};
  plan.creates = {slice("c", 5, 0, "")};
  EXPECT_EQ(plan_diff(plan, observed),
            "update a\n"
            "  ~ sharedCounters.pf.counters.exclusion-slots.value: 9 -> 8\n"
            "update b\n"
            "  ~ d capacity.dra.networking/macvlans.value: 64 -> 32\n"
            "  ~ d consumesCounters.pf.counters.exclusion-slots.value: 8 -> 4\n"
            "  ~ d dra.networking/eswitchMode: \"legacy\" -> \"switchdev\"\n"
            "create c\n"
            "  ~ sharedCounters.pf.counters.exclusion-slots.value: absent -> 5\n");
}

}  // namespace
}  // namespace sliced::cli
