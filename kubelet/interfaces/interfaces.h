#pragma once
// Mode STANDALONE: attaches the interfaces of claims to pods, on events of the container runtime. In mode
// MULTUS it only serves claims that were prepared in STANDALONE before. In both modes the runtime reports the
// running pods.
//
//   prepare ─▶ read_networks ─▶ checkpoint        runtime ─▶ nri::Plugin ─▶ Sandboxes ─▶ Attachments ─▶ CNI plugins, records
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kubelet/interface_port.h"
#include "kubelet/interfaces/networks.h"
#include "kubelet/interfaces/sandboxes.h"
#include "kubelet/nri/plugin.h"

namespace sliced::kubelet {

struct InterfacesPorts {
  kube::Cluster& cluster;
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  RunChain run;
  nri::Plugin::Dial dial;
  reactor::Random random = reactor::system_random();
  HostSteps host = {};
};

/// Ownership: this object owns the connection to the runtime, and closes it. Its destruction kills running
/// CNI plugins; their records stay for the next process.
/// Threads: the loop's; records are read and written on the executor.
/// Failure: while the runtime is not connected, connecting is retried with backoff, and waits_for() reports
/// the problem.
/// Reentry: as in Sandboxes.
class Interfaces final : public InterfacePort {
 public:
  /// records: one file per interface until it is detached; the directory must outlive the daemon's pod.
  struct Settings {
    nri::PluginOptions runtime;
    std::string records;  // a directory that only sliced uses
    /// MULTUS: new claims get no interfaces. Without a connection to the runtime, only the set of running
    /// pods is unknown.
    bool only_ends = false;
    std::string addresses = {};  // see AttachmentPorts::addresses
    NetworkSettings networks = {};
  };
  /// References outlive this object. prepared: returns the current claims.
  Interfaces(InterfacesPorts ports, Settings settings, std::function<const PreparedClaims&()> prepared,
             Sandboxes::Handlers handlers);

  /// Requires: the prepared claims are known. Reads the records, then connects to the runtime, and retries
  /// until it succeeds. Called once.
  void start();

  /// Returns why the claim waits, with the remedy: NRI is not connected, and a device of the claim requires
  /// an interface that is not attached yet. only_ends: only for claims that were prepared with one.
  std::string waits_for(const PreparedClaim& claim) const override;
  /// While NRI is not connected, uses the runtime's last report, and the records of interfaces whose network
  /// namespace still exists. Every claim is in use until the first connection attempt has ended. Runtimes do
  /// not report every stop (containerd 2.4 does not for sandboxes older than itself). So a claim that is
  /// still in use after kAskAgain, by a sandbox without a namespace file, causes a reconnection, after which
  /// the runtime lists its sandboxes.
  std::string in_use(const PreparedClaim& claim) override;
  bool may_be_shared(const PreparedClaim& claim) const override {
    return sandboxes_.running().has_other_of_namespace(claim);
  }
  static constexpr Millis kAskAgain{60'000};
  std::string held_elsewhere(const PreparedClaim& claim) const override;
  bool is_attached(const PreparedClaim& claim, const PreparedDevice& device) const override;
  /// Returns whether the device's interface may be in a pod of the claim: an attachment of it has begun and
  /// has not ended, or Multus attaches, which reports nothing.
  bool may_be_in_pod(const PreparedClaim& claim, const PreparedDevice& device) const;
  /// Returns whether an existing attachment has moved the device's interface into a pod of the claim.
  bool has_moved(const PreparedClaim& claim, const PreparedDevice& device) const;
  /// As kubelet::read_networks(), for a component that attaches; with only_ends the claim is unchanged.
  /// Errors: also kInvalid, if interfaces of the pod have conflicting default routes, or for `network` of a
  /// VfConfig with only_ends.
  kube::CallPtr read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                              std::function<void(Result<PreparedClaim>)> done) override;
  /// Detaches the interfaces of the claim's pods and devices, in whichever sandbox they are. done: called
  /// after the first attempt for each, within this call if there are none. Failed attempts are retried.
  void detach(const PreparedClaim& claim, std::function<void()> done) override;

  /// See Sandboxes::trouble_of().
  std::string trouble_of(const std::string& driver, const std::string& pool,
                         const std::string& device) const {
    return sandboxes_.trouble_of(driver, pool, device);
  }
  /// State of the connection to the container runtime (NRI). kUnused: only_ends. kPending: no attempt has
  /// failed yet.
  enum class Connection { kUnused, kPending, kConnected, kFailed };
  Connection connection() const;
  /// Returns why pods with interfaces do not start on this node, with the remedy. Returns "" unless
  /// connection() is kFailed and an interface is required: by a prepared claim, by a claim that waits_for()
  /// has refused since the start, or by is_needed_by_policy.
  std::string connection_problem(bool is_needed_by_policy) const;
  /// Returns whether no CNI plugin runs.
  bool idle() const { return attachments_.idle(); }

 private:
  // Returns the records of the claim's interfaces, by pod, device and interface name.
  std::vector<cni::Attachment> left_of(const PreparedClaim& claim) const;
  // Returns default_route_conflict() of the claim's pods; "" if none.
  std::string route_conflict(const PreparedClaim& claim) const;
  bool requires_interface(const PreparedDevice& device) const;
  void connect();
  // Returns whether the runtime is connected and has reported its sandboxes.
  bool is_connected() const { return plugin_ && plugin_->link().is_up; }
  // From the runtime's report; without a connection, from the namespace's file.
  bool runs(const cni::Attachment& attachment) const;
  // Detaches interfaces of pods without a claim, which an earlier process released but could not detach.
  void detach_unclaimed();

  const InterfacesPorts ports_;
  const Settings settings_;
  const std::function<const PreparedClaims&()> prepared_;
  Attachments attachments_;
  Sandboxes sandboxes_;
  std::unique_ptr<nri::Plugin> plugin_;            // null: not started
  mutable bool was_needed_ = false;                // waits_for() has refused a claim
  std::map<PreparedKey, TimePoint> in_use_since_;  // claims that were found in use over the current
                                                   // connection
  reactor::Ticket ask_again_;
};

}  // namespace sliced::kubelet
