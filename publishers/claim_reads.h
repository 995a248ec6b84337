#pragma once
// Reads single ResourceClaims that can show that a withdrawn device is free (policy::Ledger::questions):
// first that the
// claim of a pod on this node has the device, and after its release that it no longer has it. This is faster
// than a list of all claims and costs the API server little.
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

/// One read at a time, on the loop thread. A claim that cannot be read or decoded is read again, with growing
/// delays.
/// REQUIRES: `ports` and `ledger` must outlive this object. stop() or destroying it cancels the running read.
class ClaimReads {
 public:
  /// A policy of all nodes withdraws everywhere at the same time: the first read of each claim is delayed up
  /// to this.
  static constexpr Millis kJitter{30'000};

  /// on_seen: called last by the cluster's answers; may call arm() and stop().
  ClaimReads(kube::Ports ports, const policy::Ledger& ledger,
             std::function<void(const policy::ClaimRead&)> on_seen);

  /// Schedules reads for new questions of the ledger.
  void arm();
  void stop();

 private:
  using Question = policy::Ledger::Question;
  struct Waiting {
    TimePoint due;
    reactor::Backoff again;
  };
  void look();
  void read(const Question& question);
  void see(const Question& question, TimePoint begun, bool has);
  void put_off(const Question& question);

  kube::Ports ports_;
  const policy::Ledger& ledger_;
  const std::function<void(const policy::ClaimRead&)> on_seen_;
  std::map<Question, Waiting> waiting_;
  kube::CallPtr call_;
  reactor::Ticket due_;
};

}  // namespace sliced::publishers
