#pragma once
// The sign of life of a node's daemon: one Lease (coordination.k8s.io/v1) per node, as the kubelet keeps one in kube-node-lease.
// The daemon renews it; readers of the fleet (cli/fleet/, controller/aggregate/silent_nodes.h) see from it that a daemon is gone.
//
// Name:      "sliced-node-" and the node's name, in the namespace of the policies; owned by the Node, so that it goes with it.
// Pace:      every 50 to 60 s, at random, so that a fleet that was started together spreads. leaseDurationSeconds is 100: one
//            renewal may fail and be repeated before the daemon counts as silent, and a daemon that ends is seen within 100 s.
// Failure:   repeated after 2 to 30 s, doubling, or after Retry-After; a refusal (403) after 1 to 5 minutes. Counted, and logged once
//            while it lasts. Nothing else waits for it, and nothing else is written or read because of it.
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

/// "sliced-node-worker-1"; "" where the name would exceed the 253 bytes of an object's name: such a node has no Lease.
std::string node_lease_name(const std::string& node);

/// Back; "" it is the name of another Lease.
std::string node_of_lease(std::string_view name);

/// What a Lease says of a node's daemon.
struct NodeLease {
  std::string node;
  int64_t renewed = 0;  // seconds since 1970; renewed_at()
  int64_t duration = kLeaseDuration.count() / 1'000;
  bool operator==(const NodeLease&) const = default;
  /// now: by the API server's clock (kube::Cluster::server_time()) where it is known.
  bool is_expired(int64_t now) const { return now - renewed > duration; }
};
/// nullopt: it is another Lease, or was never renewed. Durations are taken as 10 s to 1 h.
std::optional<NodeLease> decode_node_lease(const kube::Json& lease);
/// When spec.renewTime was last written, in seconds since 1970; 0 unknown. By the API server's clock: the time that it notes in
/// metadata.managedFields with each write of that field. So neither the node's clock nor the reader's matters. Where those are
/// missing, spec.renewTime, which is the node's clock.
int64_t renewed_at(const kube::Json& lease);

/// Renews the Lease of one node.
class NodeLeaseWriter {
 public:
  struct Settings {
    std::string namespace_, node;
    std::function<std::string()> node_uid;  // "" not known yet: nothing is written
    std::function<std::string()> now;       // "2026-11-21T00:17:41.296000Z"
  };
  struct Counters {
    uint64_t renewed = 0, failed = 0;  // writes
  };
  /// Ownership: ports outlive this. Dropping it ends it: the Lease expires.
  NodeLeaseWriter(kube::Ports ports, Settings settings);

  /// By who has the interlock: a standby daemon writes none. The first is written within 10 s.
  void permit(bool writes);
  const Counters& counters() const { return counters_; }
  /// "" the last write succeeded.
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

  kube::Ports ports_;
  const Settings settings_;
  const std::string name_, acquired_;
  bool is_permitted_ = false;
  std::optional<kube::ObjectMeta> held_;  // as the server has it; nullopt: not read yet, or read again
  reactor::Backoff backoff_, refused_;
  LastMessage failure_;
  std::string last_failure_;
  Counters counters_;
  kube::CallPtr call_;
  reactor::Ticket timer_;
};

}  // namespace sliced::reports
