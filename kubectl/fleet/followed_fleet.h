#pragma once
// A watched fleet, for long-running commands.
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/options.h"
#include "daemon/process.h"
#include "kube/client/ports.h"
#include "kubectl/fleet/fleet.h"
#include "reactor/base/result.h"
#include "watchers/list_watch.h"

namespace sliced::kubectl {

/// Nodes, slices, claims, reports, Leases of daemons and policies, updated by watches. Objects that cannot be
/// decoded are ignored. Kinds that may not be listed are omitted, and gaps() returns the consequences.
/// Silence: silent daemons are determined every kJudgeEvery, by the API server's clock, but not while Leases
/// cannot be watched or for kRenewAgain after that: daemons require a moment after an outage of the API
/// server.
/// Bounds: per kind 500,000 objects and 4 GiB of text of a list; memory as Fleet.
/// Permissions: list and watch on resourceslices, resourceclaims, nodes (metadata), nodedevicereports and
/// deviceexposurepolicies, and on leases and sriovresourcepolicies in namespace_; each is optional.
/// Ownership: ports outlive this object. Threads: the loop's.
class FollowedFleet {
 public:
  static constexpr Millis kJudgeEvery{10'000}, kRenewAgain{60'000};
  FollowedFleet(const kube::ClusterPorts& ports, const std::set<std::string>& drivers,
                const std::string& namespace_);

  /// The current state. The constructor starts the watches.
  const Fleet& fleet() const { return fleet_; }
  /// Grows with each change.
  uint64_t moment() const { return moment_; }
  /// Returns whether each source has answered.
  bool is_whole() const;
  /// Returns why the shown state may be old or incomplete; "" if it is neither.
  std::string note() const;
  /// Returns the information that is unknown because a kind may not be listed: "ALLOCATED and FREE are
  /// unknown: list resourceclaims: ...".
  std::vector<std::string> gaps() const;
  /// Returns a permanent refusal: neither nodes, slices nor reports may be read. "" if there is none.
  std::string refusal() const;

 private:
  template <class T>
  struct How;
  template <class T>
  void follow(const kube::ClusterPorts& ports, kube::Scope scope, const How<T>& how);
  template <const kube::Resource* kResource>
  void follow_policies(const kube::ClusterPorts& ports);
  void judge();
  void update_clock();
  void note_known();
  bool is_refused(const watchers::Source& source) const;
  // The source continues without that kind, and lacks nothing that was shown.
  bool is_without(const watchers::Source& source) const;

  kube::Cluster& cluster_;
  reactor::Scheduler& scheduler_;
  Fleet fleet_;
  const std::string namespace_;
  uint64_t moment_ = 1;
  struct Followed {
    kube::Resource kind;
    std::unique_ptr<watchers::Source> source;
  };
  std::vector<Followed> sources_;
  bool is_lease_live_ = false;
  TimePoint judges_from_{};  // max(): Leases are no longer watched
  reactor::Ticket judging_;
};

/// Opens the cluster, waits until it is read, at most two minutes, and calls `show` until SIGINT, SIGTERM or
/// SIGHUP sets its flag or it returns. Returns the exit status; failures are reported on stderr.
int follow_fleet(const config::Options& options,
                 const std::function<Result<Unit>(daemon::Process& process, const FollowedFleet& followed,
                                                  bool& is_over)>& show);

}  // namespace sliced::kubectl
