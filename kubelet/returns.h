#pragma once
// Claims whose devices could not be given back. As long as such a claim exists, the kubelet calls unprepare again. A kubelet
// forgets a claim whose pod was deleted by force, and after that nobody calls: then the daemon tries itself.
#include <functional>
#include <map>

#include "kube/objects/cluster.h"
#include "kubelet/claim_state.h"
#include "kubelet/prepared.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

/// Asks at once whether the claim exists, and again after 5 s, 10 s and so on, at most 5 minutes later each time. Each time that it is
/// gone, but the first, its devices are tried to be given back.
/// Threads:   the loop's.
/// Ownership: cluster and scheduler outlive it; dropped, nothing is tried any more.
/// Bounds:    one entry for each claim on record.
class Returns {
 public:
  static constexpr Millis kFirst{5'000}, kMax{300'000};

  struct Handlers {
    std::function<const PreparedClaims&()> prepared;
    std::function<void(const PreparedKey&, ClaimState)> on_state;
    std::function<void(const PreparedClaim&)> take_back;
  };
  Returns(kube::Cluster& cluster, reactor::Scheduler& scheduler, Handlers handlers)
      : cluster_(cluster), scheduler_(scheduler), handlers_(std::move(handlers)) {}

  /// Its record says why (PreparedClaim::not_returned). One that is known already goes on as it is.
  void add(const PreparedKey& key);

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
