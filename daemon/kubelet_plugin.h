#pragma once
// The kubelet plugin with the real ports and a running daemon.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/binding_conditions.h"
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

namespace sliced::daemon {

/// Serves both drivers. Combines the parts of kubelet/: sockets and registration (Plugin), claims
/// (ClaimPreparer), interfaces (Interfaces; in mode MULTUS those that were prepared in the other mode) and
/// the claims' status. It contains no rules of its own.
/// Ownership: the process and the daemon outlive this object. Members are destroyed before the objects that
/// they call. status_ and interfaces_ read the prepared claims through preparer_, and are not called while it
/// is constructed or destroyed.
/// Answers: nothing is prepared before the daemon's first decision; until then the kubelet gets the reason,
/// and retries.
/// Health: a device's own problem takes precedence over that of its interface.
/// Threads: the loop's. CNI plugins and the bind helper are separate processes.
class KubeletPlugin final : public Observer {
 public:
  /// Copies the options that it uses.
  KubeletPlugin(HostProcess& process, const config::Options& options, Daemon& daemon);

  /// Requires: the interlock is held. on_change: the result of is_known() or other_programs() has changed.
  /// Called once. Opens the sockets that can be opened. Reads the prepared claims once no other program
  /// serves one of the drivers, and refuses claims until then. Connects to the container runtime after that.
  void start(std::function<void()> on_change);
  /// Returns whether the daemon knows the prepared claims; nothing is published before.
  bool is_known() const { return is_known_; }
  /// kubelet::Plugin::other_programs(): those programs write the slices of these drivers.
  const std::map<std::string, std::string>& other_programs() const { return plugin_.other_programs(); }
  /// A device's health depends on the desired pools and on the host's inventory, a binding condition on both.
  void on_decided(const policy::Decision& decision) override;
  /// See CountedPreparer; for metrics.
  const kubelet::CountedPreparer::ByDriver& counts() const { return counted_.counts(); }
  size_t failing(const std::string& driver) const { return counted_.failing(driver); }
  /// Duration of ADD for each interface, successful or not.
  const DurationHistogram& attaches() const { return *attaches_; }
  const kubelet::PreparedClaims& prepared() const { return preparer_.prepared(); }
  /// See ClaimPreparer::with_ignored().
  const std::map<kubelet::PreparedKey, kubelet::ClaimWithIgnored>& with_ignored() const {
    return preparer_.with_ignored();
  }
  /// kubelet::unknown_macs(), with the host's current inventory.
  std::map<std::string, std::string> unknown_macs() const;
  kubelet::Interfaces::Connection connection() const { return interfaces_->connection(); }
  /// kubelet::Interfaces::connection_problem(). A policy requires the connection if it lists CNI plugins and
  /// selects a device of this node.
  std::string connection_problem() const;
  const policy::NotReturnedDevices& not_returned() const { return preparer_.not_returned(); }
  /// See ClaimPreparer::unrestored().
  policy::NotReturnedDevices unrestored() const { return preparer_.unrestored(); }
  /// See ClaimPreparer::settings_problems().
  std::map<std::string, std::string> settings_problems() const { return preparer_.settings_problems(); }
  /// Refuses new calls of the kubelet before the process ends. Tasks in progress complete.
  void stop_accepting() { preparer_.stop_accepting(); }
  /// Returns whether no claim and no interface is in progress.
  bool idle() const { return preparer_.idle() && interfaces_->idle(); }

 private:
  // Returns whether a link that is not on the host may be in a pod of a prepared claim.
  bool may_be_in_pod(const std::string& driver, const std::string& pool, const std::string& device) const;
  // See Interfaces::has_moved(), for all prepared claims with the entry.
  bool has_moved(const std::string& driver, const std::string& pool, const std::string& device) const;
  // Returns the uids of the prepared claims that have the entry.
  std::set<std::string> claims_of(const std::string& driver, const std::string& pool,
                                  const std::string& device) const;
  kubelet::Plugin::Driver driver(const std::string& name);
  // Requires: the daemon has decided.
  std::optional<kubelet::KnownEntry> find(const std::string& driver, const std::string& pool,
                                          const std::string& entry) const;
  std::optional<BindingReadiness> judge(const BindingDevice& device) const;
  bool is_own_pool(const std::string& driver, const std::string& pool) const;
  std::unique_ptr<kubelet::Interfaces> interfaces(HostProcess& process, const config::Options& options);
  kubelet::PreparerPorts ports(HostProcess& process, const config::Options& options);
  kubelet::ClaimPreparer::DaemonState knowledge(HostProcess& process);

  Daemon& daemon_;
  const std::string sriov_driver_, exposure_driver_;
  std::function<void()> on_change_;
  bool is_known_ = false;
  const std::shared_ptr<DurationHistogram> attaches_ =
      std::make_shared<DurationHistogram>();  // shared with running plugins
  kubelet::ClaimStatus status_;
  std::unique_ptr<kubelet::Interfaces> interfaces_;
  kubelet::ClaimPreparer preparer_;
  kubelet::CountedPreparer counted_{preparer_};
  kubelet::Plugin plugin_;
  BindingConditions conditions_;
  Subscription subscription_{daemon_.observers(), *this};
};

/// plugin: null if it is off.
PluginState state_of(const KubeletPlugin* plugin);

/// Returns null if options.kubelet_plugin is off. Opens nothing; see start().
std::unique_ptr<KubeletPlugin> open_kubelet_plugin(HostProcess& process, const config::Options& options,
                                                   Daemon& daemon);

}  // namespace sliced::daemon
