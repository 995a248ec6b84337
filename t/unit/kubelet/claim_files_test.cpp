#include "kubelet/claim_files.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace claim_files_test {
namespace {

PreparedClaim share(const std::string& uid) {
  PreparedClaim claim{.driver = sample::kExposure, .namespace_ = "ns", .name = uid, .uid = uid};
  claim.devices = {{.pool = "node-a",
                    .device = "0000-03-00-0-macvlan",
                    .share_id = "share-of-" + uid,
                    .pci = "0000:03:00.0",
                    .multus_resource = "example.com/macvlan"}};
  return claim;
}

// Red when the first of two claims with shares of a function removes the file that Multus reads for the other.
TEST(ClaimFiles, RemovesADeviceInfoWithItsLastUser) {
  const FileSettings settings{.drivers = {sample::kExposure}, .device_info_directory = "/dp"};
  const PreparedClaim first = share("uid-1"), second = share("uid-2");
  PreparedClaims prepared;
  prepared.emplace(key_of(second), second);
  EXPECT_TRUE(removal_of(first, prepared, settings).removed_infos.empty());
  prepared.clear();
  EXPECT_EQ(removal_of(second, prepared, settings).removed_infos,
            std::vector<std::string>{"/dp/example.com-macvlan-0000:03:00.0-device.json"});
}

// Red when a node that changes from mode MULTUS to STANDALONE keeps the files of former pods without end.
TEST(ClaimFiles, RemovesADeviceInfoOfModeMultusInAnyMode) {
  const FileSettings standalone{
      .drivers = {sample::kExposure}, .device_info_directory = "/dp", .writes_device_infos = false};
  const PreparedClaim claim = share("uid-1");
  PreparedClaims prepared;
  prepared.emplace(key_of(claim), claim);
  EXPECT_TRUE(files_of(claim, prepared, standalone).infos.empty());
  EXPECT_EQ(removal_of(claim, {}, standalone).removed_infos.size(), 1u);
}

}  // namespace
}  // namespace claim_files_test
}  // namespace sliced::kubelet
