#pragma once
// The policies as they are kept: what their sources say goes in, the set that is decided from comes out. One
// way of taking in for every kind; what differs between kinds is a row of traits (policy_book.cpp).
//
// Ownership: policies are shared with the sets made of them, never copied. Nothing here calls back.
// Identity:  one that is told again as it was stays the same object, so that who compares policies compares pointers first.
// Memory:    what there is no room for was left out by its watcher (watchers/memory_budget.h) and is known by name.
//            One policy stands in the set for all excludes that are left out: it may mean any device.
// Errors:    none: an object that cannot be read is kept as a policy that offers nothing and says why.
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
  std::vector<std::string> fields;  // the paths that are read; the served schema should have them
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

/// What is known when a policy comes or goes; nullptr while it is not.
struct Known {
  const policy::Decision* decision = nullptr;  // that stands
};

class PolicyBook {
 public:
  using Id = watchers::ObjectId;

  struct Applied {
    std::string why;          // "policy ns/name changed"; never ""
    bool has_changed = true;  // false: a status was written, or a list shows what is known; set() is the same
  };
  /// Applies an event of the kind's source. An exclude that can no longer be decoded continues as it was last understood.
  Applied apply(const PolicyEvent<policy::SriovPolicy>& event, const Known& known);
  Applied apply(const PolicyEvent<policy::DeviceAttributes>& event, const Known& known);
  Applied apply(const PolicyEvent<policy::ExposurePolicy>& event, const Known& known);

  /// Whether the event may exclude a device that nothing excluded before.
  static bool may_exclude(const PolicyEvent<policy::ExposurePolicy>& event);

  /// Whether objects that a list lacks are too much to lose by one list: most of the offer stands on them, or
  /// one is an exclude that there is no room for. A server that is ill, or a replica that lost its data, may
  /// lack anything.
  bool keeps_missing(const kube::Resource& kind, const std::vector<Id>& missing, const Known& known) const;

  /// Everything that is kept, in the order of evaluation; made anew after a change.
  /// The same pointer as long as nothing changed, so that who compares sets compares pointers first.
  const policy::PolicySetPtr& set();

  /// The problems of every policy as they stand: "policy ns/name: spec.configs[0]....: ...".
  void for_each_problem(const std::function<void(const std::string&)>& say) const;
  /// Of each kind of which not everything is kept how much that is, and what.
  void for_each_left_out(const std::function<void(const std::string&)>& say) const;

 private:
  // One kind's objects, by id.
  template <class Policy>
  struct Shelf {
    std::map<typename Policy::Id, Shared<Policy>> kept;
    watchers::LeftOut left_out;  // for want of room
  };
  template <class Visit>
  static void on_each_shelf(auto& book, Visit visit);
  template <class Policy>
  Applied apply_to(Shelf<Policy>& shelf, const PolicyEvent<Policy>& event, const Known& known);
  template <class Policy>
  static bool keeps_missing(const Shelf<Policy>& shelf, const std::vector<Id>& missing, const Known& known);
  // Both: false when nothing differs from before.
  template <class Policy>
  static bool put(Shelf<Policy>& shelf, const WatchedPolicy<Policy>& item,
                  const std::map<typename Policy::Id, Shared<Policy>>& before, const Known& known);
  template <class Policy>
  static bool take(Shelf<Policy>& shelf, const PolicyEvent<Policy>& event, const Known& known);

  Shelf<policy::SriovPolicy> sriov_;
  Shelf<policy::DeviceAttributes> attributes_;
  Shelf<policy::ExposurePolicy> exposures_;
  policy::PolicySetPtr set_;  // nullptr: to be made anew
};

}  // namespace sliced::daemon
