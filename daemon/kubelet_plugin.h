#pragma once
// The kubelet plugin over the real ports and a running daemon.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/daemon.h"
#include "daemon/host_process.h"
#include "daemon/observer.h"
#include "daemon/plugin_state.h"
#include "kubelet/counted_preparer.h"
#include "kubelet/health.h"
#include "kubelet/interfaces/claim_status.h"
#include "kubelet/interfaces/interfaces.h"
#include "kubelet/plugin.h"
#include "kubelet/preparer.h"

namespace sliced::cli {

/// Of both drivers. The process and the daemon outlive it.
/// It puts together what is in kubelet/: sockets and registration (Plugin), claims (ClaimPreparer),
/// interfaces (Interfaces; in mode MULTUS of what was prepared in the other one) and the claims' status; here is no rule of its own.
/// Answers: nothing is prepared before the daemon has decided once; until then the kubelet is told what is
/// waited for, and tries again.
/// Health: a device's own trouble counts before that of its interface.
/// Order: members are destroyed before what they call back into; status and interfaces know what is prepared
/// through the preparer, and are asked nothing while it is made or dropped.
/// Threads: the loop's. CNI plugins and the bind helper are processes of their own.
class KubeletPlugin final : public daemon::Observer {
 public:
  /// The options are copied from, not kept.
  KubeletPlugin(HostProcess& process, const config::Options& options, daemon::Daemon& daemon);

  /// The node is this process' (the interlock is held). on_change: is_known() or other_programs() has another answer. Once.
  /// Sockets that can be opened are there when it returns. What is prepared is read once no other program serves one of the
  /// drivers; claims are refused until then. The container runtime is connected to once that is known.
  void start(std::function<void()> on_change);
  /// The daemon has been told what is prepared: nothing is published before.
  bool is_known() const { return is_known_; }
  /// kubelet::Plugin::other_programs(): their slices are the other program's to write.
  const std::map<std::string, std::string>& other_programs() const { return plugin_.other_programs(); }
  /// The health of a device depends on what is desired and on the host's inventory.
  void on_decided(const policy::Decision&) override { plugin_.look_at_health(); }
  const kubelet::CountedPreparer::ByDriver& counts() const { return counted_.counts(); }
  size_t failing(const std::string& driver) const { return counted_.failing(driver); }
  /// How long the CNI plugins of an interface took, for each that was asked for (ADD), well or not.
  const DurationHistogram& attaches() const { return *attaches_; }
  const kubelet::PreparedClaims& prepared() const { return preparer_.prepared(); }
  const std::map<kubelet::PreparedKey, kubelet::ClaimWithIgnored>& with_ignored() const {
    return preparer_.with_ignored();
  }
  /// kubelet::unknown_macs(), beside what the host's inventory says of the VFs now.
  std::map<std::string, std::string> unknown_macs() const;
  kubelet::Interfaces::Connection connection() const { return interfaces_->connection(); }
  /// kubelet::Interfaces::connection_problem(); a policy needs the connection if it lists CNI plugins and selects a device of this node.
  std::string connection_problem() const;
  const policy::NotReturnedDevices& not_returned() const { return preparer_.not_returned(); }
  /// ClaimPreparer::unrestored().
  policy::NotReturnedDevices unrestored() const { return preparer_.unrestored(); }
  /// ClaimPreparer::settings_problems().
  std::map<std::string, std::string> settings_problems() const { return preparer_.settings_problems(); }
  /// The end is near: what the kubelet asks for from now on is refused.
  /// What is under way goes on to its end.
  void take_no_more() { preparer_.take_no_more(); }
  /// Neither a claim nor an interface is being worked at.
  bool idle() const { return preparer_.idle() && interfaces_->idle(); }

 private:
  kubelet::Plugin::Driver driver(const std::string& name);
  std::unique_ptr<kubelet::Interfaces> interfaces(HostProcess& process, const config::Options& options);
  kubelet::ClaimPreparer::Ports ports(HostProcess& process, const config::Options& options);
  kubelet::ClaimPreparer::Knowledge knowledge(HostProcess& process, const config::Options& options);

  daemon::Daemon& daemon_;
  std::function<void()> on_change_;
  bool is_known_ = false;
  const std::shared_ptr<DurationHistogram> attaches_ =
      std::make_shared<DurationHistogram>();  // with the plugins that still run
  kubelet::ClaimStatus status_;
  std::unique_ptr<kubelet::Interfaces> interfaces_;
  kubelet::ClaimPreparer preparer_;
  kubelet::CountedPreparer counted_{preparer_};
  kubelet::Plugin plugin_;
  daemon::Subscription subscription_{daemon_.observers(), *this};
};

/// plugin: null where it is off.
PluginState state_of(const KubeletPlugin* plugin);

/// Null: options.kubelet_plugin is off.
/// Opens nothing yet: start() does.
std::unique_ptr<KubeletPlugin> open_kubelet_plugin(HostProcess& process, const config::Options& options,
                                                   daemon::Daemon& daemon);

}  // namespace sliced::cli
