#pragma once
// Why a pod or a claim waits: everything that was asked, node by node. Pure: the cluster's objects in, an answer out.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocation/changes.h"
#include "allocation/claim.h"
#include "allocation/features.h"
#include "allocation/node.h"
#include "allocation/search.h"
#include "allocation/slice.h"
#include "allocation/taint_rule.h"
#include "allocation/view.h"
#include "kube/json.h"
#include "reactor/base/first_few.h"

namespace sliced::allocation {

/// What a cluster holds.
struct Cluster {
  std::vector<Node> nodes;
  std::vector<SlicePtr> slices;
  std::vector<TaintRule> taint_rules;
  std::vector<DeviceClass> classes;
  std::vector<Claim> claims;     // of all namespaces
  std::vector<Claim> templates;  // is_made is false; of the pod's namespace at least
  Features features;
  /// Objects that could not be read, each in words: what is said is not sure then.
  FirstFew<std::string> unread;
  uint64_t effort_max = kEffortMax;  // allocation/selectors.h
};

/// Adds an object of a kind that Cluster holds; others are passed over. What cannot be read goes to `unread`.
/// default_namespace: of claims that name none, as in files.
void add_object(const kube::Json& object, const std::string& default_namespace, Cluster& cluster);

/// One node.
struct NodeAnswer {
  std::string name;
  std::string kept_away;  // why the pod cannot go there whatever its claims; "" nothing of what is looked at
  Found found = Found::kNo;
  std::string error;                      // of kError
  std::vector<RequestView> requests;      // of claims that are still to be allocated
  std::vector<std::string> pools;         // incomplete and invalid ones, each in words
  Changes changes;                        // of kNo and kError
  std::vector<std::string> changes_text;  // the same in words; and of those that are enough alone
  std::vector<std::string> alone_text;
  std::vector<Pick> picks;  // of kYes; views into the answer's slices
  bool can_run() const { return kept_away.empty() && found == Found::kYes; }
};

enum class Verdict : uint8_t {
  kRuns,     // the pod is on a node; of a claim: it is allocated
  kCan,      // it can be scheduled on the nodes that can_run()
  kPending,  // it cannot, on any
  kUnsure,   // on no node for sure, and of some it cannot be said
};

struct Answer {
  std::optional<Pod> pod;
  std::vector<Claim> claims;         // in the pod's order
  std::vector<DeviceClass> classes;  // that they name, as far as they are there
  Verdict verdict = Verdict::kPending;
  std::vector<std::string> everywhere;  // what stands in the way on every node, in words
  /// A node where allocating fails with an error: the scheduler gives the pod up for all nodes when it meets that.
  std::string aborted_by;
  std::vector<SlicePtr> slices;     // as the scheduler sees them: with the taints of DeviceTaintRules
  std::vector<NodeAnswer> nodes;    // in the order of names
  std::vector<std::string> advice;  // the one change that would help; each alone is enough
  std::vector<std::string> unsure;  // what was not looked at, or is not known here
};

/// Of a pod with claims.
Answer why_pod(const Cluster& cluster, const Pod& pod);
/// Of a claim, as for a pod without any wishes.
Answer why_claim(const Cluster& cluster, const Claim& claim);

}  // namespace sliced::allocation
