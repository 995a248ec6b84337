#pragma once
// The states of pods that hold claims, to find devices whose release does the least harm.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/why/claim.h"

namespace sliced::why {

inline constexpr std::string_view kBeingDeleted = "is being deleted", kPodIsGone = "does not exist any more";

struct PodState {
  UsersState state = UsersState::kRunning;
  std::string note;  // "is being deleted", "cannot start (ImagePullBackOff)"; "" if it runs
};
/// Reads a Pod's deletionTimestamp, phase, and waiting containers (containerStatuses[].state.waiting.reason).
PodState pod_state(const kube::Json& pod);

/// Sets users_state and users_note of the claims of these namespaces. Requires: `pods` contains all of their
/// pods, by "namespace/name". Returns whether a claim has users that are not running.
bool note_users(const std::map<std::string, PodState>& pods, const std::set<std::string>& namespaces,
                std::vector<Claim>& claims);

}  // namespace sliced::why
