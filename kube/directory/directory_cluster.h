#pragma once
// A directory of YAML files as a cluster without Kubernetes: reads policies and nodes, and writes
// ResourceSlices to DIR/<plural>/NAME.yaml, as objects for `kubectl apply -f`.
#include <optional>
#include <string>
#include <string_view>

#include "kube/directory/directory_tree.h"
#include "kube/directory/store_cluster.h"

namespace sliced::kube {

/// Versions:  as in StoreCluster. Files contain neither versions nor uids, so that a restart without changes
/// finds its own output unchanged.
/// Errors:    while the directory cannot be read, every call is kIo and open watches end with kIo; the
/// directory is checked until it can be read. Lost inotify events end every watch with kGone.
/// Writing:   only to files that this class would create.
/// Ownership: calls may outlive it; their callbacks are not called then.
class DirectoryCluster final : public StoreCluster {
 public:
  DirectoryCluster(reactor::Loop& loop, Log& log, std::string directory, std::string default_namespace,
                   DirectoryLimits limits = {});

  std::string describe() const override { return "dir:" + directory_; }

 private:
  std::optional<Failure> trouble(std::string_view action) const override;
  // A change wakes the watches. Lost events end them with kGone, an unreadable directory with kIo.
  void on_tree_event(DirectoryTree::Event event);
  std::string place_of(const ObjectKey& key) const override;
  // Returns a reason if the object is in a file that this class would not write, or beside others in it.
  std::string why_not_writable(const WriteRequest& request, const ObjectKey& key) const override;
  Result<Unit> store(const WriteRequest& request, const ObjectKey& key, const Json& content) override;
  Result<Unit> forget(const ObjectKey& key) override;

  const std::string directory_;
  DirectoryTree tree_;
};

}  // namespace sliced::kube
