#pragma once
// A fleet that is followed as it changes, for what goes on for long.
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

namespace sliced::cli {

/// Nodes, slices, claims, reports, Leases of daemons and policies, kept equal to what the cluster has. What cannot be read of an object
/// is as if it were not there. Kinds that may not be listed are left out, and gaps() names what is not known for want of them.
/// Silence:   which daemons are silent is judged every kJudgeEvery, by the API server's clock, and not while Leases cannot be watched or
///            have been watched again for less than kRenewAgain: after an outage of the API server daemons need a moment.
/// Bounds:    of each kind 500,000 objects and 4 GiB of text of a list; what is kept is what Fleet keeps.
/// Permissions: list and watch on resourceslices, resourceclaims, nodes (metadata), nodedevicereports and deviceexposurepolicies, and
///              on leases and sriovresourcepolicies in namespace_, each as far as it may be had.
/// Ownership: ports outlive it. Threads: the loop's.
class FollowedFleet {
 public:
  static constexpr Millis kJudgeEvery{10'000}, kRenewAgain{60'000};
  FollowedFleet(const kube::Ports& ports, const std::set<std::string>& drivers,
                const std::string& namespace_);

  /// As it is in this turn of the loop. The constructor has begun to follow.
  const Fleet& fleet() const { return fleet_; }
  /// Grows with each change.
  uint64_t moment() const { return moment_; }
  /// Each has answered.
  bool is_whole() const;
  /// Why what is shown may be old or is not all; "" it is neither.
  std::string note() const;
  /// What is not known because a kind may not be listed: "ALLOCATED and FREE are unknown: list resourceclaims: ...".
  std::vector<std::string> gaps() const;
  /// A refusal that ends it: neither nodes, slices nor reports may be read. "": there is none.
  std::string refusal() const;

 private:
  template <class T>
  struct How;
  template <class T>
  void follow(const kube::Ports& ports, kube::Scope scope, const How<T>& how);
  template <const kube::Resource* kResource>
  void follow_policies(const kube::Ports& ports);
  void judge();
  void update_clock();
  void note_known();
  bool is_refused(const watchers::Source& source) const;
  // It goes on without that kind, and misses nothing that it has shown.
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
  TimePoint judges_from_{};  // max(): Leases are not followed any more
  reactor::Ticket judging_;
};

/// Opens the cluster, waits until it is read, two minutes at most, and goes on with `show` until SIGINT,
/// SIGTERM or SIGHUP sets its flag or it returns.
/// The exit status; what goes wrong is complained of.
int follow_fleet(
    const config::Options& options,
    const std::function<Result<Unit>(Process& process, const FollowedFleet& followed, bool& is_over)>& show);

}  // namespace sliced::cli
