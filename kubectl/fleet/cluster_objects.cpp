#include "kubectl/fleet/cluster_objects.h"

#include <optional>

#include "kube/client/credentials.h"
#include "kube/objects/kinds.h"

namespace sliced::kubectl {
namespace {

constexpr Millis kReadMax{120'000};
constexpr size_t kListBytesMax = size_t{4} << 30;  // slices of 5,000 nodes with 256 VFs each are 1.3 GiB
constexpr int64_t kPage = 500;
constexpr int kListedAgainMax = 2;  // compactions are minutes apart: a third is a server that cannot page

Error late(const kube::Resource& resource) {
  return {Errc::kTimeout,
          "no answer about " + resource.plural + " after " + std::to_string(kReadMax.count() / 1000) + " s"};
}

}  // namespace

Result<Unit> ClusterObjects::list(const kube::Resource& resource, const std::string& namespace_,
                                  const ListHandlers& handlers) {
  return list(kube::Scope{.resource = resource, .namespace_ = namespace_}, handlers);
}

Result<Unit> ClusterObjects::list(const kube::Scope& scope, const ListHandlers& handlers) {
  for (int again = 0;; ++again) {
    auto listed = list_once(scope, handlers);
    if (listed || listed.error().code != Errc::kGone || again == kListedAgainMax) return listed;
    handlers.on_restart();
  }
}

Result<Unit> ClusterObjects::list_once(const kube::Scope& scope, const ListHandlers& handlers) {
  const kube::Resource& resource = scope.resource;
  std::optional<Result<Unit>> result;
  kube::ListRequest request{.scope = scope};
  request.limit = kPage;
  request.bytes_max = kListBytesMax;
  const auto call = cluster_.list(
      std::move(request),
      {.on_item =
           [&](std::string_view text) {
             auto object = kube::decode_json(text, kube::kSliceLimits);
             if (!object)
               return handlers.on_bad("a " + resource.kind + " cannot be read: " + object.error().what);
             // Items of a list may lack their kind.
             if (object->object() != nullptr) object->set("kind", resource.kind);
             handlers.on_object(*object);
           },
       .on_done = [&](std::string) { result = Unit{}; },
       .on_failure = [&](const kube::Failure& failure) { result = Error{failure.code, failure.what}; }});
  if (!wait_([&] { return result.has_value(); }, kReadMax)) return late(resource);
  return std::move(*result);
}

Result<kube::Json> ClusterObjects::get(const kube::Resource& resource, const std::string& namespace_,
                                       const std::string& name) {
  std::optional<Result<kube::Json>> result;
  const auto call = cluster_.get(
      {.resource = resource, .namespace_ = namespace_, .name = name},
      {.on_done = [&](std::string_view text) { result = kube::decode_json(text, kube::kSliceLimits); },
       .on_failure = [&](const kube::Failure& failure) { result = Error{failure.code, failure.what}; }});
  if (!wait_([&] { return result.has_value(); }, kReadMax)) return late(resource);
  return std::move(*result);
}

Result<std::string> ClusterObjects::schema(const kube::Resource& resource) {
  std::optional<Result<std::string>> result;
  const auto call = cluster_.schema(
      resource.group, resource.version, [&](std::string_view text) { result = std::string(text); },
      [&](const kube::Failure& failure) { result = Error{failure.code, failure.what}; });
  if (!wait_([&] { return result.has_value(); }, kReadMax)) return late(resource);
  return std::move(*result);
}

int64_t ClusterObjects::now() const { return cluster_.server_time().value_or(kube::system_wall_clock()); }

std::string ClusterObjects::version() {
  std::optional<std::string> result;
  const auto call = cluster_.server_info([&](const kube::ServerInfo& info) { result = info.git_version; },
                                         [&](const kube::Failure&) { result = ""; });
  wait_([&] { return result.has_value(); }, kReadMax);
  return result.value_or("");
}

}  // namespace sliced::kubectl
