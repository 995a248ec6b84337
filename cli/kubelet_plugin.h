#pragma once
// The kubelet plugin over the real ports and a running daemon.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cli/process.h"
#include "daemon/daemon.h"
#include "kubelet/counted_preparer.h"
#include "kubelet/health.h"
#include "kubelet/interfaces/claim_status.h"
#include "kubelet/interfaces/interfaces.h"
#include "kubelet/plugin.h"
#include "kubelet/preparer.h"

namespace sliced::cli {

/// Of both drivers. The process and the daemon outlive it.
class KubeletPlugin {
 public:
  KubeletPlugin(Process& process, const config::Options& options, daemon::Daemon& daemon);

  /// The node is this process' (the interlock is held). on_known: the daemon has been told what is prepared.
  void start(std::function<void()> on_known) {
    preparer_.start([this, on_known = std::move(on_known)] {
      on_known();
      if (interfaces_) interfaces_->start();
    });
    plugin_.start();
  }
  /// After each decision.
  void on_decided() { plugin_.look_at_health(); }
  const kubelet::CountedPreparer::ByDriver& counts() const { return counted_.counts(); }
  /// The end is near: what the kubelet asks for from now on is refused.
  void take_no_more() { preparer_.take_no_more(); }
  /// Neither a claim nor an interface is being worked at.
  bool idle() const { return preparer_.idle() && (!interfaces_ || interfaces_->idle()); }

 private:
  kubelet::Plugin::Driver driver(const std::string& name);
  std::unique_ptr<kubelet::Interfaces> interfaces(Process& process, const config::Options& options);
  kubelet::ClaimPreparer::Ports ports(Process& process, const config::Options& options);
  kubelet::ClaimPreparer::Knowledge knowledge(Process& process, const config::Options& options);

  daemon::Daemon& daemon_;
  kubelet::ClaimStatus status_;
  std::unique_ptr<kubelet::Interfaces> interfaces_;  // null: MULTUS
  kubelet::ClaimPreparer preparer_;
  kubelet::CountedPreparer counted_{preparer_};
  kubelet::Plugin plugin_;
};

/// Null: options.kubelet_plugin is off.
std::unique_ptr<KubeletPlugin> open_kubelet_plugin(Process& process, const config::Options& options,
                                                   daemon::Daemon& daemon);

}  // namespace sliced::cli
