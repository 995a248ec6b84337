#pragma once
// Reads objects of a whole cluster once, for `why` and the fleet's tables.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::kubectl {

/// Callbacks of a list.
struct ListHandlers {
  std::function<void(const kube::Json& object)> on_object;  // decoded, with its kind
  std::function<void(std::string what)> on_bad;             // an item that is not JSON; the list continues
  /// The list starts again, because the server has dropped the state of its pages: earlier objects of this
  /// list do not count.
  std::function<void()> on_restart;
};

/// Reads through a cluster, and runs its loop until the answer arrives: at most two minutes each, and as long
/// again for each restart of a list. Bounds: 4 GiB of text per list, objects as in kube::kSliceLimits. Stores
/// nothing.
class ClusterObjects {
 public:
  using Wait = std::function<bool(const std::function<bool()>& done, Millis longest)>;
  ClusterObjects(kube::Cluster& cluster, Wait wait) : cluster_(cluster), wait_(std::move(wait)) {}

  /// Reads all objects of the kind, in consistent pages of 500; namespace_ "": all. An expired page (410)
  /// restarts the list, at most twice. Errors: the list that failed, and the reason; kNotFound if the kind is
  /// not served. Earlier objects do not count then.
  Result<Unit> list(const kube::Resource& resource, const std::string& namespace_,
                    const ListHandlers& handlers);
  /// The same for a scope: one node, or metadata only.
  Result<Unit> list(const kube::Scope& scope, const ListHandlers& handlers);
  /// Errors: kNotFound if there is no such object; kTimeout after two minutes.
  Result<kube::Json> get(const kube::Resource& resource, const std::string& namespace_,
                         const std::string& name);
  /// Returns the OpenAPI v3 schema of the kind's group and version (kube::Cluster::schema); "" if the cluster
  /// has none.
  Result<std::string> schema(const kube::Resource& resource);
  /// Returns the API server's clock from its responses, otherwise the local one; seconds since 1970.
  int64_t now() const;
  /// Returns "v1.37.1"; "" if unknown.
  std::string version();

 private:
  Result<Unit> list_once(const kube::Scope& scope, const ListHandlers& handlers);

  kube::Cluster& cluster_;
  Wait wait_;
};

}  // namespace sliced::kubectl
