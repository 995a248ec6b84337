#pragma once
// Writes of status.devices of ResourceClaims by server-side apply (resource.k8s.io/v1,
// AllocatedDeviceStatus). Each writer has a field manager of its own, and its apply removes the fields that
// it leaves out.
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "kube/objects/json.h"

namespace sliced::kube {

/// Returns an entry of status.devices with its key alone. share_id: "" if the device is not shared.
Json encode_status_device(std::string_view driver, std::string_view pool, std::string_view device,
                          std::string_view share_id);

/// Returns the object to apply to the subresource `status`. With the uid the API server refuses it for a
/// successor of the claim (409).
std::string encode_claim_devices(const std::string& namespace_, const std::string& name,
                                 const std::string& uid, Json::Array devices);

/// Returns whether the claim is gone: deleted, or replaced by another one of its name.
bool is_claim_gone(const Failure& failure);
/// Returns whether the same write cannot succeed later. Includes is_claim_gone().
bool is_claim_write_final(const Failure& failure);
/// Returns the remedy for the log.
std::string_view remedy_for_claim_write(const Failure& failure);

}  // namespace sliced::kube
