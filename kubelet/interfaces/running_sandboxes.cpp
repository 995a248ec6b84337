#include "kubelet/interfaces/running_sandboxes.h"

#include <unistd.h>

#include <algorithm>

#include "kubelet/plan.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

bool is_file(const std::string& path) { return !path.empty() && ::access(path.c_str(), F_OK) == 0; }

bool is_pod_of(const PreparedClaim& claim, const std::string& uid) {
  return !uid.empty() && std::any_of(claim.pods.begin(), claim.pods.end(),
                                     [&](const ReservingPod& pod) { return pod.uid == uid; });
}

// Names of a claim's CDI devices begin with its uid (plan.cpp, device_name()). A record that was begun, or
// that was recalled from CDI specs, counts as well.
bool has_device_of(const PreparedClaim& claim, const std::vector<std::string>& cdi_devices) {
  const std::string start = cdi_kind(claim.driver) + "=" + claim.uid + "-";
  return std::any_of(cdi_devices.begin(), cdi_devices.end(),
                     [&](const std::string& name) { return name.starts_with(start); });
}

}  // namespace

bool RunningSandboxes::Running::has_ended() const { return has_file && !is_file(pod.network_namespace); }

RunningSandboxes::Running& RunningSandboxes::at(const nri::PodSandbox& pod) {
  const auto [at, is_new] = sandboxes_.try_emplace(pod.id);
  if (is_new) at->second = {pod, is_file(pod.network_namespace), {}};
  return at->second;
}

void RunningSandboxes::run(const nri::PodSandbox& pod) {
  // A pod has one sandbox at a time: the kubelet creates the next one after the earlier one has stopped.
  if (!pod.uid.empty())
    std::erase_if(sandboxes_,
                  [&](const auto& one) { return one.first != pod.id && one.second.pod.uid == pod.uid; });
  at(pod);
}

void RunningSandboxes::create(const nri::PodSandbox& pod, const nri::Container& container) {
  std::vector<std::string>& devices = at(pod).cdi_devices;
  for (const std::string& name : container.cdi_devices)
    if (std::find(devices.begin(), devices.end(), name) == devices.end()) devices.push_back(name);
}

// A sandbox that has ended is listed until it is removed, without a network namespace; so is one in the
// host's network, which runs as long as one of its containers does.
void RunningSandboxes::replace(const std::vector<nri::PodSandbox>& pods,
                               const std::vector<nri::Container>& containers) {
  sandboxes_.clear();
  std::map<std::string_view, const nri::PodSandbox*> by_id;
  std::map<std::string_view, const nri::PodSandbox*> last_of_pod;  // by uid; see run()
  for (const nri::PodSandbox& pod : pods) {
    by_id[pod.id] = &pod;
    if (!pod.network_namespace.empty()) last_of_pod[pod.uid] = &pod;
  }
  for (const nri::PodSandbox& pod : pods)
    if (!pod.network_namespace.empty() && (pod.uid.empty() || last_of_pod[pod.uid] == &pod)) at(pod);
  for (const nri::Container& container : containers) {
    const auto pod = by_id.find(container.sandbox_id);
    if (pod != by_id.end() && container.state != nri::ContainerState::kStopped) at(*pod->second);
  }
  for (const nri::Container& container : containers)
    if (sandboxes_.contains(container.sandbox_id)) create(*by_id.at(container.sandbox_id), container);
}

bool RunningSandboxes::contains(const std::string& sandbox_id) const {
  const auto at = sandboxes_.find(sandbox_id);
  return at != sandboxes_.end() && !at->second.has_ended();
}

bool RunningSandboxes::has_other_of_namespace(const PreparedClaim& claim) const {
  return std::any_of(sandboxes_.begin(), sandboxes_.end(), [&](const auto& one) {
    const Running& running = one.second;
    return running.pod.namespace_name == claim.namespace_ && !running.has_ended() &&
           !is_pod_of(claim, running.pod.uid);
  });
}

std::optional<RunningSandboxes::User> RunningSandboxes::user_of(const PreparedClaim& claim) const {
  for (const auto& [id, running] : sandboxes_) {
    const bool is_user = is_pod_of(claim, running.pod.uid) || has_device_of(claim, running.cdi_devices);
    if (is_user && !running.has_ended())
      return User{escaped(running.pod.namespace_name) + "/" + escaped(running.pod.name), running.has_file};
  }
  return std::nullopt;
}

}  // namespace sliced::kubelet
