#pragma once
// DeviceExposurePolicy (networking.dra.io/v1alpha1) as a value: which host devices are offered as what.
//
// What cannot be understood offers nothing: an unknown or wrong field anywhere below spec is a problem of the
// whole policy. An exclude that cannot be understood is another matter, so what it may mean is kept.
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

/// The driver that these policies publish as, unless configured otherwise; also the domain of attributes.
inline constexpr std::string_view kExposureDriver = "dra.networking";

/// kUnknown: it cannot be read, and may be either.
enum class ExposureAction : uint8_t { kExpose, kExclude, kUnknown };
std::string_view name_of(ExposureAction action);  // "expose", "exclude", "unknown"

/// An expression over a host device (selector.h). It is compiled where it is needed (programs.h): by
/// decisions of nodes that the policy selects, and by `validate`.
struct DeviceSelector {
  std::string cel;
  int line = 0;  // of the YAML text, where the value begins; 0 unknown
  bool operator==(const DeviceSelector&) const = default;
};

/// A name that a NetworkAttachmentDefinition must have as its type for the persona, and what one allocation
/// of it takes.
struct CniPlugin {
  std::string name;
  std::map<std::string, kube::Quantity> consume_per_allocation;  // by full key of a capacity
  bool operator==(const CniPlugin&) const = default;
};

/// A persona: how a device is offered. Everything is as it will be published.
struct Exposure {
  std::string name_suffix;      // "-macvlan"; "" none
  std::string exclusion_group;  // "" none
  /// Shared or exclusive; the plugins agree with it.
  bool allow_multiple_allocations = false;
  /// By full key. A shared persona has at least one, each with a default of its request policy; an exclusive
  /// one has no request policies.
  std::map<std::string, kube::Capacity> capacity;
  std::vector<CniPlugin> plugins;          // in the order of the object, no name twice
  kube::Attributes additional_attributes;  // by full key; none that the daemon publishes itself
  bool operator==(const Exposure&) const = default;
};

/// Exclusive, for a plugin that moves the device's interface into the pod: host-device, sriov or ib-sriov.
bool is_moved(const Exposure& exposure);

/// Shared between sets (PolicySet): a decision on a worker reads it while the next one is decoded.
struct ExposurePolicy {
  struct Id {
    std::string name;  // cluster-scoped
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  std::string uid;
  int64_t generation = 0;
  std::string manager;     // who wrote it last (kube::last_manager); "" unknown
  int64_t priority = 100;  // 0 to 1000, higher first
  ExposureAction action = ExposureAction::kUnknown;
  /// The nodes. Understood on its own: with problems elsewhere it still holds; with problems of its own it is
  /// everything, because an exclude may then mean any node.
  kube::NodeSelector node_selector;
  DeviceSelector selector;
  Exposure exposure;  // of kExpose
  HostUseAllowance host_use;
  bool include_virtual = false;
  std::optional<VfSettings> allow;  // of kExpose; nullopt: --vf-settings decides
  Readiness readiness;              // of kExpose
  Problems problems;                // not empty: offers nothing
  /// Of what may be an exclude: what it said before, when that was understood. It goes on if this cannot be.
  std::shared_ptr<const ExposurePolicy> last_understood;
  bool operator==(const ExposurePolicy&) const = default;
};
std::string text_of(const ExposurePolicy::Id& id);  // "name"

/// Keeps in last_understood what an exclude said before. was_understood: as far as is known; a selector that no
/// decision has asked is compiled when what was understood last goes on.
/// The memory of one step: of what `before` remembered only what it could not be understood itself. Not over
/// a restart.
void remember_exclude(ExposurePolicy& now, const ExposurePolicy& before, bool was_understood);

/// A policy that is known to exist but not readable at all (a broken object): offers nothing, and says why.
/// kUnknown: it may be an exclude of any node, and so holds back what is new.
ExposurePolicy unreadable_exposure_policy(std::string name, std::string why);

}  // namespace sliced::policy
