#pragma once
// Pod sandboxes that run on this node, as the container runtime reports them (NRI), and the CDI devices that their
// containers were created with: whether a pod still has the devices of a claim.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/nri/messages.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// A sandbox ends with StopPodSandbox or RemovePodSandbox, when Synchronize no longer lists it, or when its network
/// namespace's file is removed: a runtime reports no end of a sandbox that another plugin refused.
/// Threads: the loop's. user_of() calls access(2) on the files of network namespaces (tmpfs).
class RunningSandboxes {
 public:
  void run(const nri::PodSandbox& pod);
  void create(const nri::PodSandbox& pod, const nri::Container& container);
  void end(const std::string& sandbox_id) { sandboxes_.erase(sandbox_id); }
  /// The complete list, after each connection.
  void replace(const std::vector<nri::PodSandbox>& pods, const std::vector<nri::Container>& containers);

  /// A pod whose sandbox runs and that has a device of the claim: one of PreparedClaim::pods, or one whose container was
  /// created with a CDI device of the claim. nullopt: none.
  struct User {
    std::string name;  // "ns/name"
    bool has_file =
        false;  // its network namespace's file is there: it runs, whatever the runtime has not reported
  };
  std::optional<User> user_of(const PreparedClaim& claim) const;
  /// Whether a sandbox of another pod than PreparedClaim::pods runs in the claim's namespace.
  bool has_other_of_namespace(const PreparedClaim& claim) const;
  /// Whether the runtime reports that sandbox as running.
  bool contains(const std::string& sandbox_id) const;

 private:
  struct Running {
    nri::PodSandbox pod;
    bool has_file = false;  // its namespace's file was there when it was reported
    std::vector<std::string> cdi_devices;
    bool has_ended() const;
  };
  Running& at(const nri::PodSandbox& pod);

  std::map<std::string, Running> sandboxes_;  // by sandbox id
};

}  // namespace sliced::kubelet
