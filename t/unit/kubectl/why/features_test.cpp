#include "kubectl/why/features.h"

#include <gtest/gtest.h>

namespace sliced::why {
namespace {

TEST(Features, ReturnsThoseOfTheRelease) {
  EXPECT_EQ(features_of("v1.37.1"), Features{});
  EXPECT_FALSE(features_of("v1.37.1")->fractional_range) << "docs/kubernetes-versions.md: beta, off";
  EXPECT_TRUE(features_of("v1.38.0")->fractional_range);
  EXPECT_FALSE(features_of("v1.36.3-gke.1")->taint_rules);
  EXPECT_TRUE(features_of("1.36+")->consumable_capacity);
  EXPECT_FALSE(features_of("v1.35.7")->device_taints);
  EXPECT_EQ(features_of("v1.99.0"), features_of("v1.38.0"));
  EXPECT_EQ(features_of("main"), std::nullopt);
}

}  // namespace
}  // namespace sliced::why
