#pragma once
// Determines why a pod or a claim waits, node by node. Pure: the cluster's objects are the input, an answer
// is the output.
//
// Ownership: Change::holder points into the cluster's claims, which outlive the answer; the answer owns
// everything else.
// Bounds: Cluster::effort_max, a minute by default; nodes without remaining budget are kUnsure. Sufficient
// changes are computed for at most 500 nodes, and until half of the budget is used; 3 pieces of advice are
// given.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/why/changes.h"
#include "kubectl/why/claim.h"
#include "kubectl/why/features.h"
#include "kubectl/why/node.h"
#include "kubectl/why/search.h"
#include "kubectl/why/slice.h"
#include "kubectl/why/taint_rule.h"
#include "kubectl/why/view.h"
#include "reactor/base/first_few.h"

namespace sliced::why {

/// The objects of a cluster.
struct Cluster {
  std::vector<Node> nodes;
  std::vector<SlicePtr> slices;
  std::vector<TaintRule> taint_rules;
  std::vector<DeviceClass> classes;
  std::vector<Claim> claims;     // of all namespaces
  std::vector<Claim> templates;  // is_made is false; at least those of the pod's namespace
  /// Names of templates in the pod's namespace, if a named one is missing: one of them may be intended.
  std::set<std::string> template_names;
  Features features;
  /// Full keys ("driver/name") of attributes that drivers publish for suitable devices: never treated as
  /// misspelled.
  std::set<std::string> publishable;
  /// Driver names of sliced, whose devices follow from policies. Empty: unknown.
  std::set<std::string> drivers;
  /// Kinds that may not be read, by their plural ("nodes"), with the missing permission ("list nodes"). A
  /// missing object of such a kind proves nothing: results that depend on one are kUnsure.
  std::map<std::string, std::string> denied;
  /// Objects that could not be decoded, as texts: the answer is uncertain then.
  FirstFew<std::string> unread;
  uint64_t effort_max = kEffortMax;  // kubectl/why/selectors.h
};

/// Adds an object of a kind in Cluster; ignores others, including Pods. An object that cannot be decoded is
/// added to `unread`, with kind and name; the others still count. default_namespace: for claims without one,
/// as in files.
void add_object(const kube::Json& object, const std::string& default_namespace, Cluster& cluster);

/// One node. Without remaining budget: only name, kept_away and kUnsure.
struct NodeAnswer {
  std::string name;
  std::string kept_away;  // why the pod cannot go there regardless of its claims; "" if no checked reason
                          // applies
  std::string unsure;     // for kUnsure: the reason; "": too many combinations
  SearchResult found = SearchResult::kNo;
  std::string error;                  // for kError
  std::vector<RequestView> requests;  // of claims that are not allocated yet
  std::vector<std::string> pools;     // incomplete and invalid ones, as texts
  /// For kNo: constraints that the free devices cannot meet, with their values.
  std::vector<std::string> clashes;
  /// For kNo, if each request has enough devices by itself: the devices that a shared counter does not allow
  /// together, as a text; "" if no counter is the cause.
  std::string exclusion;
  /// Claims of the pod that are allocated for other nodes.
  struct Elsewhere {
    std::string claim;   // Claim::id()
    std::string remedy;  // how it could be allocated again; "": the scheduler deallocates it by itself
  };
  std::vector<Elsewhere> elsewhere;
  /// is_known is also false if they were not computed.
  Changes changes;                        // for kNo and kError
  std::vector<std::string> changes_text;  // as texts; and those that are sufficient alone
  std::vector<std::string> alone_text;
  std::vector<std::string> guards_text;
  std::vector<Pick> picks;  // for kYes; views into the answer's slices
  bool can_run() const { return kept_away.empty() && found == SearchResult::kYes; }
};

enum class Verdict : uint8_t {
  kRuns,     // the pod is on a node; a claim: it is allocated
  kCan,      // it can be scheduled on the nodes with can_run()
  kPending,  // it cannot, on any
  kUnsure,   // on no node for certain, and unknown for some
};

struct Answer {
  std::optional<Pod> pod;
  std::vector<Claim> claims;         // in the pod's order
  std::vector<DeviceClass> classes;  // existing ones that they name
  Verdict verdict = Verdict::kPending;
  std::vector<std::string> everywhere;  // obstacles on every node, as texts
  /// A node where allocation fails with an error: the scheduler then aborts the pod's attempt for all nodes.
  std::string aborted_by;
  std::vector<SlicePtr> slices;   // as the scheduler sees them: with the taints of DeviceTaintRules
  std::vector<NodeAnswer> nodes;  // by name, with numbers compared as numbers (natural_less())
  /// Only for kPending without an entry in `everywhere`. Nodes that keep the pod away get none. Never a
  /// change of a DeviceClass, which is shared, except of a failing one.
  std::vector<std::string> advice;  // sufficient single changes; each is sufficient alone
  /// For kPending, for requests ("claim, request") without a matching device: a misspelled name in a
  /// selector. It precedes everything except `everywhere`.
  struct Slip {
    std::string request, name, text;
  };
  std::vector<Slip> slips;
  /// For kPending: why matching devices are not offered, a sentence each, the closest cause first. They
  /// precede all advice.
  std::vector<std::string> causes;
  /// For a pod on a node whose containers do not start: texts from its events and its node.
  std::vector<std::string> notes;
  /// For kPending, for requests without a matching device: DeviceClasses that match devices, as texts.
  std::vector<std::string> hints;
  std::vector<std::string> unsure;  // parts that were not checked, or are unknown here
};

/// Returns the requests that have too few free devices on the node by themselves, as "namespace/claim,
/// request". A request with alternatives is one of them if each alternative lacks devices.
std::set<std::string> lacking_requests(const NodeAnswer& node);

/// Returns a line of advice: the text, and up to three of the nodes on which it is sufficient.
std::string advice_text(const std::string& text, std::vector<std::string> nodes);

/// For requests ("claim, request") with another sufficient remedy: removes changes and advice that loosen or
/// correct their selectors, use another class or offer more devices, and their slips.
void drop_selector_changes(const std::set<std::string>& requests, Answer& answer);

/// For a pod with claims. A pod that is bound to a node is kRuns without further checks. With an entry in
/// `everywhere` it is kPending, regardless of the nodes.
Answer why_pod(const Cluster& cluster, const Pod& pod);
/// For a claim, as for a pod without constraints. kRuns if it is allocated.
Answer why_claim(const Cluster& cluster, const Claim& claim);

}  // namespace sliced::why
