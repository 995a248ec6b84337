#include "kube/objects/claim_status.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace sliced::kube {
namespace {

// Red when a write that cannot succeed is repeated without end, or one that can succeed is abandoned.
TEST(ClaimWrites, EndIfARetryCannotHelp) {
  const std::vector<std::tuple<Errc, bool, bool>> rows = {
      {Errc::kNotFound, true, true},  {Errc::kConflict, true, true}, {Errc::kInvalid, false, true},
      {Errc::kTooLarge, false, true}, {Errc::kDenied, false, false}, {Errc::kBusy, false, false},
      {Errc::kIo, false, false},      {Errc::kTimeout, false, false}};
  for (const auto& [code, is_gone, is_final] : rows) {
    SCOPED_TRACE(static_cast<int>(code));
    EXPECT_EQ(is_claim_gone({.code = code}), is_gone);
    EXPECT_EQ(is_claim_write_final({.code = code}), is_final);
  }
}

TEST(ClaimWrites, NameTheClaimByItsUidAndTheDeviceByItsKey) {
  Json::Array devices{encode_status_device("d", "p", "0000-03-00-2", ""),
                      encode_status_device("d", "p", "shared", "s1")};
  EXPECT_EQ(encode_claim_devices("apps", "c", "u", std::move(devices)),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",)"
            R"("metadata":{"name":"c","namespace":"apps","uid":"u"},"status":{"devices":[)"
            R"({"driver":"d","pool":"p","device":"0000-03-00-2"},)"
            R"({"driver":"d","pool":"p","device":"shared","shareID":"s1"}]}})");
}

}  // namespace
}  // namespace sliced::kube
