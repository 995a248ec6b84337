#pragma once
// What selectors see of a host device, and what is published of it under DeviceExposurePolicies: one table.
//
// Names are those of docs/attributes.md, below the driver's name; the standard ones below
// resource.kubernetes.io/. Unknown is absent, never "". What changes by itself (operState, linkSpeed) is for
// selectors only, so that a link that flaps writes nothing to the API server.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/resource_slice.h"

namespace sliced::policy {

/// A host device with those that its facts refer to.
struct DeviceFacts {
  const hotplug::HostDevice& device;
  const hotplug::HostDevice* pf = nullptr;      // of a VF; nullptr when it is not in the inventory
  const hotplug::HostDevice* master = nullptr;  // the bridge or bond that its interface is enslaved to
};
/// Valid as long as the inventory and the device.
DeviceFacts facts_of(const hotplug::HostDevice& device, const hotplug::Inventory& inventory);

enum class AttributeType : uint8_t { kString, kInt, kBool };

struct KnownAttribute {
  std::string_view id;   // "ifName"
  bool is_standard;      // below resource.kubernetes.io/, else below the driver's name
  AttributeType type;    // of every value that get() returns
  bool is_published;     // false: for selectors only
  uint8_t device_types;  // a bit (1 << DeviceType) for each type that can have it
  /// Absent when unknown or when the device has no such thing. Text is UTF-8 and not empty.
  std::optional<kube::AttributeValue> (*get)(const DeviceFacts& facts);
};

/// In the order of importance: where an entry is full, the last ones are left out.
std::span<const KnownAttribute> known_attributes();
/// nullptr when there is no such attribute. domain: as a selector writes it.
const KnownAttribute* find_known_attribute(std::string_view domain, std::string_view id,
                                           const std::string& driver);
/// What a selector reads where the device lacks the attribute: "", 0 or false; -1 for numaNode and vfIndex.
kube::AttributeValue zero_of(const KnownAttribute& attribute);
/// How many attributes a device of the type can have published; this much of an entry is kept free for them.
size_t published_count_max(hotplug::DeviceType type);

inline constexpr std::string_view kSupportedCnisId = "supportedCNIs";
/// The identifier of the bool that says that a plugin is supported: "cni_host_device".
std::string cni_attribute_id(std::string_view plugin);

/// Keys that the daemon publishes itself, those that only selectors see, and all of resource.kubernetes.io/.
bool is_reserved_exposure_attribute(const std::string& full_key, const std::string& driver);

}  // namespace sliced::policy
