#include "policy/exposure/max_cost.h"

#include <gtest/gtest.h>

#include <set>

#include "policy/exposure/attributes.h"
#include "policy/exposure/selector.h"

namespace sliced::policy {
namespace dearest_test {

const std::string kDriver = "dra.networking";

uint64_t cost_of(const std::string& cel) {
  const auto program = compile_selector(cel, kDriver);
  EXPECT_TRUE(program) << cel;
  return program ? static_cost(*program, kDriver).cost : 0;
}

// Red when a new fact is missing here: the computed maximum cost of selectors that read it would be too low.
TEST(MaxCost, AMissingDeviceHasEveryAttribute) {
  const std::string dear = " && [1, 2, 3, 4, 5, 6, 7, 8].all(i, i < 9)";
  const uint64_t work = cost_of("true" + dear);
  std::set<std::string_view> missing;
  for (const KnownAttribute& known : known_attributes()) {
    const std::string domain = known.is_standard ? "resource.kubernetes.io" : kDriver;
    const std::string has = "has(device.attributes[\"" + domain + "\"]." + std::string(known.id) + ")";
    if (cost_of(has + dear) < work) missing.insert(known.id);
  }
  EXPECT_EQ(missing, std::set<std::string_view>{"bondMaster"}) << "what has a masterBridge has no bondMaster";
}

}  // namespace dearest_test
}  // namespace sliced::policy
