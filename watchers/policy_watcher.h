#pragma once
// Policies and what goes with them, in one namespace: the language of a policy is policy/'s to understand,
// and is understood as the objects come. What is kept is bounded, for each object and for all of a kind.
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "watchers/memory_budget.h"
#include "watchers/watched_source.h"

namespace sliced::watchers {

/// An object of a policy kind, as its language understands it.
/// policy is held by every decision that uses it, on workers too: it is not changed once it is made.
struct PolicyObject {
  /// What the kind's decoder has made of the object. nullptr: there is no room for it, and nothing is known
  /// of it but its footprint.
  std::shared_ptr<const void> policy;
  Footprint footprint;

  bool is_left_out() const { return policy == nullptr; }
};

template <>
struct MemoryAccounting<PolicyObject> {
  static constexpr bool kIsAccounted = true;
  /// It may be anything.
  static constexpr Footprint kUnreadable{.bytes = 2'048, .guards = true, .rank = 2};
  static Footprint of(const PolicyObject& object) { return object.footprint; }
  static Result<PolicyObject> left_out(const Footprint& footprint) {
    return PolicyObject{nullptr, footprint};
  }
};

/// How the objects of one kind are understood.
struct PolicyKind {
  /// Never fails: what is wrong is in the policy. The object's text and its JSON go when it returns.
  /// meta: the object's. The footprint's created_at is set by the watcher.
  std::function<PolicyObject(const kube::Json& object, const kube::ObjectMeta& meta)> decode;
  MemoryLimits memory;
};

using PolicyWatcher = WatchedSource<PolicyObject>;

/// One object's text and how many values it may have. A larger one cannot be understood. etcd takes 1.5 MiB.
inline constexpr kube::JsonLimits kPolicyLimits{.size_max = 3u << 19, .depth_max = 64, .nodes_max = 150'000};
/// Of all objects of a kind while they are listed: they are not kept as text.
inline constexpr size_t kPolicyListBytesMax = 512u << 20;

/// One source per kind (kube/objects/kinds.h). namespace_ "" watches all namespaces.
/// Does not start. how.decode runs on the loop, once an object and change; compiling what it holds is a
/// worker's (policy/).
std::unique_ptr<PolicyWatcher> make_policy_watcher(kube::Ports ports, const kube::Resource& kind,
                                                   std::string_view namespace_, PolicyKind how,
                                                   PolicyWatcher::OnEvent on_event,
                                                   PolicyWatcher::OnStanding on_standing = {},
                                                   PolicyWatcher::KeepMissing keep_missing = {});

}  // namespace sliced::watchers
