#pragma once
// A read-only cluster of recorded objects.
#include <string>
#include <string_view>
#include <vector>

#include "kube/directory/manifest.h"
#include "kube/directory/store_cluster.h"
#include "reactor/base/log.h"

namespace sliced::kube {

/// Errors:  each write is kDenied; dry runs are answered.
/// Objects: of any size; readers apply their own limits, as with a server. An item that is not a Kubernetes
/// object is left out and logged; of two with one name the first counts. If an exclude may be left out, no
/// new device is offered, as with a file.
class RecordedCluster final : public StoreCluster {
 public:
  /// from: the text of describe().
  RecordedCluster(reactor::Scheduler& scheduler, Log& log, std::vector<Json> objects,
                  std::string default_namespace, std::string from);
  std::string describe() const override { return from_; }

 private:
  std::optional<Failure> trouble(std::string_view) const override { return std::nullopt; }
  std::string place_of(const ObjectKey&) const override { return from_; }
  std::string why_not_writable(const WriteRequest& request, const ObjectKey& key) const override;
  Result<Unit> store(const WriteRequest& request, const ObjectKey& key, const Json& content) override;
  Result<Unit> forget(const ObjectKey& key) override;
  Error does_not_change() const { return {Errc::kDenied, from_ + " does not change"}; }
  const std::string from_;
};

}  // namespace sliced::kube
