#pragma once
// The running pod sandboxes of this node, from the container runtime (NRI), with the CDI devices of their
// containers. Shows whether a pod still has the devices of a claim.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/nri/messages.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// A sandbox ends with StopPodSandbox or RemovePodSandbox, when Synchronize no longer lists it, when another
/// sandbox of its pod runs, or when the file of its network namespace is removed. A sandbox in the host's
/// network has no such file; Synchronize counts it as running while one of its containers does. The file
/// counts because a runtime reports no end of a sandbox that another plugin refused. Threads: the loop's.
/// user_of() calls access(2) on the files of network namespaces (tmpfs).
class RunningSandboxes {
 public:
  void run(const nri::PodSandbox& pod);
  void create(const nri::PodSandbox& pod, const nri::Container& container);
  void end(const std::string& sandbox_id) { sandboxes_.erase(sandbox_id); }
  /// Replaces the whole list, after each connection.
  void replace(const std::vector<nri::PodSandbox>& pods, const std::vector<nri::Container>& containers);

  /// Returns a pod with a running sandbox and a device of the claim: one of PreparedClaim::pods, or one whose
  /// container was created with a CDI device of the claim. nullopt if there is none.
  struct User {
    std::string name;  // "ns/name"
    bool has_file =
        false;  // its network namespace's file exists, so it runs even if the runtime has not reported it
  };
  std::optional<User> user_of(const PreparedClaim& claim) const;
  /// Returns whether a sandbox of a pod outside PreparedClaim::pods runs in the claim's namespace.
  bool has_other_of_namespace(const PreparedClaim& claim) const;
  /// Returns whether the runtime reports that sandbox as running.
  bool contains(const std::string& sandbox_id) const;

 private:
  struct Running {
    nri::PodSandbox pod;
    bool has_file = false;  // its namespace's file existed when it was reported
    std::vector<std::string> cdi_devices;
    bool has_ended() const;
  };
  Running& at(const nri::PodSandbox& pod);

  std::map<std::string, Running> sandboxes_;  // by sandbox id
};

}  // namespace sliced::kubelet
