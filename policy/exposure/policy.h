#pragma once
// DeviceExposurePolicy (networking.dra.io/v1alpha1) as a value: the host devices to offer, and how.
//
// An invalid policy offers nothing: an unknown or invalid field below spec is a problem of the whole policy.
// An invalid exclude may still select devices, so its possible meaning is kept.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "policy/allowed_routes.h"
#include "policy/problem.h"
#include "policy/readiness/readiness.h"
#include "policy/vf_settings.h"

namespace sliced::policy {

/// Default driver name of these policies, and domain of their attributes.
inline constexpr std::string_view kExposureDriver = "dra.networking";

/// kUnknown: the field is invalid; the policy may be either.
enum class ExposureAction : uint8_t { kExpose, kExclude, kUnknown };
std::string_view name_of(ExposureAction action);  // "expose", "exclude", "unknown"

/// A CEL expression over a host device (selector.h). Compiled on demand (programs.h): by decisions of
/// selected nodes, and by `validate`.
struct DeviceSelector {
  std::string cel;
  int line = 0;  // of the YAML text, start of the value; 0 if unknown
  bool operator==(const DeviceSelector&) const = default;
};

/// A CNI plugin: the type that a NetworkAttachmentDefinition must have for the persona, and the capacity that
/// one allocation takes.
struct CniPlugin {
  std::string name;
  std::map<std::string, kube::Quantity> consume_per_allocation;  // by full key of a capacity
  bool operator==(const CniPlugin&) const = default;
};

/// A persona: one way to offer a device. All values as published.
struct Exposure {
  std::string name_suffix;      // "-macvlan"; "" if none
  std::string exclusion_group;  // "" if none
  /// Shared or exclusive; the plugins agree with it.
  bool allow_multiple_allocations = false;
  /// By full key. A shared persona has at least one, each with a default in its request policy; an exclusive
  /// one has no request policies.
  std::map<std::string, kube::Capacity> capacity;
  std::vector<CniPlugin> plugins;          // in the order of the object, unique names
  bool lists_plugins = false;              // the object has supportedCNIPlugins; an empty list: no plugin
  kube::Attributes additional_attributes;  // by full key; without keys that the daemon publishes
  bool operator==(const Exposure&) const = default;
};

/// Returns true for an exclusive persona with a plugin that moves the interface into the pod: host-device,
/// sriov or ib-sriov.
bool is_moved(const Exposure& exposure);

/// Shared between sets (PolicySet): a worker may read it while the next set is built.
struct ExposurePolicy {
  struct Id {
    std::string name;  // cluster-scoped
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  std::string uid;
  int64_t generation = 0;
  std::string manager;     // last writer (kube::last_manager); "" if unknown
  int64_t priority = 100;  // 0 to 1000, higher first
  ExposureAction action = ExposureAction::kUnknown;
  /// Decoded separately: valid in spite of other problems. If it is invalid itself it selects every node,
  /// because an exclude may apply to any.
  kube::NodeSelector node_selector;
  DeviceSelector selector;
  Exposure exposure;  // of kExpose
  HostUseAllowance host_use;
  bool include_virtual = false;
  std::optional<VfSettings> allow;  // of kExpose; nullopt: --vf-settings decides
  Readiness readiness;              // of kExpose
  Problems problems;                // not empty: the policy offers nothing
  /// Of a possible exclude: its last valid version, which remains in effect while this one is invalid.
  std::shared_ptr<const ExposurePolicy> last_understood;
  bool operator==(const ExposurePolicy&) const = default;
};
std::string text_of(const ExposurePolicy::Id& id);  // "name"

/// Sets last_understood of an exclude. was_understood: as far as known; a selector that no decision compiled
/// is compiled when the version is needed.
/// Remembers one version; of an invalid `before`, the version that it remembered. Lost at a restart.
void keep_last_exclude(ExposurePolicy& now, const ExposurePolicy& before, bool was_understood);

/// Returns a policy for an existing but unreadable object: it offers nothing, with the reason. Its action is
/// kUnknown: it may be an exclude for any node, and withholds new entries.
ExposurePolicy unreadable_exposure_policy(std::string name, std::string why);

}  // namespace sliced::policy
