#pragma once
// Objects of a whole cluster, read once: what `why` and the tables of the fleet are made of.
#include <functional>
#include <string>
#include <string_view>

#include "kube/cluster.h"
#include "kube/json.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::cli {

/// Reads through a cluster, and turns its loop until the answer is there: at most two minutes each.
/// Bounds: 4 GiB of text of a list, objects as kube::kSliceLimits has them. Nothing is kept of what was told.
class ClusterObjects {
 public:
  using Wait = std::function<bool(const std::function<bool()>& done, Millis longest)>;
  ClusterObjects(kube::Cluster& cluster, Wait wait) : cluster_(cluster), wait_(std::move(wait)) {}

  /// Each object of the kind, decoded and with its kind, in pages of 500; namespace_ "" is all. What is no
  /// JSON is told to on_bad, and ends nothing.
  /// Errors: the list that failed, and why; kNotFound where the kind is not served. What was told until then does
  /// not count.
  Result<Unit> list(const kube::Resource& resource, const std::string& namespace_,
                    const std::function<void(const kube::Json& object)>& on_object,
                    const std::function<void(std::string what)>& on_bad);
  /// The same of a scope: of one node, or metadata alone.
  Result<Unit> list(kube::Scope scope, const std::function<void(const kube::Json& object)>& on_object,
                    const std::function<void(std::string what)>& on_bad);
  /// Errors: kNotFound where there is no such object; kTimeout after two minutes, as of lists.
  Result<kube::Json> get(const kube::Resource& resource, const std::string& namespace_,
                         const std::string& name);
  /// "v1.37.1"; "" where nobody says it.
  std::string version();

 private:
  kube::Cluster& cluster_;
  Wait wait_;
};

}  // namespace sliced::cli
