#include "kubelet/recall.h"

#include <gtest/gtest.h>

#include "kubelet/plan.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace recall_test {
namespace {

constexpr const char* kShare = "01234567-89ab-cdef-0123-456789abcdef";

TEST(Recall, ASpecRestoresTheDevicesOfAClaim) {
  PreparedClaim claim{
      .driver = sample::kSriov, .namespace_ = "ns", .name = "n", .uid = "uid-1", .cdi_pod_id = "pod"};
  claim.devices = {{.device = "0000-03-00-2", .pci = "0000:03:00.2", .vfio = VfioBinding{}},
                   {.device = "br0-macvlan", .share_id = kShare}};
  for (PreparedDevice& device : claim.devices) device.edits = edits_of(device, {.vfio_group = "7"});
  const auto again = recall(sample::kSriov, "uid-1", claim_spec(claim));
  ASSERT_TRUE(again);
  EXPECT_EQ(key_of(*again), key_of(claim));
  EXPECT_FALSE(again->is_complete);
  ASSERT_EQ(again->devices.size(), 2u);
  EXPECT_EQ(again->devices[0].holding.device, "0000:03:00.2");
  EXPECT_EQ(again->devices[0].vfio, (VfioBinding{"", "7"}));
  claim.devices[0].edits = edits_of(claim.devices[0], {.vfio_cdev = "vfio3"});
  EXPECT_EQ(recall(sample::kSriov, "uid-1", claim_spec(claim))->devices[0].vfio,
            (VfioBinding{.cdev = "vfio3"}))
      << "of a kernel without groups";
  EXPECT_EQ(again->devices[1].device, "br0-macvlan");
  EXPECT_TRUE(again->devices[0].holding.is_exclusive);
  EXPECT_FALSE(again->devices[1].holding.is_exclusive) << "a share is nobody's alone";
}

TEST(Recall, IgnoresThePodsSpec) {
  const cdi::Spec spec{.kind = "a.b/vf", .devices = {{"pod", {.env = {"A=1"}}}}};
  EXPECT_FALSE(recall(sample::kSriov, "pod", spec));
}

TEST(Recall, IgnoresBindingsOfAnotherBoot) {
  PreparedClaim claim{.devices = {{.vfio = VfioBinding{"igbvf", "7"}}}, .is_complete = true};
  PreparedClaim perhaps = claim;
  undo_by_reboot(claim);
  EXPECT_FALSE(claim.is_complete);
  EXPECT_FALSE(claim.devices[0].vfio) << "there is nothing to restore";
  undo_by_reboot(perhaps, false);
  EXPECT_EQ(perhaps.devices[0].vfio, VfioBinding{}) << "it may be bound";
}

}  // namespace
}  // namespace recall_test
}  // namespace sliced::kubelet
