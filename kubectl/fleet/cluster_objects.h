#pragma once
// Objects of a whole cluster, read once: what `why` and the tables of the fleet are made of.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kube/objects/cluster.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::cli {

/// Who is told of a list.
struct ListTold {
  std::function<void(const kube::Json& object)> on_object;  // decoded, and with its kind
  std::function<void(std::string what)> on_bad;             // what is no JSON; it ends nothing
  /// The list begins anew, because the server has forgotten the state that its pages were of: what was told of it until now
  /// does not count.
  std::function<void()> on_anew;
};

/// Reads through a cluster, and turns its loop until the answer is there: at most two minutes each, and a
/// list as long again each time that it begins anew.
/// Bounds: 4 GiB of text of a list, objects as kube::kSliceLimits has them. Nothing is kept of what was told.
class ClusterObjects {
 public:
  using Wait = std::function<bool(const std::function<bool()>& done, Millis longest)>;
  ClusterObjects(kube::Cluster& cluster, Wait wait) : cluster_(cluster), wait_(std::move(wait)) {}

  /// Each object of the kind, in pages of 500 that are of one moment; namespace_ "" is all. A page that the server has no
  /// state for any more (410) begins the list anew, twice at most.
  /// Errors: the list that failed, and why; kNotFound where the kind is not served. What was told until then does
  /// not count.
  Result<Unit> list(const kube::Resource& resource, const std::string& namespace_, const ListTold& told);
  /// The same of a scope: of one node, or metadata alone.
  Result<Unit> list(const kube::Scope& scope, const ListTold& told);
  /// Errors: kNotFound where there is no such object; kTimeout after two minutes.
  Result<kube::Json> get(const kube::Resource& resource, const std::string& namespace_,
                         const std::string& name);
  /// The OpenAPI v3 schema of the kind's group and version (kube::Cluster::schema); "" where the cluster has none.
  Result<std::string> schema(const kube::Resource& resource);
  /// The API server's clock as far as its responses have it, else that of this machine; seconds since 1970.
  int64_t now() const;
  /// "v1.37.1"; "" where nobody says it.
  std::string version();

 private:
  Result<Unit> list_once(const kube::Scope& scope, const ListTold& told);

  kube::Cluster& cluster_;
  Wait wait_;
};

}  // namespace sliced::cli
