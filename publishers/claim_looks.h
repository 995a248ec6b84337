#pragma once
// Reads single ResourceClaims, where one claim's word can tell that a withdrawn device is free
// (policy::Ledger::questions): of a pod that runs here, that its claim has the device still; once that was
// taken back, that it has it no more. That is sooner than a list of all claims, and costs the server next to nothing.
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "policy/charged/ledger.h"
#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// One read at a time.
/// Ownership: ports and ledger outlive it. stop() or dropping it drops the read under way.
/// Failure:   a claim that cannot be read, or understood, tells nothing; it is read again, later each time.
/// Threads:   the loop's.
class ClaimLooks {
 public:
  /// A policy of the whole fleet withdraws everywhere at once: within so long each claim is read for the first time.
  static constexpr Millis kJitter{30'000};

  /// on_seen: from the cluster's answers, last; may call arm() and stop().
  ClaimLooks(kube::Ports ports, const policy::Ledger& ledger,
             std::function<void(const policy::Glimpse&)> on_seen);

  /// There may be other questions.
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
  // Again, later.
  void put_off(const Question& question);

  kube::Ports ports_;
  const policy::Ledger& ledger_;
  const std::function<void(const policy::Glimpse&)> on_seen_;
  std::map<Question, Waiting> waiting_;
  kube::CallPtr call_;
  reactor::Ticket due_;
};

}  // namespace sliced::publishers
