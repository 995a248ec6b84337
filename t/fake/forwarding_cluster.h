#pragma once
// A cluster that forwards every call to another one. Tests override the calls that they change.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/cluster.h"

namespace sliced::fake {

class ForwardingCluster : public kube::Cluster {
 public:
  using OnFailure = std::function<void(const kube::Failure&)>;
  /// behind: outlives it.
  explicit ForwardingCluster(kube::Cluster& behind) : behind_(behind) {}

  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers handlers) override {
    return behind_.list(std::move(request), std::move(handlers));
  }
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers handlers) override {
    return behind_.watch(std::move(request), std::move(handlers));
  }
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers handlers) override {
    return behind_.write(std::move(request), std::move(handlers));
  }
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers handlers) override {
    return behind_.get(std::move(request), std::move(handlers));
  }
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         OnFailure on_failure) override {
    return behind_.discover(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       OnFailure on_failure) override {
    return behind_.schema(std::move(group), std::move(version), std::move(on_done), std::move(on_failure));
  }
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done, OnFailure on_failure) override {
    return behind_.server_info(std::move(on_done), std::move(on_failure));
  }
  std::optional<int64_t> server_time() const override { return behind_.server_time(); }
  std::string describe() const override { return behind_.describe(); }

 protected:
  kube::Cluster& behind_;
};

}  // namespace sliced::fake
