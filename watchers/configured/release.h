#pragma once
// The other side of pod_sign.h: the pods of a node that wait are let go. Once a call; who wants it again calls again,
// which changes nothing where nobody waits.
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "kube/objects/cluster.h"
#include "kube/objects/selector.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/first_few.h"

namespace sliced::configured {

/// Which pods: of that namespace, on that node, with all of these labels.
struct WaitingPods {
  std::string namespace_, node;
  kube::Labels labels;  // none: every pod of the node
};

/// What came of it. Both empty: nobody waits.
struct Released {
  std::vector<std::string> pods;        // names, in the server's order
  FirstFew<std::string> problems = {};  // "pod ns/name: ...": the list, and what was not let go
  bool operator==(const Released&) const = default;
};

/// A server or proxy that drops selectors lets go nobody else: each pod says itself on which node it is.
/// Needs list and patch on pods. Only the annotations of pods that have the key are written; a pod that is gone
/// meanwhile is no problem.
/// Ownership: the cluster outlives it. Dropping it ends it; who was let go by then is.
/// Reentry:   on_done, once, never from within the constructor. It must not destroy this.
/// One pod at a time, in the order of the list. Of a pod whose patch fails the reason is told, and the next
/// one has its turn.
/// Source: a member that is null in a merge patch is removed, and one that is not there is no error (RFC 7386).
class Release {
 public:
  Release(kube::Cluster& cluster, WaitingPods which, std::function<void(Released)> on_done);

 private:
  void on_pod(std::string_view object);
  void next();
  void fail(const std::string& what, const kube::Failure& failure, std::string_view verb);

  kube::Cluster& cluster_;
  const WaitingPods which_;
  const std::function<void(Released)> on_done_;
  CallbackGuard callbacks_{"Release"};
  std::deque<std::string> waiting_;
  Released released_;
  kube::CallPtr call_;
};

}  // namespace sliced::configured
