#pragma once
// Why a pod or a claim waits: everything that was asked, node by node. Pure: the cluster's objects in, an answer out.
//
// Ownership: Change::holder points into the cluster's claims, which outlive the answer; everything else is
//            the answer's own.
// Bounds:    Cluster::effort_max, a minute by default; nodes for which nothing of it is left are kUnsure.
//            What would help is worked out for 500 nodes at most, and until half of the effort is spent; 3
//            pieces of advice are given.
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

namespace sliced::allocation {

/// What a cluster holds.
struct Cluster {
  std::vector<Node> nodes;
  std::vector<SlicePtr> slices;
  std::vector<TaintRule> taint_rules;
  std::vector<DeviceClass> classes;
  std::vector<Claim> claims;     // of all namespaces
  std::vector<Claim> templates;  // is_made is false; of the pod's namespace at least
  /// Names of templates in the pod's namespace, where one that it names is not there: one of them may be meant.
  std::set<std::string> template_names;
  Features features;
  /// Full keys ("driver/name") of attributes that drivers give devices that have such a thing: never taken for a slip.
  std::set<std::string> publishable;
  /// Kinds that may not be read, by their plural ("nodes"), with the permission that is missing in words ("list nodes").
  /// Nothing is concluded from the absence of such an object: what depends on one is kUnsure.
  std::map<std::string, std::string> denied;
  /// Objects that could not be read, each in words: what is said is not sure then.
  FirstFew<std::string> unread;
  uint64_t effort_max = kEffortMax;  // kubectl/why/selectors.h
};

/// Adds an object of a kind that Cluster holds; others, Pods among them, are passed over. What cannot be read
/// goes to `unread`, with kind and name; the rest of the cluster counts nevertheless.
/// default_namespace: of claims that name none, as in files.
void add_object(const kube::Json& object, const std::string& default_namespace, Cluster& cluster);

/// One node. Of one for which no effort was left: name, kept_away and kUnsure, nothing else.
struct NodeAnswer {
  std::string name;
  std::string kept_away;  // why the pod cannot go there whatever its claims; "" nothing of what is looked at
  std::string unsure;     // of kUnsure: why it cannot be said; "" too much would have to be tried
  Found found = Found::kNo;
  std::string error;                  // of kError
  std::vector<RequestView> requests;  // of claims that are still to be allocated
  std::vector<std::string> pools;     // incomplete and invalid ones, each in words
  /// Of kNo: constraints that the free devices cannot meet, each with the values that they have.
  std::vector<std::string> clashes;
  /// is_known is false also where they were not looked for.
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
  std::vector<SlicePtr> slices;   // as the scheduler sees them: with the taints of DeviceTaintRules
  std::vector<NodeAnswer> nodes;  // by name, numbers in it as numbers (natural_less())
  /// Of kPending alone, and only where nothing stands in the way everywhere. Of nodes that the pod is kept
  /// away from there is none.
  /// Never a change of a DeviceClass, which others use too, but for one that fails.
  std::vector<std::string> advice;  // the one change that would help; each alone is enough
  /// Of kPending, for requests ("claim, request") that match no device: a name that a selector reads and no device has, where another one
  /// is nearly the same. It comes before all else but `everywhere`.
  struct Slip {
    std::string request, name, text;
  };
  std::vector<Slip> slips;
  /// Of kPending: why devices that would match are not offered, a sentence each, the nearest cause first. They come before all advice.
  std::vector<std::string> causes;
  /// Of a pod that is on a node and whose containers do not start: what its events and its node say, in words.
  std::vector<std::string> notes;
  /// Of kPending, for requests that match no device: which DeviceClasses match devices, in words.
  std::vector<std::string> hints;
  std::vector<std::string> unsure;  // what was not looked at, or is not known here
};

/// A line of advice: the text, and up to three of the nodes on which it is enough.
std::string advice_text(const std::string& text, std::vector<std::string> nodes);

/// For requests ("claim, request") that another remedy is enough for: takes what loosens or corrects their selectors, asks for another
/// class or has more devices offered out of changes and advice, and their slips.
void drop_selector_changes(const std::set<std::string>& requests, Answer& answer);

/// Of a pod with claims. Of one that is bound to a node nothing is asked: kRuns. With anything in
/// `everywhere` it is kPending, whatever the nodes say.
Answer why_pod(const Cluster& cluster, const Pod& pod);
/// Of a claim, as for a pod without any wishes. kRuns where it is allocated.
Answer why_claim(const Cluster& cluster, const Claim& claim);

}  // namespace sliced::allocation
