#include "kubectl/why/users.h"

#include <algorithm>
#include <string_view>

namespace sliced::why {
namespace {

// Returns the reason of a waiting container; "" if it is starting normally.
std::string failing_reason(const kube::Json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    const kube::Json* found = pod.find({"status", list});
    if (found == nullptr || found->array() == nullptr) continue;
    for (const kube::Json& status : *found->array()) {
      const kube::Json* waiting = status.find({"state", "waiting"});
      if (waiting == nullptr) continue;
      const std::string_view reason = waiting->text("reason");
      if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing")
        return std::string(reason);
    }
  }
  return "";
}

bool is_any_running(const kube::Json& pod) {
  const kube::Json* found = pod.find({"status", "containerStatuses"});
  if (found == nullptr || found->array() == nullptr) return false;
  return std::any_of(found->array()->begin(), found->array()->end(),
                     [](const kube::Json& status) { return status.find({"state", "running"}) != nullptr; });
}

}  // namespace

std::string_view name_of(UsersState state) {
  switch (state) {
    case UsersState::kEnding:
      return "ending";
    case UsersState::kFailing:
      return "failing";
    case UsersState::kStarting:
      return "starting";
    case UsersState::kRunning:
      return "running";
  }
  return "";
}

PodState pod_state(const kube::Json& pod) {
  const kube::Json* metadata = pod.find({"metadata"});
  if (metadata != nullptr && !metadata->text("deletionTimestamp").empty())
    return {UsersState::kEnding, std::string(kBeingDeleted)};
  const kube::Json* status = pod.find({"status"});
  const std::string phase(status == nullptr ? "" : status->text("phase"));
  if (phase == "Succeeded" || phase == "Failed") return {UsersState::kEnding, "has ended (" + phase + ")"};
  // A running container may use the device, regardless of the others.
  if (is_any_running(pod)) return {};
  if (const std::string reason = failing_reason(pod); !reason.empty())
    return {UsersState::kFailing, (phase == "Running" ? "fails (" : "cannot start (") + reason + ")"};
  if (phase == "Pending") return {UsersState::kStarting, "has not started"};
  return {};
}

bool note_users(const std::map<std::string, PodState>& pods, const std::set<std::string>& namespaces,
                std::vector<Claim>& claims) {
  bool is_any = false;
  for (Claim& claim : claims) {
    if (!namespaces.contains(claim.namespace_) || claim.users.empty()) continue;
    claim.users_state = UsersState::kEnding;
    claim.users_note = kPodIsGone;
    for (const std::string& user : claim.users) {
      PodState one{UsersState::kEnding, std::string(kPodIsGone)};
      if (user.find('/') != std::string::npos)
        one = {};  // no pod
      else if (const auto found = pods.find(claim.namespace_ + "/" + user); found != pods.end())
        one = found->second;
      if (one.state < claim.users_state) continue;
      claim.users_state = one.state;
      claim.users_note = one.note;
    }
    is_any |= claim.users_state != UsersState::kRunning;
  }
  return is_any;
}

}  // namespace sliced::why
