#pragma once
// Reads from the API server whether the ResourceClaim of a record still exists.
#include <functional>

#include "kube/objects/cluster.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// kGone: no claim has that uid, or no device of the record is still allocated to it. kUnknown: no answer,
/// or an answer that cannot be decoded.
enum class ClaimState { kExists, kGone, kUnknown };

/// Sends one GET. Dropping the call cancels it. `done` is called once, on a turn of its own. Requires: the
/// record has the claim's name (is_nameless() is false).
[[nodiscard]] kube::CallPtr ask_claim(kube::Cluster& cluster, const PreparedClaim& record,
                                      std::function<void(ClaimState)> done);

}  // namespace sliced::kubelet
