#pragma once
// How far the pods are that hold claims: whose devices can be had with the least harm.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/why/claim.h"

namespace sliced::allocation {

inline constexpr std::string_view kBeingDeleted = "is being deleted", kPodIsGone = "does not exist any more";

struct PodState {
  UsersState state = UsersState::kRunning;
  std::string note;  // "is being deleted", "cannot start (ImagePullBackOff)"; "" of one that runs
};
/// Of a Pod object: deletionTimestamp, phase, and the containers that wait (containerStatuses[].state.waiting.reason).
PodState pod_state(const kube::Json& pod);

/// Fills in users_state and users_note of the claims of these namespaces, all of whose pods are in `pods`, by "namespace/name".
/// Returns whether a claim has users that are not running.
bool note_users(const std::map<std::string, PodState>& pods, const std::set<std::string>& namespaces,
                std::vector<Claim>& claims);

}  // namespace sliced::allocation
