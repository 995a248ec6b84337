#pragma once
// A directory of YAML files as a cluster: policies and nodes in, ResourceSlices out, no Kubernetes needed.
// Every kind is served. What is written goes to DIR/<plural>/NAME.yaml as objects that `kubectl apply -f`
// takes.
// But discover() names only those that the daemon has sources for, so that a folder without a kind's objects
// is one with none of them and not one without the kind.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kube/cluster.h"
#include "kube/directory_tree.h"
#include "kube/object_store.h"

namespace sliced::kube {

/// Versions:  resourceVersions grow with every change of content and start anew with the process; uids are
///            stable hashes. Neither is written into files, so that a restart with nothing changed finds
///            what it would write.
/// Errors:    while the directory cannot be read, every call is kIo and open watches end with kIo; it is
///            looked for until it is back. Lost inotify events end every watch with kGone.
/// Writing:   only cluster-scoped objects, and only in the files this class would write itself.
///            ResourceSlices are checked by the API server's rules.
/// Ownership: calls may outlive it; they are silent then.
class DirectoryCluster final : public Cluster {
 public:
  DirectoryCluster(reactor::Loop& loop, Log& log, std::string directory, std::string default_namespace,
                   DirectoryLimits limits = {});
  ~DirectoryCluster() override;

  CallPtr list(ListRequest request, ListHandlers handlers) override;
  CallPtr watch(WatchRequest request, WatchHandlers handlers) override;
  CallPtr write(WriteRequest request, WriteHandlers handlers) override;
  CallPtr get(GetRequest request, WriteHandlers handlers) override;
  CallPtr discover(std::string group, std::string version,
                   std::function<void(std::vector<std::string>)> on_done,
                   std::function<void(const Failure&)> on_failure) override;
  CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                 std::function<void(const Failure&)> on_failure) override;
  CallPtr server_info(std::function<void(ServerInfo)> on_done,
                      std::function<void(const Failure&)> on_failure) override;
  std::string describe() const override { return "dir:" + directory_; }

 private:
  // One open watch: its filter, its handlers and how far it has come. Its Call owns it; the list here holds
  // it weakly.
  struct Watch;
  class WatchCall;
  class OnceCall;
  using Answer = std::variant<std::string, Failure>;  // the stored object, or why not

  // answer runs in the next turn, unless the call or the cluster is gone; `dropped` turns true when the
  // caller drops it meanwhile.
  CallPtr once(std::function<void(const bool& dropped)> answer);
  // A change wakes the watches; lost events end them with kGone, a directory that is away with kIo.
  void on_tree_event(DirectoryTree::Event event);
  void wake_watches();
  void end_watches(const Failure& failure);
  // Tells a watch everything behind its cursor. A step in which an object leaves what the watch selects is a
  // deletion, as from a server. Other kinds' steps are told as a bookmark, one in 256.
  void pump(const std::shared_ptr<Watch>& watch);
  // What is there now as kAdded, at one version, then the bookmark that ends it where it was asked for.
  void send_initial(const std::shared_ptr<Watch>& watch);
  void schedule_pump(const std::shared_ptr<Watch>& watch);

  // Errors: kInvalid, for a field selector that the store does not know.
  Result<ObjectFilter> filter(const Scope& scope) const;
  // The default namespace is written as "", so that a file that names it and one that does not mean one
  // object.
  ObjectKey key_of(const Resource& resource, const std::string& namespace_, const std::string& name) const;
  Answer find(const GetRequest& request) const;
  Answer perform(const WriteRequest& request);
  // Create and update. What would change nothing writes no file; a dry run answers and writes none.
  Answer put(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);
  Answer erase(const WriteRequest& request, const ObjectKey& key, const ObjectPtr& stored);
  // kDenied where the object stands in a file that this class would not write, or beside others in it.
  std::optional<Failure> refuse_foreign_file(const WriteRequest& request, const ObjectKey& key) const;
  Failure io_failure(std::string_view action) const;

  reactor::Scheduler& scheduler_;
  const std::string directory_, default_namespace_;
  ObjectStore store_;
  std::vector<std::weak_ptr<Watch>> watches_;
  std::shared_ptr<Unit> alive_ = std::make_shared<Unit>();
  DirectoryTree tree_;
};

}  // namespace sliced::kube
