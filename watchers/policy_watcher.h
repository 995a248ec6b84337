#pragma once
// Watches the objects of one policy kind in one namespace, decoded on arrival into the type of policy/.
// Memory is bounded for each object and for all objects of a kind.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "watchers/memory_budget.h"
#include "watchers/watched_source.h"

namespace sliced::watchers {

/// An object of a policy kind. Every decision that uses `policy` shares it, also on worker threads.
template <class Policy>
struct PolicyObject {
  /// nullptr: left out for lack of memory; only the footprint is known.
  std::shared_ptr<const Policy> policy;
  Footprint footprint;

  bool is_left_out() const { return policy == nullptr; }
};

template <class Policy>
struct MemoryAccounting<PolicyObject<Policy>> {
  static constexpr bool kIsAccounted = true;
  /// An object that cannot be decoded may be an exclude.
  static constexpr Footprint kUnreadable{.bytes = 2'048, .guards = true, .rank = 2};
  static Footprint of(const PolicyObject<Policy>& object) { return object.footprint; }
  static Result<PolicyObject<Policy>> left_out(const Footprint& footprint) {
    return PolicyObject<Policy>{nullptr, footprint};
  }
};

/// How the objects of one kind are decoded, and how much memory they may use.
template <class Policy>
struct PolicyDecoding {
  /// Never fails: problems are recorded in the policy. The JSON is destroyed when it returns.
  /// meta: the object's. The watcher sets the footprint's created_at.
  std::function<PolicyObject<Policy>(const kube::Json& object, const kube::ObjectMeta& meta)> decode;
  MemoryLimits memory;
};

template <class Policy>
using PolicyWatcher = WatchedSource<PolicyObject<Policy>>;

/// One object's text and how many values it may have. A larger one cannot be decoded. etcd accepts 1.5 MiB.
inline constexpr kube::JsonLimits kPolicyLimits{.size_max = 3u << 19, .depth_max = 64, .nodes_max = 150'000};
/// For all objects of a kind while they are listed: they are not kept as text.
inline constexpr size_t kPolicyListBytesMax = 512u << 20;

struct PolicyText {
  kube::Json json;
  kube::ObjectMeta meta;
};
/// Errors: kInvalid or kTooLarge; the text names the field.
Result<PolicyText> decode_policy_text(std::string_view object);

/// One source for each kind (kube/objects/kinds.h). namespace_ "" watches all namespaces.
/// Returns a watcher that is not started. decoding.decode runs on the loop thread, once for each object and
/// change; expressions are compiled later, on a worker (policy/).
template <class Policy>
std::unique_ptr<PolicyWatcher<Policy>> make_policy_watcher(
    kube::ClusterPorts ports, const kube::Resource& kind, std::string_view namespace_,
    PolicyDecoding<Policy> decoding, typename PolicyWatcher<Policy>::OnEvent on_event,
    typename PolicyWatcher<Policy>::OnSyncState on_sync_state = {},
    typename PolicyWatcher<Policy>::KeepMissing keep_missing = {}) {
  const MemoryLimits memory = decoding.memory;
  auto decode = [how = std::move(decoding.decode)](std::string_view object) -> Result<PolicyObject<Policy>> {
    Result<PolicyText> text = decode_policy_text(object);
    if (!text.ok()) return std::move(text.error());
    PolicyObject<Policy> made = how(text->json, text->meta);
    made.footprint.created_at = text->meta.created_at;
    return made;
  };
  return std::make_unique<PolicyWatcher<Policy>>(
      std::move(ports), kube::Scope{kind, std::string(namespace_), "", false}, std::move(decode),
      std::move(on_event), std::move(on_sync_state), std::move(keep_missing),
      ListWatchLimits{.list_bytes_max = kPolicyListBytesMax}, memory);
}

}  // namespace sliced::watchers
