#pragma once
// Whether the ResourceClaim of a record still exists, by the API server.
#include <functional>

#include "kube/objects/cluster.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// kGone: there is no claim of that uid, or it is allocated none of the record's devices any more. kUnknown: no answer, or one
/// that cannot be decoded; nothing follows from it.
enum class ClaimState { kExists, kGone, kUnknown };

/// One GET. Dropping the call cancels; `done` is called once, on a turn of its own. REQUIRES: the record has the claim's name
/// (is_nameless()).
[[nodiscard]] kube::CallPtr ask_claim(kube::Cluster& cluster, const PreparedClaim& record,
                                      std::function<void(ClaimState)> done);

}  // namespace sliced::kubelet
