#pragma once
// Reads single ResourceClaims to find out when a withdrawn device is free (policy::Ledger::questions). This
// is faster than a list of all claims, and costs the API server little. A claim is read
//  - while the device is prepared, until the claim shows the device as allocated to it;
//  - after the kubelet has unprepared the device, until the claim no longer has the device.
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "policy/reserved/ledger.h"
#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// One read at a time, on the loop thread. Each claim is read again, after 1 s to 60 s, doubling, as long as
/// the ledger asks for it.
/// REQUIRES: `ports` and `ledger` must outlive this object. stop() or destroying it cancels the running read.
class ClaimReads {
 public:
  /// Largest random delay before the first read of a claim whose device is prepared: a policy that selects
  /// all nodes withdraws devices everywhere at the same time. A read after an unprepare has no such delay.
  static constexpr Millis kJitter{30'000};

  /// on_read: called at the end of the handler of the cluster's answer; may call arm() and stop().
  ClaimReads(kube::ClusterPorts ports, const policy::Ledger& ledger,
             std::function<void(const policy::ClaimRead&)> on_read);

  /// Called after each change of the ledger. Schedules reads for its new questions, and drops the reads of
  /// questions that it no longer has. Continues after stop().
  void arm();
  void stop();

 private:
  using ClaimQuery = policy::Ledger::ClaimQuery;
  struct Waiting {
    TimePoint due;
    reactor::Backoff again;
  };
  void read_due();
  void read(const ClaimQuery& question);
  void report(const ClaimQuery& question, TimePoint begun, bool has);
  void postpone(const ClaimQuery& question);

  kube::ClusterPorts ports_;
  const policy::Ledger& ledger_;
  const std::function<void(const policy::ClaimRead&)> on_read_;
  std::map<ClaimQuery, Waiting> waiting_;
  kube::CallPtr call_;
  reactor::Ticket due_;
};

}  // namespace sliced::publishers
