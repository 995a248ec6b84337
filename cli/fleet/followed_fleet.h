#pragma once
// A fleet that is followed as it changes, for what goes on for long.
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/fleet/fleet.h"
#include "cli/process.h"
#include "config/options.h"
#include "kube/ports.h"
#include "reactor/base/result.h"
#include "watchers/list_watch.h"

namespace sliced::cli {

/// Nodes, slices, claims and reports, kept equal to what the cluster has. What cannot be read of an object is as if it were
/// not there. Where nodes may not be listed, those are there that have slices; reports may be denied or not installed: then
/// there are none.
/// Bounds:    of each kind 500,000 objects and 4 GiB of text of a list; what is kept is what Fleet keeps.
/// Permissions: list and watch on resourceslices and resourceclaims; on nodes (metadata) and
///              nodedevicereports where they may be had.
/// Ownership: ports outlive it. Threads: the loop's.
class FollowedFleet {
 public:
  FollowedFleet(const kube::Ports& ports, const std::set<std::string>& drivers);

  /// As it is in this turn of the loop. The constructor has begun to follow.
  const Fleet& fleet() const { return fleet_; }
  /// Grows with each change.
  uint64_t moment() const { return moment_; }
  /// Each has answered.
  bool is_whole() const;
  /// Why what is shown may be old or is not all; "" it is neither.
  std::string note() const;
  /// A refusal that ends it: slices or claims may not be read. "": there is none.
  std::string refusal() const;

 private:
  template <class T>
  struct How;
  template <class T>
  void follow(const kube::Ports& ports, kube::Scope scope, const How<T>& how);
  bool is_refused(size_t at) const;
  bool is_optional(size_t at) const { return at == 0 || at + 1 == sources_.size(); }
  bool is_without(size_t at) const;  // it goes on without that kind, and misses nothing that it has told

  Fleet fleet_;
  uint64_t moment_ = 1;
  std::vector<std::unique_ptr<watchers::Source>> sources_;  // nodes are the first, reports the last
};

/// Opens the cluster, waits until it is read, two minutes at most, and goes on with `show` until SIGINT,
/// SIGTERM or SIGHUP sets its flag or it returns.
/// The exit status; what goes wrong is complained of.
int follow_fleet(
    const config::Options& options,
    const std::function<Result<Unit>(Process& process, const FollowedFleet& followed, bool& is_over)>& show);

}  // namespace sliced::cli
