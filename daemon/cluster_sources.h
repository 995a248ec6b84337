#pragma once
// What the daemon hears of the cluster: its own Node, the policies, and the slices that each driver has
// published for the node. Made, watched and looked after here; what an outage means is Reach's (reach.h).
//
// Ownership: cluster, scheduler and log outlive this. Dropping it ends all watches.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/policy_book.h"
#include "daemon/reach.h"
#include "daemon/schema_check.h"
#include "watchers/node_watcher.h"
#include "watchers/policy_watcher.h"
#include "watchers/slice_watcher.h"

namespace sliced::daemon {

/// What the sources report, on turns of the loop, never from the constructor or start(). No function may destroy the sources.
class ClusterEvents {
 public:
  /// Only the own Node. Removed when it is deleted, which deletes its slices too.
  virtual void on_node(const SourceEvent<watchers::NodeWatcher::Item>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::SriovPolicy>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::DeviceAttributes>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::ExposurePolicy>& event) = 0;
  /// Own slices. driver: index in ClusterSources::Scope::drivers.
  virtual void on_slices(size_t driver, const SourceEvent<watchers::SliceWatcher::Item>& event) = 0;
  /// Returns the slice that the API server answered to a write of ours, where it is of that uid and resourceVersion; nullptr else. The
  /// watch event that repeats it is not decoded.
  virtual const kube::ResourceSlice* find_slice(size_t driver, const watchers::ObjectHead& head) const = 0;
  /// Returns true to keep the missing objects, which a list lacks, until a second list lacks them too.
  virtual bool keeps_missing(const kube::Resource& kind, const std::vector<watchers::ObjectId>& missing) = 0;
  /// The sync state of a source has changed.
  virtual void on_sync_state() = 0;
  virtual void on_reach(const Reach::Change& change) = 0;

 protected:
  ~ClusterEvents() = default;
};

/// Threads: the loop's.
/// Memory:  objects are handed on; of slices and policies no more is kept than what the limits of each kind
///          allow (docs/scale.md).
class ClusterSources {
 public:
  struct Driver {
    std::string name;
    std::string slices;  // the name of its slices as a source: "own slices"
    size_t slices_bytes_max = SIZE_MAX;
  };
  /// drivers: for SriovResourcePolicies, for DeviceExposurePolicies; the index is the `driver` of ClusterEvents::on_slices.
  /// policies: a kind that is off is not watched; the slices that it published are withdrawn.
  struct Scope {
    std::string node;
    bool is_directory = false;  // in the place of an API server
    std::array<Driver, 2> drivers;
    PolicyResources policies;
  };

  /// events outlives this.
  ClusterSources(kube::Ports ports, const Scope& scope, ClusterEvents& events);

  /// Once: all sources begin at the same time.
  void start();
  /// Nothing keeps from writing: no outage, and nobody of whom it is not known whether he is back.
  bool may_write() const { return reach_.may_write(); }
  /// Which sources have not synced yet, and why: "policies: denied: list sriovresourcepolicies: ...".
  /// Sources of slices come last: what there is to decide from is said first.
  std::vector<std::string> silent() const;
  /// Of those what one look is enough to know: kinds that the API server does not have, what it does not
  /// allow, a directory that cannot be read.
  std::vector<std::string> missing() const;
  /// Each source with its name, and how it stands.
  void for_each(const std::function<void(const std::string& name, const watchers::Source&)>& say) const;
  /// Whether the own Node is known to be there, or not to be.
  bool has_node_synced() const { return sources_.front().watcher->sync_state().known; }
  /// SchemaCheck::dropped().
  std::string dropped_fields() const { return schemas_.dropped(); }
  /// The server does not have the kind; one that is off it may have.
  bool is_absent(const kube::Resource& kind) const;

 private:
  struct Named {
    std::string name;
    kube::Resource kind;
    std::unique_ptr<watchers::Source> watcher;
  };
  // The Node first, then the slices of each driver and the policies that it offers by.
  std::vector<Named> make_sources(const kube::Ports& ports, const Scope& scope);
  void add_slices(std::vector<Named>& out, const kube::Ports& ports, const Scope& scope, size_t driver);
  // Asks for the kind's schema with each list, before the list is reported. Adds nothing when the kind is off.
  template <class Policy>
  void add_policies(std::vector<Named>& out, const kube::Ports& ports,
                    const std::optional<PolicyResource<Policy>>& kind);
  void on_sync_state();
  /// Those whose initial sync is not complete.
  template <class Wanted>
  std::vector<std::string> described(Wanted wanted) const;
  std::vector<watchers::Source*> watched() const;

  ClusterEvents& events_;
  const bool is_directory_;
  std::vector<Named> sources_;  // the Node's first
  SchemaCheck schemas_;
  // Last, so that it goes first: it holds pointers to the sources.
  Reach reach_;
};

}  // namespace sliced::daemon
