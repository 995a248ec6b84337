#pragma once
// Reads which devices of this node's pools are allocated: from the claims of this node's pods (few requests,
// incomplete), or from one consistent list of all ResourceClaims (complete).
//
// All nodes of a cluster may need this at the same time: after a power failure, or when a policy that selects
// all nodes changes. So each first counts nodes and claims, and waits for a random time that keeps all nodes
// together below kFleetBytesPerSecond. A list is read page by page with pauses.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "policy/reserved/ledger.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Invalid claims: a claim that cannot be decoded could have any device, so the list fails. A deleted claim
///           has none.
/// Bounds:   a list of at most 1 GiB, in at most about twice the expected number of pages; an object of at
///           most 16 MiB. Only name and allocation of a claim are read. The server's remainingItemCount is an
///           estimate.
/// REQUIRES: `ports` must outlive this object. stop() or destroying it cancels requests without calling a
/// handler. Handlers are called at the end of the handler of the cluster's answer, and may start the next
/// read.
class EvidenceSource {
 public:
  static constexpr double kFleetBytesPerSecond = 25e6;  // the mean; at most twice this in any second
  static constexpr int64_t kPageItems = 500;
  static constexpr double kPodBytes = 512 << 10;  // approximate size of a node's pods

  /// Result of reading the pods.
  enum class Coverage {
    kWhole,   // complete
    kDenied,  // incomplete: a permission is missing
    kFailed,  // incomplete: a request failed, or an object is invalid
  };
  struct Handlers {
    /// read_pods() has chosen its random delay, after which it reads the pods. Not called for an immediate
    /// read.
    std::function<void(Millis wait)> on_delay;
    /// Allocations of this node's pods, as far as they could be read.
    std::function<void(policy::PodClaims, Coverage)> on_pods;
    std::function<void(policy::ClaimList)> on_list;        // allocations of all claims
    std::function<void(const kube::Failure&)> on_failure;  // of the list
  };

  /// Reports allocations of these drivers in pools of that node. Handlers may call all methods.
  EvidenceSource(kube::ClusterPorts ports, std::set<std::string> drivers, std::string node,
                 Handlers handlers);

  /// Lists the pods of this node and reads each claim that they name; ends with on_pods. REQUIRES:
  /// !is_busy(). immediately: without counting the nodes and without the random delay.
  void read_pods(bool immediately);
  /// Counts nodes and claims, waits for a random delay, then reads all pages; ends with on_list or
  /// on_failure. Allocations after ClaimList::begun may be missing. REQUIRES: !is_busy().
  void list_claims();
  /// Cancels without calling a handler.
  void stop();
  bool is_busy() const { return call_ != nullptr || due_ != nullptr; }
  /// Returns the time over which the nodes of this cluster spread their lists.
  Millis spread() const { return spread_; }

 private:
  enum class ReadKind { kPods, kList };
  void begin(ReadKind aim);
  /// Adds one to remainingItemCount of a list with limit 1. If that list fails, 1,000 nodes are assumed.
  void count_nodes();
  void wait_for_pods();
  /// Also estimates the size of a claim: the largest one seen, or the mean of the previous list.
  void count_claims();
  void wait_for_list_delay();
  void list_pods();
  /// Collects the claims in spec.resourceClaims, status.resourceClaimStatuses and
  /// status.extendedResourceClaimStatus.
  void note_pod(std::string_view object);
  void next_pod_claim();
  void miss(const kube::Failure& failure, std::string_view permission);
  void list_page(std::string continue_token);
  void record_claim(std::string_view object);
  void finish_page(std::string continue_token);
  /// Returns the pause before the next page: short for the expected number of pages, so that the list ends
  /// before its continue token expires; growing for further pages, and after empty ones.
  Millis page_pause();
  void fail(const kube::Failure& failure);
  void after(Millis delay, std::function<void()> next);
  Millis within(double seconds) const;

  kube::ClusterPorts ports_;
  const std::set<std::string> drivers_;
  const std::string node_;
  const Handlers handlers_;

  ReadKind kind_ = ReadKind::kList;
  int64_t nodes_ = 0, claims_ = 0;
  size_t claim_bytes_ = 0;       // estimated size of a claim
  size_t claim_bytes_seen_ = 0;  // mean of the previous list
  Millis spread_{0};
  TimePoint begun_;
  size_t bytes_ = 0, items_ = 0;  // of the list
  size_t items_before_ = 0;       // the page that is being read
  int64_t pages_ = 0;             // likewise
  std::string problem_;           // an invalid claim
  reactor::Backoff page_backoff_;
  policy::Allocations found_;
  policy::ClaimNames claim_names_;                            // of those
  std::set<std::pair<std::string, std::string>> pod_claims_;  // namespace, name; not read yet
  Coverage coverage_ = Coverage::kWhole;
  LastMessage last_pods_problem_;
  kube::CallPtr call_;
  reactor::Ticket due_;
};

}  // namespace sliced::publishers
