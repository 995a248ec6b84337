#pragma once
// The heartbeat of a node's daemon: one Lease (coordination.k8s.io/v1) per node, as the kubelet has one in
// kube-node-lease. Fleet commands and the aggregator (kubectl/fleet/, controller/aggregate/silent_nodes.h)
// detect from it that a daemon has stopped.
//
// Name:      "sliced-node-" and the node's name, in the namespace of the policies; owned by the Node, and
//            deleted with it.
// Pace:      every 50 to 60 s, at random, so that a fleet that was started together spreads.
//            leaseDurationSeconds is 100: one renewal may fail and be repeated before the daemon counts as
//            silent, and a stopped daemon is detected within 100 s.
// Failure:   retried after 2 to 30 s, doubling, or after Retry-After; a refusal (403) after 1 to 5 minutes.
//            Counted, and logged once while it lasts. Nothing else depends on it.
// Clocks:    see renewed_at().
// Threads:   the loop's.
// Permissions: get, create and update on leases in that namespace; delete for `sliced withdraw`.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kube/client/ports.h"
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::reports {

inline constexpr Millis kLeaseRenewMin{50'000}, kLeaseRenewMax{60'000}, kLeaseDuration{100'000};

/// Returns "sliced-node-worker-1"; "" if the name would exceed the 253 bytes of an object's name: such a node
/// has no Lease.
std::string node_lease_name(const std::string& node);

/// Returns the node's name; "" for the name of another Lease.
std::string node_of_lease(std::string_view name);

/// The Lease of a node's daemon.
struct NodeLease {
  std::string node;
  int64_t renewed = 0;  // seconds since 1970; renewed_at()
  int64_t duration = kLeaseDuration.count() / 1'000;
  bool operator==(const NodeLease&) const = default;
  /// now: by the API server's clock (kube::Cluster::server_time()) if it is known.
  bool is_expired(int64_t now) const { return now - renewed > duration; }
};
/// Returns nullopt for another Lease, and for one that was never renewed. Durations are limited to 10 s to 1
/// h.
std::optional<NodeLease> decode_node_lease(const kube::Json& lease);
/// Returns when spec.renewTime was last written, in seconds since 1970; 0 if unknown. Uses the API server's
/// clock: the time in metadata.managedFields of that field's last write. So neither the node's clock nor the
/// reader's matters. Without managedFields, returns spec.renewTime, which is from the node's clock.
int64_t renewed_at(const kube::Json& lease);

/// Renews the Lease of one node.
class NodeLeaseWriter {
 public:
  struct Settings {
    std::string namespace_, node;
    std::function<std::string()> node_uid;  // "" if unknown: nothing is written
    std::function<std::string()> now;       // "2026-11-21T00:17:41.296000Z"
  };
  struct Counters {
    uint64_t renewed = 0, failed = 0;  // writes
  };
  /// Ownership: ports outlive this object. After its destruction the Lease expires.
  NodeLeaseWriter(kube::ClusterPorts ports, Settings settings);

  /// Called by the owner of the interlock: a standby daemon writes none. The first write is within 10 s.
  void permit(bool writes);
  const Counters& counters() const { return counters_; }
  /// Returns the last write's error; "" if it succeeded.
  const std::string& last_failure() const { return last_failure_; }

 private:
  void arm(Millis delay);
  void look();
  void read();
  void on_read(std::string_view object);
  void write(kube::Verb verb);
  void on_written(std::string_view object);
  void on_failure(const kube::Failure& failure, bool was_reading);
  kube::Json lease() const;

  kube::ClusterPorts ports_;
  const Settings settings_;
  const std::string name_, acquired_;
  bool is_permitted_ = false;
  std::optional<kube::ObjectMeta> held_;  // as the server has it; nullopt: to be read
  reactor::Backoff backoff_, refused_;
  LastMessage failure_;
  std::string last_failure_;
  Counters counters_;
  kube::CallPtr call_;
  reactor::Ticket timer_;
};

}  // namespace sliced::reports
