#pragma once
// What the container runtime says of pods, and what is done about their interfaces (nri::Hooks): ADD before
// RunPodSandbox is answered, DEL when the sandbox stops, and no container before its sandbox has all of them.
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
#include "kubelet/interfaces/running_sandboxes.h"
#include "kubelet/interfaces/wanted.h"
#include "kubelet/nri/plugin.h"
#include "reactor/base/failure_log.h"

namespace sliced::kubelet {

/// An interface that is in a sandbox; told again after a restart. Valid during the call that it comes with.
/// `wanted` is a copy, as the claim was when the sandbox asked.
struct AttachedInterface {
  WantedInterface wanted;
  std::string sandbox_id;
  const cni::Attached& result;
};

/// A sandbox whose ADD was missed (we were not connected) gets its interfaces before its first container is created.
/// A container that was created meanwhile runs without them: it is reported, and its devices are in trouble until
/// its sandbox ends.
/// Replies: each is answered once. That of RunPodSandbox and CreateContainer before the runtime's own time is over, with an
///          error where the interfaces are not all there by then: what was made is undone, and the kubelet tries again. That
///          of StopPodSandbox and RemovePodSandbox once DEL was tried for all, with an error where one failed. In a namespace's pause
///          (HookTime) at once, with an error.
/// Threads: the loop's.
/// Reentry: handlers are called from within the hooks and from Attachments' callbacks, and may ask trouble_of().
/// Ownership: what ports name outlives it, and so does what `prepared` asks. Dropped, it answers nobody any
/// more; what was begun goes on in Attachments.
/// Bounds: as many calls at once as the runtime makes, and for each all of its interfaces at once (Attachments::kAddsMax). Where they take longer
/// than the runtime waits, the error names the time of each, their sum, and the runtime's option.
class Sandboxes final : public nri::Hooks {
 public:
  struct Ports {
    reactor::Scheduler& scheduler;
    Log& log;
    Attachments& attachments;
    std::shared_ptr<HookTime> hook_time = std::make_shared<HookTime>();
  };
  /// Both may be called from within a hook, before its reply.
  struct Handlers {
    std::function<void(const AttachedInterface&)> on_attached;  // before the sandbox's containers begin
    std::function<void()> on_trouble;                           // trouble_of() is another
    /// What dra-driver-sriov had made is taken over: nothing is its any more. networks: of its devices, what is run from now on.
    /// Optional.
    std::function<void(const PeerNetworks& networks)> on_adopted = {};
    /// A claim has that pod, too: `prepared` says so from then on. Optional.
    std::function<void(const PreparedKey&, const ReservingPod&)> on_pod = {};
  };
  /// prepared: what is prepared now.
  Sandboxes(Ports ports, std::function<const PreparedClaims&()> prepared, Handlers handlers);
  ~Sandboxes() override;

  /// After each connection. What pods have that are no more, or what was never finished, is undone without
  /// being waited for; what is there is told again by on_attached.
  void synchronize(std::vector<nri::PodSandbox> pods, std::vector<nri::Container> containers,
                   nri::Reply reply) override;
  /// Refused at once, with a remedy, where the pod shares the host's network and wants an interface.
  void run_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  /// By the sandbox's id alone: the claims may be unprepared by then.
  void stop_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  void remove_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override;
  /// The same as run_pod_sandbox(): agreed at once, where nothing is missing. By its CDI devices a container tells that its
  /// pod has a claim, which was prepared for another pod.
  void create_container(nri::PodSandbox pod, nri::Container container, nri::Reply reply) override;

  /// Of an entry: "" its pod has its interface.
  /// A text for people, with the remedy: the container that runs without its interface. It does not outlive
  /// the process.
  std::string trouble_of(const std::string& driver, const std::string& pool, const std::string& device) const;

  /// As the runtime has reported them. Without a connection: as they were when it ended, but for those whose network
  /// namespace is gone.
  const RunningSandboxes& running() const { return *running_; }

 private:
  // A call that waits for interfaces; held by what it waits for.
  struct Raising;
  using Entry = std::tuple<std::string, std::string, std::string>;  // driver, pool, device
  struct Trouble {
    std::string sandbox_id, text;
  };

  // is_run: RunPodSandbox; a sandbox that is refused then does not run.
  void raise(nri::PodSandbox pod, nri::Reply reply, bool is_run);
  void log_rejected(const nri::PodSandbox& pod, const std::string& why);
  // At once, each of them; the call is answered with the last.
  void attach_all(const std::shared_ptr<Raising>& raising);
  void attached(const std::shared_ptr<Raising>& raising, size_t index, Result<cni::Attached> made);
  // Undoes what this call has made, and then refuses it; 50 ms before its deadline in any case.
  void take_down(const std::shared_ptr<Raising>& raising, const std::string& why);
  void lower(const nri::PodSandbox& pod, nri::Reply reply);
  void forget_trouble(const std::function<bool(const std::string& sandbox_id)>& is_gone);
  // Claims that were reserved for the pod after they were prepared. kInvalid: the container has such a claim, and the pod's
  // texts cannot be kept.
  Result<Unit> learn_pod(const nri::PodSandbox& pod, const nri::Container& container);
  // Of the sandboxes that stand, before anything else is done about them.
  void adopt(const std::map<std::string, const nri::PodSandbox*>& alive,
             const std::vector<nri::Container>& containers);
  void report(const nri::PodSandbox& pod, const std::vector<WantedInterface>& missing,
              const nri::Container& container);
  std::vector<WantedInterface> missing_of(const nri::PodSandbox& pod) const;
  // Why they cannot all be in one sandbox; "" they can. A name is one interface's, and its record's.
  std::string clash_in(const nri::PodSandbox& pod, const std::vector<WantedInterface>& missing) const;

  const Ports ports_;
  const std::function<const PreparedClaims&()> prepared_;
  const Handlers handlers_;
  std::map<Entry, Trouble> troubles_;
  FailureLog said_;  // sandboxes that are rejected, by uid of the pod
  const std::shared_ptr<RunningSandboxes> running_ =
      std::make_shared<RunningSandboxes>();  // also of calls that wait
  const std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace sliced::kubelet
