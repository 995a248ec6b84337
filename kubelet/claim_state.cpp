#include "kubelet/claim_state.h"

#include <algorithm>
#include <string_view>

#include "kube/objects/kinds.h"
#include "kubelet/claim.h"

namespace sliced::kubelet {
namespace {

// It may have been allocated again since, on another node as well.
bool has_devices_of(const Claim& claim, const PreparedClaim& record) {
  const auto is_recorded = [&](const AllocatedDevice& now) {
    return now.driver == record.driver &&
           std::any_of(record.devices.begin(), record.devices.end(), [&](const PreparedDevice& was) {
             return was.pool == now.pool && was.device == now.device;
           });
  };
  return claim.is_allocated && std::any_of(claim.devices.begin(), claim.devices.end(), is_recorded);
}

}  // namespace

kube::CallPtr ask_claim(kube::Cluster& cluster, const PreparedClaim& record,
                        std::function<void(ClaimState)> done) {
  return cluster.get(
      {.resource = kube::kResourceClaims, .namespace_ = record.namespace_, .name = record.name},
      {.on_done =
           [record, done](std::string_view object) {
             const auto now = decode_claim(object);
             if (!now) return done(ClaimState::kUnknown);
             const bool exists = now->uid == record.uid && has_devices_of(*now, record);
             done(exists ? ClaimState::kExists : ClaimState::kGone);
           },
       .on_failure =
           [done](const kube::Failure& failure) {
             done(kube::says_gone(failure) ? ClaimState::kGone : ClaimState::kUnknown);
           }});
}

}  // namespace sliced::kubelet
