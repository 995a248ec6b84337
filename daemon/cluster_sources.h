#pragma once
// What the daemon hears of the cluster: its own Node, the policies, and the slices that each driver has
// published for the node. Made, watched and looked after here; what an outage means is Reach's (reach.h).
//
// Ownership: cluster, scheduler and log outlive this. Dropping it ends all watches.
// Reentry:   handlers run on turns of the loop, never from inside the constructor or start(), and may not
//            destroy this.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/policy_book.h"
#include "daemon/reach.h"
#include "daemon/schema_check.h"
#include "watchers/node_watcher.h"
#include "watchers/policy_watcher.h"
#include "watchers/slice_watcher.h"

namespace sliced::daemon {

/// Threads: the loop's.
/// Memory:  objects are handed on; of slices and policies no more is kept than what the limits of each kind
///          allow (docs/scale.md).
class ClusterSources {
 public:
  /// One of ours: which slices are its own, and which policies it offers by.
  struct Driver {
    std::string name;
    std::string slices;  // the name of its slices as a source: "own slices"
    size_t slices_bytes_max = SIZE_MAX;
    std::vector<PolicyKind> kinds;  // empty where they are off: what it has published is withdrawn then
  };
  /// drivers: in the order of the daemon's offers; their index is what on_slices is told with.
  struct Scope {
    std::string node;
    bool is_directory = false;  // in the place of an API server
    std::vector<Driver> drivers;
  };
  struct Handlers {
    /// Of the own Node alone; Removed when it is deleted, which takes the slices with it.
    std::function<void(const SourceEvent<watchers::NodeWatcher::Item>&)> on_node;
    std::function<void(const kube::Resource& kind, const PolicyBook::Event&)> on_policies;
    std::function<void(size_t driver, const SourceEvent<watchers::SliceWatcher::Item>&)>
        on_slices;  // of scope.drivers
    /// Of objects of a kind that a list lacks: true to keep them until a second list lacks them too; may be
    /// empty.
    std::function<bool(const kube::Resource& kind, const std::vector<PolicyBook::Id>& missing)> keeps_missing;
    std::function<void()> on_standing;  // one of them stands otherwise than before
    Reach::OnChange on_change;
  };

  ClusterSources(kube::Ports ports, const Scope& scope, Handlers handlers);

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
  bool has_node_synced() const { return sources_.front().watcher->standing().known; }
  /// The server does not have the kind; one that is off it may have.
  bool is_absent(const kube::Resource& kind) const;

 private:
  struct Named {
    std::string name;
    kube::Resource kind;
    std::unique_ptr<watchers::Source> watcher;
  };
  // The Node first, then of each driver its slices and the kinds of its policies.
  std::vector<Named> make_sources(const kube::Ports& ports, const Scope& scope);
  // Asks for the kind's schema with each list, before the list is told.
  std::unique_ptr<watchers::Source> make_policies(const kube::Ports& ports, const PolicyKind& kind,
                                                  watchers::PolicyWatcher::OnStanding on_standing);
  /// Those whose initial sync is not complete.
  template <class Wanted>
  std::vector<std::string> described(Wanted wanted) const;
  std::vector<watchers::Source*> watched() const;

  const Handlers handlers_;
  const bool is_directory_;
  std::vector<Named> sources_;  // the Node's first
  SchemaCheck schemas_;
  // Last, so that it goes first: it holds pointers to the sources.
  Reach reach_;
};

}  // namespace sliced::daemon
