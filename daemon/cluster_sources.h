#pragma once
// The daemon's sources in the cluster: its own Node, the policies, and the slices that each driver has
// published for the node. Creates and watches them; Connectivity (connectivity.h) handles outages. Ownership: cluster,
// scheduler and log outlive this object. Its destruction ends all watches.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/connectivity.h"
#include "daemon/policy_book.h"
#include "daemon/schema_check.h"
#include "watchers/node_watcher.h"
#include "watchers/policy_watcher.h"
#include "watchers/slice_watcher.h"

namespace sliced::daemon {

/// Events of the sources, on turns of the loop, never from the constructor or start().
class ClusterEvents {
 public:
  /// Only the own Node. Removed when it is deleted, which also deletes its slices.
  virtual void on_node(const SourceEvent<watchers::NodeWatcher::Item>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::SriovPolicy>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::DeviceAttributes>& event) = 0;
  virtual void on_policies(const PolicyEvent<policy::ExposurePolicy>& event) = 0;
  /// Own slices. driver: index in ClusterSources::Scope::drivers.
  virtual void on_slices(size_t driver, const SourceEvent<watchers::SliceWatcher::Item>& event) = 0;
  /// Returns the slice from the API server's answer to a write of this process, if it has that uid and
  /// resourceVersion; otherwise nullptr. The watch event for it is then not decoded.
  virtual const kube::ResourceSlice* find_slice(size_t driver, const watchers::ObjectHead& head) const = 0;
  /// Returns true to keep objects that are missing in a list until a second list lacks them too.
  virtual bool keeps_missing(const kube::Resource& kind, const std::vector<watchers::ObjectId>& missing) = 0;
  /// The sync state of a source has changed.
  virtual void on_sync_state() = 0;
  virtual void on_connectivity_change(const Connectivity::Change& change) = 0;

 protected:
  ~ClusterEvents() = default;
};

/// Threads: the loop's.
/// Memory: objects are passed on; slices and policies are kept within the limits of each kind
/// (docs/scale.md).
class ClusterSources {
 public:
  struct Driver {
    std::string name;
    std::string slices;                  // name of the source of its slices, in messages: "own slices"
    size_t slices_bytes_max = SIZE_MAX;  // memory for its slices
  };
  /// drivers: for SriovResourcePolicies, for DeviceExposurePolicies; the index is `driver` in
  /// ClusterEvents::on_slices. policies: a kind that is off is not watched, and its published slices are
  /// withdrawn.
  struct Scope {
    std::string node;
    bool is_directory = false;  // a directory instead of an API server
    std::array<Driver, 2> drivers;
    PolicyResources policies;
  };

  /// events outlives this object.
  ClusterSources(kube::ClusterPorts ports, const Scope& scope, ClusterEvents& events);

  /// Starts all sources at the same time. Called once.
  void start();
  /// Returns whether writing is allowed: there is no outage, and every source has answered since the last
  /// one.
  bool may_write() const { return connectivity_.may_write(); }
  /// Returns the sources that have not synced yet, with the reason: "policies: denied: list
  /// sriovresourcepolicies: ...". Sources of slices come last.
  std::vector<std::string> unsynced_sources() const;
  /// Returns the subset of unsynced_sources() that does not change by waiting: kinds that the API server does not have,
  /// denied requests, a directory that cannot be read.
  std::vector<std::string> missing() const;
  /// Calls say for each source.
  void for_each(const std::function<void(const std::string& name, const watchers::Source&)>& say) const;
  /// Returns whether the existence of the own Node is known.
  bool has_node_synced() const { return sources_.front().watcher->sync_state().known; }
  /// See SchemaCheck::dropped().
  std::string dropped_fields() const { return schemas_.dropped(); }
  /// Returns whether the server lacks the kind; false for a kind that is off.
  bool is_absent(const kube::Resource& kind) const;

 private:
  struct Named {
    std::string name;
    kube::Resource kind;
    std::unique_ptr<watchers::Source> watcher;
  };
  // Creates the Node's source first, then for each driver those of its slices and of its policies.
  std::vector<Named> make_sources(const kube::ClusterPorts& ports, const Scope& scope);
  void add_slices(std::vector<Named>& out, const kube::ClusterPorts& ports, const Scope& scope,
                  size_t driver);
  // Requests the kind's schema with each list, before the list is reported. Adds nothing if the kind is off.
  template <class Policy>
  void add_policies(std::vector<Named>& out, const kube::ClusterPorts& ports,
                    const std::optional<PolicyResource<Policy>>& kind);
  void on_sync_state();
  /// Describes the sources whose initial sync is not complete.
  template <class Wanted>
  std::vector<std::string> described(Wanted wanted) const;
  std::vector<watchers::Source*> watched() const;

  ClusterEvents& events_;
  const bool is_directory_;
  std::vector<Named> sources_;  // the Node's first
  SchemaCheck schemas_;
  // Declared last, so that it is destroyed first: it holds pointers to the sources.
  Connectivity connectivity_;
};

}  // namespace sliced::daemon
