#pragma once
// The table of attributes of host devices: those that selectors read, and those that are published under
// DeviceExposurePolicies.
//
// Names are those of docs/attributes.md, with the driver's domain or resource.kubernetes.io/. An unknown
// attribute is absent, never "". Volatile ones (operState, linkSpeed) are for selectors only, so that a
// flapping link causes no writes to the API server.
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

/// Returns the bit of a device type in a set of them.
constexpr uint8_t type_bit(hotplug::DeviceType type) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(type));
}

/// A host device with related devices.
struct DeviceFacts {
  const hotplug::HostDevice& device;
  const hotplug::HostDevice* pf = nullptr;      // PF of a VF; nullptr if it is not in the inventory
  const hotplug::HostDevice* master = nullptr;  // bridge or bond to which its interface is enslaved
  const hotplug::Inventory* inventory = nullptr;
};
/// Valid as long as the inventory and the device.
DeviceFacts facts_of(const hotplug::HostDevice& device, const hotplug::Inventory& inventory);

enum class AttributeType : uint8_t { kString, kInt, kBool };

struct KnownAttribute {
  std::string_view id;   // "ifName"
  bool is_standard;      // domain resource.kubernetes.io/; otherwise that of the driver
  AttributeType type;    // of every value that get() returns
  bool is_published;     // false: for selectors only
  uint8_t device_types;  // a type_bit() for each type with the attribute
  /// Requires a device of one of these types; see value_of().
  std::optional<kube::AttributeValue> (*get)(const DeviceFacts& facts);
  /// For attributes that the interface has, which may be in another namespace; nullptr: an absent value is
  /// known to be absent.
  bool (*is_unknown)(const DeviceFacts& facts) = nullptr;
  /// Names of the source files, as in HostDevice::unreadable, separated by spaces.
  std::string_view files = {};
  /// For the name of an interface: its alternative names, which selectors compare, too. nullptr: none.
  const std::vector<std::string>* (*other_names)(const DeviceFacts& facts) = nullptr;
  /// Published only if plugins, capacities and additional attributes of the policy leave room for all of
  /// these.
  bool yields = false;
};

/// nullopt if unknown, or if the device lacks it. Text is UTF-8 and not empty.
std::optional<kube::AttributeValue> value_of(const KnownAttribute& attribute, const DeviceFacts& facts);

/// Returns the alternative names of the named interface, without contested ones
/// (hotplug::Inventory::contested_names).
std::vector<std::string_view> other_names_of(const KnownAttribute& attribute, const DeviceFacts& facts);

/// Returns the read error that concerns the attribute; "" if there is none.
std::string_view unreadable_note(const KnownAttribute& attribute, const hotplug::HostDevice& device);

/// Returns true if the device may have the attribute with any value: its interface is in another namespace
/// (hotplug::is_netdev_elsewhere), or its file could not be read.
bool is_unknown(const KnownAttribute& attribute, const DeviceFacts& facts);

/// In order of importance: if an entry is full, the last ones are left out.
std::span<const KnownAttribute> known_attributes();
/// Returns nullptr if there is no such attribute. domain: as in the selector.
const KnownAttribute* find_known_attribute(std::string_view domain, std::string_view id,
                                           const std::string& driver);
/// Returns the value that a selector reads for an absent attribute: "", 0 or false; -1 for numaNode, vfIndex,
/// sfNumber and iommuGroup.
kube::AttributeValue zero_of(const KnownAttribute& attribute);
/// Returns the maximum number of published attributes of a device type, without yielding ones; this much room
/// of an entry is reserved for them.
size_t published_count_max(hotplug::DeviceType type);

/// The facts of a function's interface in a published entry.
struct PublishedFunction {
  std::string address;     // "0000:3b:00.0"; "" if the entry is not a function's
  std::string driver;      // driver that had the interface
  hotplug::Netdev netdev;  // name, mac, mtu, link_type, phys_port_name; without a name it had no interface
  std::string rdma_device;
  std::string pf_address, pf_name;  // of a VF's PF
};
PublishedFunction read_function(const kube::Attributes& attributes, const std::string& driver);

inline constexpr std::string_view kSupportedCnisId = "supportedCNIs";
/// Returns the identifier of the bool for a supported plugin: "cni_host_device".
std::string cni_attribute_id(std::string_view plugin);

/// Returns true for keys that the daemon publishes, keys for selectors only, and all of
/// resource.kubernetes.io/.
bool is_reserved_exposure_attribute(const std::string& full_key, const std::string& driver);

/// Remaining room of an entry, counted like the API server does.
struct Room {
  size_t entries = kube::kAttributesAndCapacitiesMax;
  size_t values = kube::kAttributeValuesMax;
  /// Returns false, and takes nothing, if there is not enough room.
  bool take(size_t entry_count, size_t value_count);
  void take_up_to(size_t entry_count);
};

/// The attributes that a policy adds to its entries of one device type; computed once.
struct PersonaAttributes {
  /// Additional attributes, as far as they fit; supportedCNIs as ",sriov,host-device,", for
  /// contains(",sriov,"), and one bool for each plugin. The bools need no list attributes and are never left
  /// out.
  kube::Attributes attributes;
  Room room;                           // remaining beside them and the capacities
  std::vector<std::string> notes;      // attributes that were left out, with reasons
  bool has_room_for_yielding = false;  // KnownAttribute::yields; equal for all devices of the type
  size_t added_count = 0;              // added attributes that have room: the first ones of the type
};

/// An attribute of another domain that is published beside the driver's own.
struct AddedAttribute {
  std::string_view key;  // "dra.net/ifName"
  uint8_t device_types;  // a type_bit() for each type that can have it
  /// Requires a device of one of these types. nullopt: unknown, or the device has no such attribute.
  std::optional<kube::AttributeValue> (*get)(const DeviceFacts& facts);
};

/// The attributes of entries under one driver name.
class EntryAttributes {
 public:
  /// lists_numa_nodes: the standard attribute numaNode is a list (policy/numa_node.h); selectors read the
  /// number.
  /// added: published in the room that plugins, capacities, the driver's own and additional attributes leave;
  /// the last ones are left out first. subsystemVendor and subsystemProduct yield to them. They replace no
  /// attribute of the policy or the driver. Must outlive this object.
  explicit EntryAttributes(const std::string& driver, bool lists_numa_nodes = false,
                           std::span<const AddedAttribute> added = {});
  /// An entry holds 32 attributes and capacities. Room is reserved for all attributes of the device type, so
  /// that the result does not depend on the facts that are known now. The last additional attributes by name
  /// are left out. takes_lists: the API server accepts list attributes.
  PersonaAttributes persona_of(const Exposure& exposure, hotplug::DeviceType type, bool takes_lists) const;
  /// If capacities and plugins alone are too many, the last of known_attributes() are left out, with a note
  /// each. Requires: persona is of the device's type.
  kube::Attributes of(const DeviceFacts& facts, const PersonaAttributes& persona,
                      std::vector<std::string>& notes) const;

 private:
  bool yields(const KnownAttribute& known) const;
  void add_to(const DeviceFacts& facts, const PersonaAttributes& persona, kube::Attributes& out) const;

  std::string driver_;
  bool lists_numa_nodes_;
  std::span<const AddedAttribute> added_;
  std::vector<SharedText> keys_;        // of known_attributes(), in their order
  std::vector<size_t> by_key_;          // the published ones, in order of their keys
  std::vector<SharedText> added_keys_;  // of added_, in their order
};

}  // namespace sliced::policy
