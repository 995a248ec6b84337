#pragma once
// Mode STANDALONE: the interfaces of claims come into their pods by the container runtime's word. In mode MULTUS, what
// was prepared in that mode before has its interfaces so to its end.
//
//   prepare ─▶ read_networks ─▶ checkpoint        runtime ─▶ nri::Plugin ─▶ Sandboxes ─▶ Attachments ─▶ CNI plugins, records
#include <functional>
#include <memory>
#include <string>

#include "kubelet/interface_port.h"
#include "kubelet/interfaces/networks.h"
#include "kubelet/interfaces/sandboxes.h"
#include "nri/plugin.h"

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
  };
  /// records: one file an interface, which is there as long as there is something to undo; it outlives the
  /// process and must outlive the pod of a daemon.
  struct Settings {
    nri::PluginOptions runtime;
    std::string records;  // directory of nobody else
    /// MULTUS: claims are not given interfaces any more. The runtime is connected to as long as a claim that was
    /// prepared with one is there, or an interface that is to be undone; else it never is.
    bool only_ends = false;
    NetworkSettings networks = {};
  };
  static constexpr Millis kEndsAgain{60'000};  // from one look whether anything is left to the next
  /// What is passed by reference outlives it. prepared: what is prepared now.
  Interfaces(Ports ports, Settings settings, std::function<const PreparedClaims&()> prepared,
             Sandboxes::Handlers handlers);

  /// What is prepared is known: connects to the runtime, once the records of before have been read. Once.
  /// A runtime that is not there is dialled until it is; that is no failure of this.
  void start();

  /// NRI is not connected, and some device of the claim wants an interface that is not there yet. With the
  /// remedy. only_ends: of claims that were prepared with one alone.
  std::string waits_for(const PreparedClaim& claim) const override;
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
  /// No CNI plugin runs.
  bool idle() const { return attachments_.idle(); }

 private:
  // By pod, device and name of the interface, as the records have them.
  std::vector<cni::Attachment> left_of(const PreparedClaim& claim) const;
  bool wants_interface(const PreparedDevice& device) const;
  // Claims that were prepared with an interface, or what is to be undone.
  bool has_any() const;
  void connect();
  // only_ends: lets the runtime go once nothing is left.
  void end_when_over();
  // Of pods that have no claim any more, which was taken back by a process of before that could not undo it.
  void undo_strays();

  const Ports ports_;
  const Settings settings_;
  const std::function<const PreparedClaims&()> prepared_;
  Attachments attachments_;
  Sandboxes sandboxes_;
  std::unique_ptr<nri::Plugin> plugin_;  // null: not begun, or nothing is left
  reactor::Ticket look_again_;
};

}  // namespace sliced::kubelet
