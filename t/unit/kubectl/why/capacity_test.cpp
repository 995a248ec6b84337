#include "kubectl/why/capacity.h"

#include <gtest/gtest.h>

namespace sliced::why {
namespace {

kube::Quantity quantity(const char* text) { return *kube::Quantity::decode(text); }

TEST(CapacityAmount, PrintsTheLargestFittingUnit) {
  const struct {
    const char* amount;
    const char* said;
  } rows[] = {{"0", "0"},     {"7", "7"},      {"25G", "25G"}, {"25000M", "25G"}, {"1500m", "1.5"},
              {"1Mi", "1Mi"}, {"1024", "1Ki"}, {"-3", "-3"},   {"2500", "2500"},  {"1n", "0.000000001"}};
  for (const auto& row : rows) EXPECT_EQ(describe(quantity(row.amount).nanos()), row.said) << row.amount;
}

// Red when what a claim takes is not what Kubernetes charges it (KEP-5075).
TEST(DevicesInUse, RoundsUpToAValidAmount) {
  kube::Device device;
  kube::Capacity& capacity = device.capacity["bandwidth"];
  capacity.value = quantity("10G");
  capacity.request_policy.emplace();
  capacity.request_policy->default_ = quantity("1G");
  capacity.request_policy->valid_range = {quantity("1G"), quantity("8G"), quantity("1G")};
  const struct {
    const char* asked;  // "" nothing
    const char* taken;  // "" it does not fit
  } rows[] = {{"", "1G"},   {"0", "1G"},   {"1", "1G"}, {"1500M", "2G"},
              {"8G", "8G"}, {"8001M", ""}, {"11G", ""}};
  for (const auto& row : rows) {
    std::map<std::string, kube::Quantity> wanted;
    if (*row.asked != 0) wanted["bandwidth"] = quantity(row.asked);
    const auto taking = taking_of(wanted, device, true);
    ASSERT_TRUE(taking) << row.asked;
    EXPECT_EQ(taking->misfit.empty() ? describe(taking->amounts.at("bandwidth")) : "", row.taken)
        << row.asked;
  }
  const auto absent = taking_of({{"queues", quantity("1")}}, device, true);
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->misfit, "has no capacity queues");
}

TEST(DevicesInUse, RefusesAnAmountThatCannotBeRoundedUp) {
  kube::Device device;
  kube::Capacity& capacity = device.capacity["bandwidth"];
  capacity.value = quantity("10");
  capacity.request_policy.emplace();
  capacity.request_policy->valid_range = {quantity("0"), std::nullopt, quantity("1")};
  EXPECT_FALSE(taking_of({{"bandwidth", quantity("1u")}}, device, true)) << "finer than a thousandth";
}

}  // namespace
}  // namespace sliced::why
