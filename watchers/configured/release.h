#pragma once
// The counterpart of pod_signal.h: releases the waiting pods of a node. Runs once; repeating it has no effect
// if no pod waits.
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

/// Selects pods of that namespace and node with all of these labels.
struct WaitingPods {
  std::string namespace_, node;
  kube::Labels labels;  // empty: every pod of the node
};

/// The result. Both are empty if no pod waited.
struct Released {
  std::vector<std::string> pods;        // names, in the server's order
  FirstFew<std::string> problems = {};  // "pod ns/name: ...": failures of the list and of single pods
  bool operator==(const Released&) const = default;
};

/// Removes the annotation from each selected pod that has it, one after the other in the order of the list.
/// The node is checked in each pod, so that a server or proxy that ignores selectors releases no others.
/// After a failed patch it continues with the next pod; a deleted pod is not a problem. Permissions: list and
/// patch on pods.
/// Ownership: the cluster must outlive it. Destroying it cancels the rest.
/// Reentry:   on_done is called once, never from within the constructor.
/// Source: a merge patch removes members that are null, and accepts absent ones (RFC 7386).
class Release {
 public:
  Release(kube::Cluster& cluster, WaitingPods which, std::function<void(Released)> on_done);

 private:
  void on_pod(std::string_view object);
  void next();
  void fail(const std::string& what, const kube::Failure& failure, std::string_view verb);

  kube::Cluster& cluster_;
  const WaitingPods selection_;
  const std::function<void(Released)> on_done_;
  CallbackGuard callbacks_{"Release"};
  std::deque<std::string> waiting_;
  Released released_;
  kube::CallPtr call_;
};

}  // namespace sliced::configured
