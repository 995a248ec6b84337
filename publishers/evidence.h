#pragma once
// What ResourceClaims say is allocated of this node's pools: first of the pods that run here, which is cheap
// and shows some of it, then by one consistent list of all claims, which shows everything.
//
// All nodes of a cluster may ask at once: after a power cut, or when a policy of all of them changed. So each
// first counts nodes and claims, and waits for a random time within which all of them together stay below
// kFleetBytesPerSecond. A list is read page by page with pauses.
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
#include "policy/charged/ledger.h"
#include "reactor/backoff.h"
#include "reactor/base/said_once.h"
#include "reactor/base/time.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Believed: a claim counts as it stands. One that cannot be understood could have anything, so the list with it
///           fails; one that is gone has nothing. What a server says of how many there are is only a guess.
/// Bounds:   a list of at most 1 GiB, in no more pages than some beyond twice what was counted would fill; an
///           object of at most 16 MiB. Of a claim nothing is read but its name and what was allocated.
/// Ownership: the ports outlive this; stop() or dropping it ends what is under way, and no handler is called.
/// Reentry:  handlers run from the cluster's answers, last, and may begin the next look.
class Evidence {
 public:
  static constexpr double kFleetBytesPerSecond = 25e6;  // the mean; no second of it sees twice as much
  static constexpr int64_t kPageItems = 500;

  /// Of a look at the pods: what it has not shown.
  enum class Look {
    kWhole,   // nothing
    kDenied,  // what it takes a permission for that is not granted
    kFailed,  // some of it: a request failed, or an object cannot be understood
  };
  struct Handlers {
    /// The pods will be looked at after that wait.
    std::function<void(Millis wait)> on_turn;
    /// What the pods of this node have, as far as it could be seen.
    std::function<void(policy::Sighting, Look)> on_pods;
    std::function<void(policy::Census)> on_list;           // what any claim has
    std::function<void(const kube::Failure&)> on_failure;  // of the list
  };

  /// drivers: of which allocations are told, in pools of that node. Handlers may call any of the methods.
  Evidence(kube::Ports ports, std::set<std::string> drivers, std::string node, Handlers handlers);

  /// One at a time; each ends with one of the handlers. The pods are looked at without any list of claims:
  /// those of this node are listed, and each claim that they name is read. at_once: without counting the
  /// nodes and waiting for a turn, which of one node is 21 ms at most.
  void look_at_pods(bool at_once);
  /// Counts nodes and claims, waits for a turn, then reads all pages. on_list has the moment at which it began:
  /// what was allocated later it need not show.
  void list_claims();
  /// Nothing is told of what is under way.
  void stop();
  bool is_busy() const { return call_ != nullptr || due_ != nullptr; }
  /// Over so long the nodes of this cluster spread their lists, as counted last.
  Millis spread() const { return spread_; }

 private:
  enum class Aim { kPods, kList };
  void begin(Aim aim);
  /// By the first page's remainingItemCount; who may not list nodes counts them as many.
  void count_nodes();
  /// Their pods, in turn.
  void wait_for_pods();
  /// And how large one is: the largest that was seen, or the mean of the list before.
  void count_claims();
  /// A random time within which all nodes together read kFleetBytesPerSecond.
  void wait_for_turn();
  void list_pods();
  /// The claims that it names (spec.resourceClaims), and those that were made for it
  /// (status.resourceClaimStatuses, extendedResourceClaimStatus).
  void note_pod(std::string_view object);
  /// One read after the other; on_pods behind the last.
  void next_pod_claim();
  void miss(const kube::Failure& failure, std::string_view permission);
  void list_page(std::string continue_token);
  void note_claim(std::string_view object);
  void finish_page(std::string continue_token);
  /// Of as many pages as were counted, so that the list ends while its snapshot lasts; of more, or of pages that
  /// bring nothing, a growing one.
  Millis page_pause();
  void fail(const kube::Failure& failure);
  void after(Millis delay, std::function<void()> next);
  Millis within(double seconds) const;

  kube::Ports ports_;
  const std::set<std::string> drivers_;
  const std::string node_;
  const Handlers handlers_;

  Aim aim_ = Aim::kList;
  int64_t nodes_ = 0, claims_ = 0;
  size_t claim_bytes_ = 0;       // of one of them
  size_t claim_bytes_seen_ = 0;  // in the mean, of the list before
  Millis spread_{0};
  TimePoint begun_;
  size_t bytes_ = 0, items_ = 0;  // of the list
  size_t items_before_ = 0;       // the page that is being read
  int64_t pages_ = 0;             // likewise
  std::string problem_;           // a claim that cannot be understood may hold anything
  reactor::Backoff page_backoff_;
  policy::Allocations found_;
  policy::ClaimNames claim_names_;                            // of those
  std::set<std::pair<std::string, std::string>> pod_claims_;  // namespace, name; still to be looked at
  Look look_ = Look::kWhole;
  SaidLast told_pods_;
  kube::CallPtr call_;
  reactor::Ticket due_;
};

}  // namespace sliced::publishers
