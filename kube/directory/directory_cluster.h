#pragma once
// A directory of YAML files as a cluster: policies and nodes in, ResourceSlices out, no Kubernetes needed.
// What is written goes to DIR/<plural>/NAME.yaml as objects that `kubectl apply -f` takes.
#include <optional>
#include <string>
#include <string_view>

#include "kube/directory/directory_tree.h"
#include "kube/directory/store_cluster.h"

namespace sliced::kube {

/// Versions:  as StoreCluster has them; neither they nor uids are written into files, so that a restart with nothing
///            changed finds what it would write.
/// Errors:    while the directory cannot be read, every call is kIo and open watches end with kIo; it is
///            looked for until it is back. Lost inotify events end every watch with kGone.
/// Writing:   only in the files this class would write itself.
/// Ownership: calls may outlive it; they are silent then.
class DirectoryCluster final : public StoreCluster {
 public:
  DirectoryCluster(reactor::Loop& loop, Log& log, std::string directory, std::string default_namespace,
                   DirectoryLimits limits = {});

  std::string describe() const override { return "dir:" + directory_; }

 private:
  std::optional<Failure> trouble(std::string_view action) const override;
  // A change wakes the watches; lost events end them with kGone, a directory that is away with kIo.
  void on_tree_event(DirectoryTree::Event event);
  std::string place_of(const ObjectKey& key) const override;
  // Where the object stands in a file that this class would not write, or beside others in it.
  std::string why_not_ours(const WriteRequest& request, const ObjectKey& key) const override;
  Result<Unit> keep(const WriteRequest& request, const ObjectKey& key, const Json& content) override;
  Result<Unit> forget(const ObjectKey& key) override;

  const std::string directory_;
  DirectoryTree tree_;
};

}  // namespace sliced::kube
