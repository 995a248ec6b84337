#pragma once
// Stores the policies: events of their sources are applied, and the policy set for decisions is built. All
// kinds use the same code; their differences are rows of traits (policy_book.cpp).
//
// Ownership: policies are shared with the sets, never copied. Calls nothing back.
// Identity:  an unchanged policy stays the same object, so that policies can be compared by pointers first.
// Memory:    a watcher leaves out policies beyond its limit (watchers/memory_budget.h); their names are
//            known. One policy in the set represents all excludes that are left out: they may apply to any
//            device.
// Errors:    none: an object that cannot be decoded is kept as a policy with a problem that offers nothing.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "kube/objects/cluster.h"
#include "kube/objects/selector.h"
#include "policy/decision.h"
#include "policy/policy_set.h"
#include "reactor/base/shared.h"
#include "reactor/base/source_event.h"
#include "watchers/memory_budget.h"
#include "watchers/policy_watcher.h"

namespace sliced::daemon {

/// How one kind of policy is watched.
template <class Policy>
struct PolicyResource {
  kube::Resource resource;
  std::string source;      // its name as a source: "exposure policies"
  std::string namespace_;  // "": objects of all namespaces
  watchers::PolicyDecoding<Policy> decoding;
  std::vector<std::string> fields;  // paths of the decoded fields; the served schema should contain them
};
/// nullopt: the options turn the kind off.
struct PolicyResources {
  std::optional<PolicyResource<policy::SriovPolicy>> sriov;
  std::optional<PolicyResource<policy::DeviceAttributes>> attributes;
  std::optional<PolicyResource<policy::ExposurePolicy>> exposures;
};
PolicyResources policy_resources(const config::Options& options);

template <class Policy>
using WatchedPolicy = watchers::Watched<watchers::PolicyObject<Policy>>;
template <class Policy>
using PolicyEvent = SourceEvent<WatchedPolicy<Policy>>;

/// Facts for applying an event; nullptr if unknown.
struct PolicyEventContext {
  const policy::Decision* decision = nullptr;  // the last one
};

class PolicyBook {
 public:
  using Id = watchers::ObjectId;

  struct Applied {
    std::string why;          // "policy ns/name changed"; never ""
    bool has_changed = true;  // false: only the status was written, or a list has no difference; set() is
                              // unchanged
  };
  /// Applies an event of the kind's source. An exclude that can no longer be decoded keeps its last valid
  /// content.
  Applied apply(const PolicyEvent<policy::SriovPolicy>& event, const PolicyEventContext& known);
  Applied apply(const PolicyEvent<policy::DeviceAttributes>& event, const PolicyEventContext& known);
  Applied apply(const PolicyEvent<policy::ExposurePolicy>& event, const PolicyEventContext& known);

  /// Returns whether the event may exclude a device that was not excluded before.
  static bool may_exclude(const PolicyEvent<policy::ExposurePolicy>& event);

  /// Returns whether objects that a list lacks are too important to drop after one list: most of the offer
  /// depends on them, or one is an exclude that was left out. A failing server, or a replica that lost its
  /// data, may return an incomplete list. False before the first decision.
  bool keeps_missing(const kube::Resource& kind, const std::vector<Id>& missing,
                     const PolicyEventContext& known) const;

  /// Returns all policies in the order of evaluation. The pointer stays the same while nothing changes, so
  /// that sets can be compared by pointers first.
  const policy::PolicySetPtr& set();

  /// Calls say for each problem of a policy: "policy ns/name: spec.configs[0]....: ...".
  void for_each_problem(const std::function<void(const std::string&)>& say) const;
  /// Calls say for each kind of which objects were left out, with their number and names.
  void for_each_left_out(const std::function<void(const std::string&)>& say) const;

 private:
  // The objects of one kind, by id.
  template <class Policy>
  struct PolicyStore {
    std::map<typename Policy::Id, Shared<Policy>> kept;
    watchers::Omitted left_out;  // for lack of memory
  };
  template <class Visit>
  static void for_each_store(auto& book, Visit visit);
  template <class Policy>
  Applied apply_to(PolicyStore<Policy>& shelf, const PolicyEvent<Policy>& event,
                   const PolicyEventContext& known);
  template <class Policy>
  static bool keeps_missing(const PolicyStore<Policy>& shelf, const std::vector<Id>& missing,
                            const PolicyEventContext& known);
  // Both return false if nothing has changed.
  template <class Policy>
  static bool put(PolicyStore<Policy>& shelf, const WatchedPolicy<Policy>& item,
                  const std::map<typename Policy::Id, Shared<Policy>>& before,
                  const PolicyEventContext& known);
  template <class Policy>
  static bool take(PolicyStore<Policy>& shelf, const PolicyEvent<Policy>& event,
                   const PolicyEventContext& known);

  PolicyStore<policy::SriovPolicy> sriov_;
  PolicyStore<policy::DeviceAttributes> attributes_;
  PolicyStore<policy::ExposurePolicy> exposures_;
  policy::PolicySetPtr set_;  // nullptr: to be built
};

}  // namespace sliced::daemon
