#pragma once
// Retries for claims whose devices could not be returned. While such a claim exists, the kubelet repeats its
// unprepare call. The kubelet forgets a claim whose pod was force-deleted. Then the daemon retries without a
// call.
#include <functional>
#include <map>

#include "kube/objects/cluster.h"
#include "kubelet/claim_state.h"
#include "kubelet/prepared.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// Queries a claim immediately, then after 5 s, 10 s and so on, with at most 5 minutes between two queries.
/// From the second query on, a deleted claim is released. A claim without a name (kubelet/recall.h) is not
/// queried: the finding of Reconcile counts.
/// Threads: called on the loop thread.
/// Ownership: cluster and scheduler must outlive this object; its destruction ends all retries.
/// Bounds: one entry for each claim on record, and one for each claim that left the record since its last
/// query.
class ReleaseRetries {
 public:
  static constexpr Millis kFirst{5'000}, kMax{300'000};

  struct Handlers {
    std::function<const PreparedClaims&()> prepared;
    std::function<void(const PreparedKey&, ClaimState)> on_state;
    std::function<void(const PreparedClaim&)> release_claim;
  };
  ReleaseRetries(kube::Cluster& cluster, reactor::Scheduler& scheduler, Handlers handlers)
      : cluster_(cluster), scheduler_(scheduler), handlers_(std::move(handlers)) {}

  /// Requires: the record has the reason (PreparedClaim::not_returned). is_first: the record had none before,
  /// so the claim is queried immediately; a further failure of the same release does not change when it is
  /// queried next.
  void add(const PreparedKey& key, bool is_first);

 private:
  struct Waiting {
    Millis wait{0};  // the last one
    reactor::Ticket turn = {};
    kube::CallPtr call = {};
  };
  void ask(const PreparedKey& key);
  void judge(const PreparedKey& key, ClaimState state);

  kube::Cluster& cluster_;
  reactor::Scheduler& scheduler_;
  const Handlers handlers_;
  std::map<PreparedKey, Waiting> waiting_;
};

}  // namespace sliced::kubelet
