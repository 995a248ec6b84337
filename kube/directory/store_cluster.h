#pragma once
// An ObjectStore in the place of an API server. How objects get there, and where what is written goes, is for who derives
// from it.
// Every kind is served. But discover() names only those that the daemon has sources for, so that a store without a kind's
// objects is one with none of them and not one without the kind.
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

/// Versions:  resourceVersions grow with every change of content and start anew with the process; uids are
///            stable hashes.
/// Writing:   only cluster-scoped objects, and whole ones. ResourceSlices are checked by the API server's rules. A dry run
///            answers as what is written would be.
/// Ownership: calls may outlive it; they are silent then.
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
  // The store has changed.
  void wake_watches();
  void end_watches(const Failure& failure);
  ObjectStore store_;
  const std::string default_namespace_;

 private:
  // Why the store cannot be relied on at present; what it has stays meanwhile.
  virtual std::optional<Failure> trouble(std::string_view action) const = 0;
  // Where an object that is there stands, in words.
  virtual std::string place_of(const ObjectKey& key) const = 0;
  // Why an object that is there may not be written; "" it may.
  virtual std::string why_not_ours(const WriteRequest& request, const ObjectKey& key) const = 0;
  // The store has it, or lacks it, afterwards.
  virtual Result<Unit> keep(const WriteRequest& request, const ObjectKey& key, const Json& content) = 0;
  virtual Result<Unit> forget(const ObjectKey& key) = 0;

  using Answer = std::variant<std::string, Failure>;  // the stored object, or why not

  // answer runs in the next turn, unless the call or the cluster is gone; `dropped` turns true when the
  // caller drops it meanwhile.
  CallPtr once(std::function<void(const bool& dropped)> answer);
  // One open watch: its filter, its handlers and how far it has come. Its Call owns it; the list here holds
  // it weakly.
  struct Watch;
  class WatchCall;
  class OnceCall;

  // Tells a watch everything behind its cursor. A step in which an object leaves what the watch selects is a
  // deletion, as from a server. Other kinds' steps are told as a bookmark, one in 256.
  void pump(const std::shared_ptr<Watch>& watch);
  // What is there now as kAdded, at one version, then the bookmark that ends it where it was asked for.
  void send_initial(const std::shared_ptr<Watch>& watch);
  void schedule_pump(const std::shared_ptr<Watch>& watch);
  // The default namespace is written as "", so that a file that names it and one that does not mean one
  // object.
  ObjectKey key_of(const Resource& resource, const std::string& namespace_, const std::string& name) const;
  ObjectFilter all_of(const Resource& resource) const;

  // Errors: kInvalid, for a field selector that the store does not know.
  Result<ObjectFilter> filter(const Scope& scope) const;
  Answer find(const GetRequest& request) const;
  Answer perform(const WriteRequest& request);
  // Create and update. What would change nothing is not kept anew.
  Answer put(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);
  Answer erase(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);

  reactor::Scheduler& scheduler_;
  std::vector<std::weak_ptr<Watch>> watches_;
  std::shared_ptr<Unit> alive_ = std::make_shared<Unit>();
};

/// 410: a watch has to begin anew.
Failure gone(std::string what);

}  // namespace sliced::kube
