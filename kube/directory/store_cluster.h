#pragma once
// A cluster on an ObjectStore. Subclasses fill the store and keep written objects. Every kind is served, but
// discover() returns only the kinds of the daemon's sources, so that a store without objects of a kind has
// none of them instead of lacking the kind.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/directory/object_store.h"
#include "kube/objects/cluster.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// Versions:  resourceVersions increase with every change of content and restart with the process; uids are
/// stable hashes.
/// Writing:   only whole, cluster-scoped objects. ResourceSlices are validated by the API server's rules. A
/// dry run has the answer of the write.
/// Ownership: calls may outlive it; their callbacks are not called then.
class StoreCluster : public Cluster {
 public:
  ~StoreCluster() override;

  CallPtr list(ListRequest request, ListHandlers handlers) final;
  CallPtr watch(WatchRequest request, WatchHandlers handlers) final;
  CallPtr write(WriteRequest request, WriteHandlers handlers) final;
  CallPtr get(GetRequest request, WriteHandlers handlers) final;
  CallPtr discover(std::string group, std::string version,
                   std::function<void(std::vector<std::string>)> on_done,
                   std::function<void(const Failure&)> on_failure) final;
  CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                 std::function<void(const Failure&)> on_failure) final;
  CallPtr server_info(std::function<void(ServerInfo)> on_done,
                      std::function<void(const Failure&)> on_failure) final;

 protected:
  StoreCluster(reactor::Scheduler& scheduler, std::string default_namespace);
  // Called after a change of the store.
  void wake_watches();
  void end_watches(const Failure& failure);
  ObjectStore store_;
  const std::string default_namespace_;

 private:
  // Returns why the store is unreliable at present; it keeps its content meanwhile.
  virtual std::optional<Failure> trouble(std::string_view action) const = 0;
  // Returns the place of an existing object, for people.
  virtual std::string place_of(const ObjectKey& key) const = 0;
  // Returns why an existing object must not be written; "" if it may.
  virtual std::string why_not_writable(const WriteRequest& request, const ObjectKey& key) const = 0;
  // Afterwards the store has the object, or lacks it.
  virtual Result<Unit> store(const WriteRequest& request, const ObjectKey& key, const Json& content) = 0;
  virtual Result<Unit> forget(const ObjectKey& key) = 0;

  using Reply = std::variant<std::string, Failure>;  // the stored object, or the reason of a failure

  // Calls `answer` in the next turn, unless the call or the cluster was destroyed. `dropped` becomes true if
  // the caller destroys the call meanwhile.
  CallPtr once(std::function<void(const bool& dropped)> reply);
  // An open watch: filter, handlers and position. Owned by its Call; the list here holds it weakly.
  struct Watch;
  class WatchCall;
  class OnceCall;

  // Sends a watch all changes after its position. An object that leaves the selection is a deletion, as from
  // a server. Changes of other kinds are sent as a bookmark, one in 256.
  void pump(const std::shared_ptr<Watch>& watch);
  // Sends the current objects as kAdded, at one version, then the bookmark of the initial events if
  // requested.
  void send_initial(const std::shared_ptr<Watch>& watch);
  void schedule_pump(const std::shared_ptr<Watch>& watch);
  // The default namespace is stored as "", so that a file with and one without it identify one object.
  ObjectKey key_of(const Resource& resource, const std::string& namespace_, const std::string& name) const;
  ObjectFilter all_of(const Resource& resource) const;

  // Errors: kInvalid for an unsupported field selector.
  Result<ObjectFilter> filter(const Scope& scope) const;
  Reply find(const GetRequest& request) const;
  Reply perform(const WriteRequest& request);
  // Create and update. An unchanged object gets no new version.
  Reply put(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);
  Reply erase(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);

  reactor::Scheduler& scheduler_;
  std::vector<std::weak_ptr<Watch>> watches_;
  std::shared_ptr<Unit> alive_ = std::make_shared<Unit>();
};

/// 410: the watch must restart.
Failure expired_failure(std::string what);

}  // namespace sliced::kube
