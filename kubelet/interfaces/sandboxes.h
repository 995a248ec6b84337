#pragma once
// Handles pod events of the container runtime (nri::Hooks): ADD before RunPodSandbox is answered, DEL when
// the sandbox stops. No container starts before its sandbox has all of its interfaces.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kubelet/interfaces/attachments.h"
#include "kubelet/interfaces/hook_time.h"
#include "kubelet/interfaces/required_interfaces.h"
#include "kubelet/interfaces/running_sandboxes.h"
#include "kubelet/nri/plugin.h"
#include "reactor/base/failure_log.h"

namespace sliced::kubelet {

/// An interface in a sandbox; reported again after a restart. Valid during the call. `wanted` is a copy of
/// the claim's data at the time of the sandbox's call.
struct AttachedInterface {
  RequiredInterface wanted;
  std::string sandbox_id;
  const cni::Attached& result;
};

struct SandboxPorts {
  reactor::Scheduler& scheduler;
  Log& log;
  Attachments& attachments;
  std::shared_ptr<HookTime> hook_time = std::make_shared<HookTime>();
};

/// A sandbox whose ADD was missed while NRI was not connected gets its interfaces before its next container
/// is created. A container that was created meanwhile runs without them: it is reported, and its devices are
/// in trouble until its sandbox ends.
/// Device nodes: a CNI plugin may have bound a function again, so that its nodes have other numbers than the
/// CDI spec. They are compared before each reply to RunPodSandbox and CreateContainer. The runtime reads the
/// spec before it calls CreateContainer, so a container whose spec was changed by then is refused; the
/// kubelet creates it again.
/// Replies: each is given once. Those of RunPodSandbox and CreateContainer come before the runtime's timeout;
/// if interfaces are missing by then, it is an error, the interfaces are detached, and the kubelet retries.
/// Those of StopPodSandbox and RemovePodSandbox come after DEL was tried for all, with an error if one
/// failed. During a namespace's pause (HookTime) calls are refused immediately.
/// Threads: the loop's.
/// Reentry: handlers are called from within the hooks and from Attachments' callbacks, and may call
/// trouble_of().
/// Ownership: the objects in SandboxPorts, and the source of `prepared`, outlive this object. Its destruction
/// drops the replies; work in progress continues in Attachments.
/// Bounds: as many concurrent calls as the runtime makes, each with all of its interfaces at a time
/// (AttachmentBounds::adds_max). If they take longer than the runtime waits, the error names the time of
/// each, their sum, and the runtime's option.
class Sandboxes final : public nri::Hooks {
 public:
  /// May be called from within a hook, before its reply.
  struct Handlers {
    std::function<void(const AttachedInterface&)> on_attached;  // before the sandbox's containers start
    std::function<void()> on_trouble;                           // a result of trouble_of() has changed
    /// Attachments of dra-driver-sriov were taken over. networks: of its devices, for later sandboxes.
    /// Optional.
    std::function<void(const PeerNetworks& networks)> on_adopted = {};
    /// Another pod uses the claim; `prepared` contains it from then on. Optional.
    std::function<void(const PreparedKey&, const ReservingPod&)> on_pod = {};
    /// Compares the device nodes of the pod's claims with the host. is_run: the runtime starts the sandbox,
    /// which has no containers yet, so CDI specs that name other nodes may be changed. kBusy: nodes are
    /// missing now; other errors refuse the call. Optional.
    std::function<void(const std::string& pod_uid, bool is_run, std::function<void(Result<Unit>)> done)>
        refresh_nodes = {};
  };
  /// prepared: returns the current claims.
  Sandboxes(SandboxPorts ports, std::function<const PreparedClaims&()> prepared, Handlers handlers);
  ~Sandboxes() override;

