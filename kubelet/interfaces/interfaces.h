#pragma once
// Mode STANDALONE: the interfaces of claims come into their pods by the container runtime's word. In mode MULTUS, what
// was prepared in that mode before has its interfaces so to its end. In both modes the runtime reports which pods run.
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

/// Ownership: it holds the connection to the runtime, and ends it. CNI plugins that run are dropped with it; what they
///            have made is in the records, and is looked after by who comes next.
/// Threads:   the loop's; records are read and written on the executor.
/// Failure:   without a connection nothing is lost but time: it is tried again, later each time, and waits_for() says so
///            meanwhile.
/// Reentry: handlers as Sandboxes says; they may not destroy it.
class Interfaces final : public InterfacePort {
 public:
  struct Ports {
    kube::Cluster& cluster;
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    Attachments::RunChain run;
    nri::Plugin::Dial dial;
    reactor::Random random = reactor::system_random();
    std::function<bool(const std::string& pci)> is_back = {};            // as Attachments::Ports has it
    std::function<Result<Unit>(cni::Record& record)> prepare_host = {};  // the same
    std::function<void(cni::Record& record)> restore_host_sysctls = {};  // the same
    ReadHostAddresses host_addresses = {};                               // the same
    std::function<void(cni::Record& record, int network_namespace)> on_interface_moved = {};  // the same
    std::function<Result<Unit>(const cni::Record& record, int network_namespace)> before_del =
        {};  // the same
    std::function<Result<Unit>(const cni::Record& record, int network_namespace)> bring_back =
        {};  // the same
  };
  /// records: one file an interface, which is there as long as there is something to undo; it outlives the
  /// process and must outlive the pod of a daemon.
  struct Settings {
    nri::PluginOptions runtime;
    std::string records;  // directory of nobody else
    /// MULTUS: claims are not given interfaces any more. Without a connection to the runtime only the knowledge is lost
    /// which pods run.
    bool only_ends = false;
    std::string addresses = {};  // Attachments::Ports::addresses
    NetworkSettings networks = {};
  };
  /// What is passed by reference outlives it. prepared: what is prepared now.
  Interfaces(Ports ports, Settings settings, std::function<const PreparedClaims&()> prepared,
             Sandboxes::Handlers handlers);

  /// What is prepared is known: connects to the runtime, once the records of before have been read. Once.
  /// A runtime that is not there is dialled until it is; that is no failure of this.
  void start();

  /// NRI is not connected, and some device of the claim wants an interface that is not there yet. With the
  /// remedy. only_ends: of claims that were prepared with one alone.
  std::string waits_for(const PreparedClaim& claim) const override;
  /// Not connected: as the runtime reported last, and by the records of interfaces whose sandbox's network namespace is there.
  /// Until the first attempt to connect has succeeded or failed every claim is in use.
  /// Runtimes do not report every stop (containerd 2.4: of sandboxes older than itself). So a claim that is still in use after
  /// kAskAgain, by a sandbox without a namespace's file, makes the runtime list its sandboxes again, by a new connection.
  std::string in_use(const PreparedClaim& claim) override;
  bool may_be_shared(const PreparedClaim& claim) const override {
    return sandboxes_.running().has_other_of_namespace(claim);
  }
  static constexpr Millis kAskAgain{60'000};
  std::string held_elsewhere(const PreparedClaim& claim) const override;
  bool is_attached(const PreparedClaim& claim, const PreparedDevice& device) const override;
  /// As kubelet::read_networks(); only_ends: the claim as it is.
  kube::CallPtr read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                              std::function<void(Result<PreparedClaim>)> done) override;
  /// Of the claim's pods and devices, whatever sandbox they are in. done: after the first try of each, well
  /// or not; within this call where there is nothing. What failed is tried again by itself.
  void detach(const PreparedClaim& claim, std::function<void()> done) override;

  /// As Sandboxes::trouble_of().
  std::string trouble_of(const std::string& driver, const std::string& pool,
                         const std::string& device) const {
    return sandboxes_.trouble_of(driver, pool, device);
  }
  /// The connection to the container runtime (NRI). kUnused: only_ends. kPending: no attempt has failed yet.
  enum class Connection { kUnused, kPending, kConnected, kFailed };
  Connection connection() const;
  /// Returns why pods with interfaces do not start on this node, with the remedy. "" unless connection() is kFailed and something needs it: a claim
  /// that is prepared, a claim that waits_for() has refused since the start, or is_needed_by_policy.
  std::string connection_problem(bool is_needed_by_policy) const;
  /// No CNI plugin runs.
  bool idle() const { return attachments_.idle(); }

 private:
  // By pod, device and name of the interface, as the records have them.
  std::vector<cni::Attachment> left_of(const PreparedClaim& claim) const;
  // default_route_conflict() of the claim's pods; "" none.
  std::string route_conflict(const PreparedClaim& claim) const;
  bool wants_interface(const PreparedDevice& device) const;
  void connect();
  // The runtime has reported which sandboxes run, and is connected.
  bool is_connected() const { return plugin_ && plugin_->link().is_up; }
  // By the runtime's report, or without a connection by the namespace's file.
  bool runs(const cni::Attachment& attachment) const;
  // Of pods that have no claim any more, which was taken back by a process of before that could not undo it.
  void undo_strays();

  const Ports ports_;
  const Settings settings_;
  const std::function<const PreparedClaims&()> prepared_;
  Attachments attachments_;
  Sandboxes sandboxes_;
  std::unique_ptr<nri::Plugin> plugin_;            // null: not begun
  mutable bool was_needed_ = false;                // waits_for() has refused a claim
  std::map<PreparedKey, TimePoint> in_use_since_;  // claims that were found in use, by the same connection
  reactor::Ticket ask_again_;
};

}  // namespace sliced::kubelet
