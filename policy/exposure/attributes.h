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
#include "kube/objects/resource_slice.h"
#include "policy/exposure/policy.h"

namespace sliced::policy {

/// A host device with those that its facts refer to.
struct DeviceFacts {
  const hotplug::HostDevice& device;
  const hotplug::HostDevice* pf = nullptr;      // of a VF; nullptr when it is not in the inventory
  const hotplug::HostDevice* master = nullptr;  // the bridge or bond that its interface is enslaved to
  const hotplug::Inventory* inventory = nullptr;
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
  /// Of a device of one of these types; see value_of().
  std::optional<kube::AttributeValue> (*get)(const DeviceFacts& facts);
  /// Of those that an interface tells, which may be elsewhere; nullptr: what is absent is known to be so.
  bool (*is_unknown)(const DeviceFacts& facts) = nullptr;
  /// Names of the files that tell it, as HostDevice::unreadable has them; a space between them.
  std::string_view files = {};
  /// Of the name of an interface: the alternative names of that interface, which selectors compare, too. nullptr: none.
  const std::vector<std::string>* (*other_names)(const DeviceFacts& facts) = nullptr;
  /// Published where plugins, capacities and additional attributes of the policy leave room for all of these.
  bool yields = false;
};

/// Absent when unknown or when the device has no such thing. Text is UTF-8 and not empty.
std::optional<kube::AttributeValue> value_of(const KnownAttribute& attribute, const DeviceFacts& facts);

/// Alternative names of the interface that the attribute names, without contested ones (hotplug::Inventory::contested_names).
std::vector<std::string_view> other_names_of(const KnownAttribute& attribute, const DeviceFacts& facts);

/// Which of what could not be read of the device tells the attribute; "" nothing.
std::string_view unreadable_note(const KnownAttribute& attribute, const hotplug::HostDevice& device);

/// Whether the device may have the attribute with any value: an interface that is not here would tell it
/// (hotplug::is_netdev_elsewhere), or the file that tells it has given an error or junk.
bool is_unknown(const KnownAttribute& attribute, const DeviceFacts& facts);

/// In the order of importance: where an entry is full, the last ones are left out.
std::span<const KnownAttribute> known_attributes();
/// nullptr when there is no such attribute. domain: as a selector writes it.
const KnownAttribute* find_known_attribute(std::string_view domain, std::string_view id,
                                           const std::string& driver);
/// What a selector reads where the device lacks the attribute: "", 0 or false; -1 for numaNode, vfIndex, sfNumber and iommuGroup.
kube::AttributeValue zero_of(const KnownAttribute& attribute);
/// How many attributes a device of the type can have published, without those that yield; this much of an entry is kept free for them.
size_t published_count_max(hotplug::DeviceType type);

/// What a published entry of a function tells of its interface.
struct PublishedFunction {
  std::string address;     // "0000:3b:00.0"; "" when it is no function's
  std::string driver;      // under which it had the interface
  hotplug::Netdev netdev;  // name, mac, mtu, link_type, phys_port_name; without a name it had none
  std::string rdma_device;
  std::string pf_address, pf_name;  // of a VF's PF
};
PublishedFunction read_function(const kube::Attributes& attributes, const std::string& driver);

inline constexpr std::string_view kSupportedCnisId = "supportedCNIs";
/// The identifier of the bool that says that a plugin is supported: "cni_host_device".
std::string cni_attribute_id(std::string_view plugin);

/// Keys that the daemon publishes itself, those that only selectors see, and all of resource.kubernetes.io/.
bool is_reserved_exposure_attribute(const std::string& full_key, const std::string& driver);

/// How many attributes the API server allows, counted as it counts them.
struct Room {
  size_t entries = kube::kAttributesAndCapacitiesMax;
  size_t values = kube::kAttributeValuesMax;
  /// False, and nothing is taken, where there is not so much.
  bool take(size_t entry_count, size_t value_count);
  void take_up_to(size_t entry_count);
};

/// What a policy adds to each of its entries of one device type; made once for all of them.
struct PersonaAttributes {
  /// Its additional ones that there is room for; supportedCNIs as ",sriov,host-device,", for
  /// contains(",sriov,"), and one bool for each plugin. The latter need no list attributes and are never left
  /// out.
  kube::Attributes attributes;
  Room room;                           // that is left beside them and the capacities
  std::vector<std::string> notes;      // what was left out and why
  bool has_room_for_yielding = false;  // KnownAttribute::yields; the same for all devices of the type
};

/// The attributes of device entries under one driver's name; made once and used for every entry.
class EntryAttributes {
 public:
  /// lists_numa_nodes: the standard attribute numaNode is a list (policy/numa_node.h); selectors read the number all the same.
  explicit EntryAttributes(const std::string& driver, bool lists_numa_nodes = false);
  /// An entry holds 32 attributes and capacities. Room is kept for everything that a device of the type can
  /// have, so what is added does not depend on what is known just now: of the additional attributes the last
  /// by name are left out. takes_lists: the API server takes list attributes.
  PersonaAttributes persona_of(const Exposure& exposure, hotplug::DeviceType type, bool takes_lists) const;
  /// Where capacities and plugins alone are too many, the last of known_attributes() are left out; each is a
  /// note. persona: of the device's type.
  kube::Attributes of(const DeviceFacts& facts, const PersonaAttributes& persona,
                      std::vector<std::string>& notes) const;

 private:
  std::string driver_;
  bool lists_numa_nodes_;
  std::vector<SharedText> keys_;  // of known_attributes(), in their order
  std::vector<size_t> by_key_;    // those that are published
};

}  // namespace sliced::policy