  /// Called after each connection. Detaches interfaces of pods that no longer exist, and unfinished ones,
  /// without waiting for the end. Reports existing ones by on_attached.
  void synchronize(std::vector<nri::PodSandbox> pods, std::vector<nri::Container> containers,
                   nri::Reply reply) override;
  /// Refuses immediately, with a remedy, if the pod has the host's network and requests an interface.
  void run_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  /// Uses only the sandbox's id, because the claims may be unprepared already.
  void stop_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  void remove_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  /// As run_pod_sandbox(); agrees immediately if no interface is missing. A container's CDI devices show that
  /// its pod uses a claim that was prepared for another pod.
  void create_container(nri::PodSandbox pod, nri::Container container, nri::Reply reply) override;

  /// Returns why the pod of that entry lacks its interface, for people, with the remedy: a container runs
  /// without it. "" if it has it. Not persistent.
  std::string trouble_of(const std::string& driver, const std::string& pool, const std::string& device) const;

  /// As reported by the runtime. Without a connection: as last reported, without those whose network
  /// namespace is gone.
  const RunningSandboxes& running() const { return *running_; }

 private:
  // A call that waits for interfaces; their callbacks hold it.
  struct SandboxSetup;
  using Entry = std::tuple<std::string, std::string, std::string>;  // driver, pool, device
  struct Trouble {
    std::string sandbox_id, text;
  };

  // is_run: RunPodSandbox; a sandbox that is refused then does not run.
  void set_up(nri::PodSandbox pod, nri::Reply reply, bool is_run);
  void log_rejected(const nri::PodSandbox& pod, const std::string& why);
  // Attaches all concurrently; the last one answers the call.
  void attach_all(const std::shared_ptr<SandboxSetup>& setup);
  void attached(const std::shared_ptr<SandboxSetup>& setup, size_t index, Result<cni::Attached> made);
  using OnNodes = std::function<void(Result<Unit> compared)>;
  // Calls the handler until no node is missing, or until that time.
  void refresh_nodes(const std::string& pod_uid, bool is_run, TimePoint until, OnNodes done);
  // The answer of a call whose sandbox has all interfaces.
  void agree_with_nodes(const nri::PodSandbox& pod, nri::Reply reply, bool is_run);
  void end_setup(const std::shared_ptr<SandboxSetup>& setup, const Result<Unit>& compared);
  // Detaches the interfaces of this call, then refuses it; 50 ms before its deadline at the latest.
  void tear_down(const std::shared_ptr<SandboxSetup>& setup, const std::string& why);
  void detach_all(const nri::PodSandbox& pod, nri::Reply reply);
  void forget_trouble(const std::function<bool(const std::string& sandbox_id)>& is_gone);
  // Records the pod for claims that were reserved for it after they were prepared. Errors: kInvalid if the
  // container has such a claim and the pod's texts cannot be stored.
  Result<Unit> record_pod(const nri::PodSandbox& pod, const nri::Container& container);
  // Takes over the running sandboxes' attachments of dra-driver-sriov, before anything else is done with
  // them.
  void adopt(const std::map<std::string, const nri::PodSandbox*>& alive,
             const std::vector<nri::Container>& containers);
  void report(const nri::PodSandbox& pod, const std::vector<RequiredInterface>& missing,
              const nri::Container& container);
  std::vector<RequiredInterface> missing_of(const nri::PodSandbox& pod) const;
  // Returns why the interfaces cannot be in one sandbox; "" if they can. Names are unique in a sandbox, and
  // identify records.
  std::string clash_in(const nri::PodSandbox& pod, const std::vector<RequiredInterface>& missing) const;

  const SandboxPorts ports_;
  const std::function<const PreparedClaims&()> prepared_;
  const Handlers handlers_;
  std::map<Entry, Trouble> troubles_;
  std::map<size_t, reactor::Ticket> node_turns_;  // by their number
  size_t next_node_turn_ = 0;
  FailureLog rejections_;  // rejected sandboxes, by uid of the pod
  const std::shared_ptr<RunningSandboxes> running_ =
      std::make_shared<RunningSandboxes>();  // shared with waiting calls
  const std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace sliced::kubelet
