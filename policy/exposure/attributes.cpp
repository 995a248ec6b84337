#include "policy/exposure/attributes.h"

#include <algorithm>
#include <array>

#include "policy/attribute_value.h"
#include "policy/given_attribute.h"
#include "policy/link_type.h"
#include "policy/numa_node.h"
#include "policy/pkeys.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;
using hotplug::Netdev;
using kube::AttributeValue;
using Value = std::optional<AttributeValue>;

constexpr std::string_view kCniPrefix = "cni_";

constexpr uint8_t kVfs = type_bit(DeviceType::kVf), kPfs = type_bit(DeviceType::kPf);
constexpr uint8_t kSfs = type_bit(DeviceType::kSf), kVfsAndSfs = kVfs | kSfs;
constexpr uint8_t kFunctions = kPfs | kVfs | type_bit(DeviceType::kNic);
constexpr uint8_t kBridges = type_bit(DeviceType::kBridge) | type_bit(DeviceType::kVirtual);  // OVS: virtual
constexpr uint8_t kVlans = type_bit(DeviceType::kVlan), kVirtuals = type_bit(DeviceType::kVirtual);
constexpr uint8_t kAll = kFunctions | kBridges | kVlans | type_bit(DeviceType::kBond) | kSfs;

Value text(std::string_view value) {
  if (value.empty() || !is_utf8(value)) return std::nullopt;
  return AttributeValue(std::string(value));
}
Value number(std::optional<int64_t> value) { return value ? Value(AttributeValue(*value)) : std::nullopt; }
Value flag(std::optional<bool> value) { return value ? Value(AttributeValue(*value)) : std::nullopt; }

Value of_netdev(const DeviceFacts& f, std::string Netdev::* member) {
  return f.device.netdev ? text((*f.device.netdev).*member) : std::nullopt;
}
// The standard attributes exist for four-digit domains only (upstream's pattern for pciBusID).
bool has_standard_address(const HostDevice& device) { return device.pci && device.pci->domain <= 0xffff; }

Value numa_node(const DeviceFacts& f) { return numa_node_attribute(f.device, /*as_list=*/false); }
Value pci_address(const DeviceFacts& f) { return f.device.pci ? text(f.device.pci->text()) : std::nullopt; }

Value mac(const DeviceFacts& f) {
  if (f.device.netdev && !f.device.netdev->mac.empty()) return text(f.device.netdev->mac);
  const bool is_set = f.device.admin_mac.find_first_not_of("0:") != std::string::npos;
  return is_set ? text(f.device.admin_mac) : std::nullopt;
}
Value link_type(const DeviceFacts& f) {
  const auto own = f.device.netdev ? f.device.netdev->link_type : std::nullopt;
  return text(text_of_link_type(own ? own : f.device.pf_link_type));
}
Value eswitch_mode(const DeviceFacts& f) {
  const bool is_pf = f.device.type == DeviceType::kPf;
  return text(is_pf ? f.device.eswitch_mode : f.pf != nullptr ? f.pf->eswitch_mode : "");
}
// A master that is not known to be a bond counts as a bridge, so that masterBridge == "" and bondMaster == ""
// together mean that the device is free.
Value master(const DeviceFacts& f, bool wants_bond) {
  const bool is_bond = f.master != nullptr && f.master->type == DeviceType::kBond;
  return is_bond == wants_bond ? of_netdev(f, &Netdev::master) : std::nullopt;
}

// Facts of an interface in another namespace. Facts that were remembered when it left are known; master and
// link state are not.
bool is_elsewhere(const DeviceFacts& f) { return hotplug::is_netdev_elsewhere(f.device); }
bool has_unknown_name(const DeviceFacts& f) { return is_elsewhere(f) && !of_netdev(f, &Netdev::name); }
bool has_unknown_mac(const DeviceFacts& f) {  // the MAC that the PF enforces may differ from its own
  return is_elsewhere(f) && !of_netdev(f, &Netdev::mac);
}
bool has_unknown_mtu(const DeviceFacts& f) {
  return is_elsewhere(f) && !(f.device.netdev && f.device.netdev->mtu);
}
bool has_unknown_speed(const DeviceFacts& f) {
  return is_elsewhere(f) && !(f.device.netdev && f.device.netdev->speed_mbps);
}
// Lasting facts of an interface that left while the daemon watched are known, including absent ones.
bool is_elsewhere_unseen(const DeviceFacts& f) {
  return is_elsewhere(f) && (!f.device.netdev || f.device.netdev->is_partial);
}
bool has_unknown_port_name(const DeviceFacts& f) {
  return is_elsewhere_unseen(f) && !of_netdev(f, &Netdev::phys_port_name);
}
bool has_unreadable(const HostDevice* pf, std::string_view files) {
  return pf != nullptr && !hotplug::find_unreadable(pf->unreadable, files).empty();
}

bool is_pf_elsewhere(const DeviceFacts& f) { return f.pf != nullptr && hotplug::is_netdev_elsewhere(*f.pf); }
bool has_unknown_link_type(const DeviceFacts& f) {
  if (f.device.netdev && f.device.netdev->link_type) return false;
  return is_elsewhere(f) || (!f.device.pf_link_type && (is_pf_elsewhere(f) || has_unreadable(f.pf, "type")));
}
bool has_unknown_pf_name(const DeviceFacts& f) { return f.device.pf_name.empty() && is_pf_elsewhere(f); }
bool has_unknown_eswitch_mode(const DeviceFacts& f) {  // derived from its uplink and representors
  const HostDevice* pf = f.device.type == DeviceType::kPf ? &f.device : f.pf;
  return pf != nullptr && pf->eswitch_mode != "switchdev" &&
         (hotplug::is_netdev_elsewhere(*pf) || has_unreadable(pf, "phys_switch_id phys_port_name"));
}
// In exclusive mode an RDMA device moves with its interface (rdma-system(8)).
bool has_unknown_rdma(const DeviceFacts& f) { return is_elsewhere_unseen(f) && f.device.rdma_device.empty(); }
bool has_unknown_rdma_name(const DeviceFacts& f) {
  return has_unknown_rdma(f) || f.device.rdma_device == hotplug::kUnknownRdmaDevice;
}

bool has_unknown_vdpa(const DeviceFacts& f) { return f.device.vdpa.driver == hotplug::kUnknownVdpa; }
Value vdpa(const DeviceFacts& f) { return has_unknown_vdpa(f) ? std::nullopt : text(f.device.vdpa.driver); }

bool has_unknown_pkeys(const DeviceFacts& f) { return has_unknown_rdma(f) && f.device.pkeys.empty(); }

using Names = const std::vector<std::string>*;
Names other_names_of_netdev(const HostDevice* device) {
  return device != nullptr && device->netdev ? &device->netdev->alternative_names : nullptr;
}
Names own_names(const DeviceFacts& f) { return other_names_of_netdev(&f.device); }
Names pf_names(const DeviceFacts& f) { return &f.device.pf_alternative_names; }
Names master_names(const DeviceFacts& f) { return other_names_of_netdev(f.master); }
// The parent of a VLAN is a link, found by name, or a function's interface.
Names parent_names(const DeviceFacts& f) {
  if (f.inventory == nullptr) return nullptr;
  if (const HostDevice* link = f.inventory->find(f.device.parent_name)) return other_names_of_netdev(link);
  for (const auto& [id, device] : f.inventory->devices)
    if (device.netdev && device.netdev->name == f.device.parent_name) return other_names_of_netdev(&device);
  return nullptr;
}
Names representor_names(const DeviceFacts& f) {
  return f.inventory == nullptr ? nullptr : other_names_of_netdev(f.inventory->find(f.device.representor));
}

constexpr bool kStandard = true, kOwn = false;
constexpr bool kPublished = true, kForSelectors = false, kYields = true;
constexpr auto kString = AttributeType::kString;
constexpr auto kInt = AttributeType::kInt;
constexpr auto kBool = AttributeType::kBool;
using Facts = const DeviceFacts&;

constexpr KnownAttribute kKnown[] = {
    {"pciBusID", kStandard, kString, kPublished, kFunctions,
     [](Facts f) { return has_standard_address(f.device) ? pci_address(f) : std::nullopt; }},
    {"pcieRoot", kStandard, kString, kPublished, kFunctions,
     [](Facts f) { return has_standard_address(f.device) ? text(f.device.pcie_root) : std::nullopt; }},
    {"numaNode", kStandard, kInt, kPublished, kFunctions | kSfs, numa_node, nullptr, "numa_node"},
    {"type", kOwn, kString, kPublished, kAll, [](Facts f) { return text(name_of(f.device.type)); }, nullptr,
     "uevent physfn sriov_totalvfs class"},
    {"ifName", kOwn, kString, kPublished, kAll, [](Facts f) { return of_netdev(f, &Netdev::name); },
     has_unknown_name, "", own_names},
    {"pciAddress", kOwn, kString, kPublished, kFunctions, pci_address},
    {"driver", kOwn, kString, kPublished, kFunctions, [](Facts f) { return text(f.device.driver); }, nullptr,
     "driver"},
    {"vendor", kOwn, kString, kPublished, kFunctions | kSfs, [](Facts f) { return text(f.device.vendor); },
     nullptr, "vendor"},
    {"product", kOwn, kString, kPublished, kFunctions | kSfs, [](Facts f) { return text(f.device.product); },
     nullptr, "device"},
    {"numaNode", kOwn, kInt, kPublished, kFunctions | kSfs, numa_node, nullptr, "numa_node"},
    {"pfName", kOwn, kString, kPublished, kVfsAndSfs, [](Facts f) { return text(f.device.pf_name); },
     has_unknown_pf_name, "physfn", pf_names},
    {"pfPciAddress", kOwn, kString, kPublished, kVfsAndSfs,
     [](Facts f) { return f.device.pf ? text(f.device.pf->text()) : std::nullopt; }, nullptr, "physfn"},
    {"vfIndex", kOwn, kInt, kPublished, kVfs, [](Facts f) { return number(f.device.vf_index); }, nullptr,
     "physfn"},
    {"sfNumber", kOwn, kInt, kPublished, kSfs, [](Facts f) { return number(f.device.sf_number); }, nullptr,
     "sfnum"},
    {"numVFs", kOwn, kInt, kPublished, kPfs, [](Facts f) { return number(f.device.num_vfs); }, nullptr,
     "sriov_totalvfs sriov_numvfs"},
    {"totalVFs", kOwn, kInt, kPublished, kPfs, [](Facts f) { return number(f.device.total_vfs); }, nullptr,
     "sriov_totalvfs"},
    {"sriovCapable", kOwn, kBool, kPublished, kFunctions,
     [](Facts f) { return flag(f.device.type == DeviceType::kPf); }, nullptr, "physfn sriov_totalvfs"},
    {"rdma", kOwn, kBool, kPublished, kAll, [](Facts f) { return flag(!f.device.rdma_device.empty()); },
     has_unknown_rdma},
    {"linkType", kOwn, kString, kPublished, kAll, link_type, has_unknown_link_type, "type"},
    {"mac", kOwn, kString, kPublished, kAll, mac, has_unknown_mac, "address"},
    {"mtu", kOwn, kInt, kPublished, kAll,
     [](Facts f) { return f.device.netdev ? number(f.device.netdev->mtu) : std::nullopt; }, has_unknown_mtu,
     "mtu"},
    {"masterBridge", kOwn, kString, kPublished, kAll, [](Facts f) { return master(f, false); }, is_elsewhere,
     "master", master_names},
    {"bondMaster", kOwn, kString, kPublished, kAll, [](Facts f) { return master(f, true); }, is_elsewhere,
     "master", master_names},
    {"bridgeName", kOwn, kString, kPublished, kBridges,
     [](Facts f) { return f.device.bridge_type.empty() ? std::nullopt : of_netdev(f, &Netdev::name); },
     nullptr, "uevent", own_names},
    {"bridgeType", kOwn, kString, kPublished, kBridges, [](Facts f) { return text(f.device.bridge_type); },
     nullptr, "uevent"},
    {"vlanFiltering", kOwn, kBool, kPublished, kBridges,
     [](Facts f) { return flag(f.device.vlan_filtering); }, nullptr, "vlan_filtering"},
    {"vlanId", kOwn, kInt, kPublished, kVlans, [](Facts f) { return number(f.device.vlan_id); }, nullptr,
     "uevent"},
    {"parentIfName", kOwn, kString, kPublished, kVlans, [](Facts f) { return text(f.device.parent_name); },
     nullptr, "uevent", parent_names},
    {"representorOf", kOwn, kString, kPublished, kVirtuals,
     [](Facts f) { return text(f.device.representor_of); }, nullptr, "phys_switch_id phys_port_name"},
    {"eswitchMode", kOwn, kString, kPublished, kPfs | kVfsAndSfs, eswitch_mode, has_unknown_eswitch_mode,
     "phys_switch_id phys_port_name"},
    {"representor", kOwn, kString, kPublished, kVfsAndSfs, [](Facts f) { return text(f.device.representor); },
     has_unknown_eswitch_mode, "phys_switch_id phys_port_name", representor_names, kYields},
    {"rdmaDevice", kOwn, kString, kPublished, kAll, [](Facts f) { return text(f.device.rdma_device); },
     has_unknown_rdma_name},
    {"pKeys", kOwn, kString, kPublished, kFunctions, [](Facts f) { return text(pkeys_text(f.device)); },
     has_unknown_pkeys, "pkeys", nullptr, kYields},
    {"vdpa", kOwn, kString, kPublished, kFunctions | kSfs, [](Facts f) { return vdpa(f); }, has_unknown_vdpa,
     "", nullptr, kYields},
    {"physPortName", kOwn, kString, kPublished, kFunctions | kVirtuals,
     [](Facts f) { return of_netdev(f, &Netdev::phys_port_name); }, has_unknown_port_name, "phys_port_name"},
    {"subsystemVendor", kOwn, kString, kPublished, kFunctions,
     [](Facts f) { return text(f.device.subsystem_vendor); }, nullptr, "subsystem_vendor"},
    {"subsystemProduct", kOwn, kString, kPublished, kFunctions,
     [](Facts f) { return text(f.device.subsystem_product); }, nullptr, "subsystem_device"},
    {"iommuGroup", kOwn, kInt, kPublished, kFunctions, [](Facts f) { return number(f.device.iommu_group); },
     nullptr, "iommu_group", nullptr, kYields},
    {"iommuGroupShared", kOwn, kBool, kPublished, kFunctions,
     [](Facts f) { return f.device.iommu_group ? flag(!f.device.iommu_partners.empty()) : std::nullopt; },
     nullptr, "iommu_group", nullptr, kYields},
    {"operState", kOwn, kString, kForSelectors, kAll,
     [](Facts f) { return of_netdev(f, &Netdev::oper_state); }, is_elsewhere, "operstate"},
    {"linkSpeed", kOwn, kInt, kForSelectors, kAll,  // absent while the link is down
     [](Facts f) { return f.device.netdev ? number(f.device.netdev->speed_mbps) : std::nullopt; },
     has_unknown_speed, "speed"},
};

bool can_have(DeviceType type, const KnownAttribute& known) {
  return (known.device_types & type_bit(type)) != 0;
}

}  // namespace

bool Room::take(size_t entry_count, size_t value_count) {
  if (entry_count > entries || value_count > values) return false;
  entries -= entry_count;
  values -= value_count;
  return true;
}

void Room::take_up_to(size_t entry_count) {
  entries -= std::min(entries, entry_count);
  values -= std::min(values, entry_count);
}

DeviceFacts facts_of(const HostDevice& device, const hotplug::Inventory& inventory) {
  DeviceFacts facts{.device = device, .inventory = &inventory};
  if (device.pf) facts.pf = inventory.find(device.pf->text());
  if (device.netdev && !device.netdev->master.empty()) facts.master = inventory.find(device.netdev->master);
  return facts;
}

Value value_of(const KnownAttribute& attribute, const DeviceFacts& facts) {
  return can_have(facts.device.type, attribute) ? attribute.get(facts) : std::nullopt;
}

std::vector<std::string_view> other_names_of(const KnownAttribute& attribute, const DeviceFacts& facts) {
  std::vector<std::string_view> out;
  if (attribute.other_names == nullptr || !value_of(attribute, facts)) return out;
  const auto* names = attribute.other_names(facts);
  if (names == nullptr) return out;
  for (const std::string& name : *names)
    if (facts.inventory == nullptr || !facts.inventory->contested_names.contains(name)) out.push_back(name);
  return out;
}

std::string_view unreadable_note(const KnownAttribute& attribute, const HostDevice& device) {
  return hotplug::find_unreadable(device.unreadable, attribute.files);
}

bool is_unknown(const KnownAttribute& attribute, const DeviceFacts& facts) {
  // Checked first, because the device type may be the unreadable fact.
  if (!unreadable_note(attribute, facts.device).empty()) return true;
  return can_have(facts.device.type, attribute) && attribute.is_unknown != nullptr &&
         attribute.is_unknown(facts);
}

std::span<const KnownAttribute> known_attributes() { return kKnown; }

const KnownAttribute* find_known_attribute(std::string_view domain, std::string_view id,
                                           const std::string& driver) {
  if (domain != kStandardDomain && domain != driver) return nullptr;
  for (const KnownAttribute& known : kKnown)
    if (known.id == id && known.is_standard == (domain == kStandardDomain)) return &known;
  return nullptr;
}

AttributeValue zero_of(const KnownAttribute& attribute) {
  switch (attribute.type) {
    case AttributeType::kString:
      return std::string();
    case AttributeType::kInt:
      return int64_t{attribute.id == "numaNode" || attribute.id == "vfIndex" || attribute.id == "sfNumber" ||
                             attribute.id == "iommuGroup"
                         ? -1
                         : 0};
    case AttributeType::kBool:
      return false;
  }
  return false;
}

size_t published_count_max(DeviceType type) {
  return static_cast<size_t>(std::count_if(std::begin(kKnown), std::end(kKnown), [&](const auto& known) {
    return known.is_published && !known.yields && can_have(type, known);
  }));
}

PublishedFunction read_function(const kube::Attributes& attributes, const std::string& driver) {
  PublishedFunction out;
  const auto text = [&](const char* id) {
    const auto* found = attribute_as<std::string>(attributes, driver + "/" + id);
    return found == nullptr ? std::string() : *found;
  };
  out.address = text("pciAddress");
  out.driver = text("driver");
  out.netdev.name = text("ifName");
  out.netdev.mac = text("mac");
  if (const auto* mtu = attribute_as<int64_t>(attributes, driver + "/mtu"))
    out.netdev.mtu = static_cast<int>(*mtu);
  out.netdev.link_type = link_type_of_text(text("linkType"));
  out.netdev.phys_port_name = text("physPortName");
  out.rdma_device = text("rdmaDevice");
  out.pf_address = text("pfPciAddress");
  out.pf_name = text("pfName");
  return out;
}

std::string cni_attribute_id(std::string_view plugin) {
  std::string id(kCniPrefix);
  id += plugin;
  std::replace_if(id.begin(), id.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return id;
}

bool is_reserved_exposure_attribute(const std::string& full_key, const std::string& driver) {
  const size_t slash = full_key.find('/');
  const std::string_view domain = std::string_view(full_key).substr(0, slash);
  if (domain == kStandardDomain) return true;
  if (domain != driver || slash == std::string::npos) return false;
  const std::string_view id = std::string_view(full_key).substr(slash + 1);
  return id == kSupportedCnisId || id.starts_with(kCniPrefix) ||
         find_known_attribute(domain, id, driver) != nullptr;
}

EntryAttributes::EntryAttributes(const std::string& driver, bool lists_numa_nodes,
                                 std::span<const AddedAttribute> added)
    : driver_(driver), lists_numa_nodes_(lists_numa_nodes), added_(added) {
  for (const KnownAttribute& known : kKnown) {
    keys_.push_back((known.is_standard ? std::string(kStandardDomain) : driver) + "/" +
                    std::string(known.id));
    if (known.is_published) by_key_.push_back(keys_.size() - 1);
  }
  std::sort(by_key_.begin(), by_key_.end(), [&](size_t a, size_t b) { return keys_[a] < keys_[b]; });
  for (const AddedAttribute& one : added_) added_keys_.emplace_back(std::string(one.key));
}

bool EntryAttributes::yields(const KnownAttribute& known) const {
  return known.yields || (!added_.empty() && known.id.starts_with("subsystem"));
}

void EntryAttributes::add_to(const DeviceFacts& facts, const PersonaAttributes& persona,
                             kube::Attributes& out) const {
  size_t left = persona.added_count;
  for (size_t i = 0; i < added_.size() && left > 0; ++i) {
    const AddedAttribute& one = added_[i];
    if ((one.device_types & type_bit(facts.device.type)) == 0) continue;
    --left;
    auto value = one.get(facts);
    const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
    if (!value || (text != nullptr && text->size() > kube::kAttributeValueBytesMax)) continue;
    out.emplace(added_keys_[i], *std::move(value));
  }
}

PersonaAttributes EntryAttributes::persona_of(const Exposure& exposure, DeviceType type,
                                              bool takes_lists) const {
  PersonaAttributes out;
  std::string joined;
  for (const CniPlugin& plugin : exposure.plugins) {
    joined += "," + plugin.name;
    out.attributes[driver_ + "/" + cni_attribute_id(plugin.name)] = true;
  }
  if (!joined.empty()) out.attributes[driver_ + "/" + std::string(kSupportedCnisId)] = joined + ",";
  out.room.take(exposure.capacity.size(), 0);  // capacities count like attributes
  out.room.take(out.attributes.size(), out.attributes.size());
  Room left = out.room;  // room beside all attributes of the device type
  auto own = static_cast<size_t>(std::count_if(std::begin(kKnown), std::end(kKnown), [&](const auto& known) {
    return known.is_published && !yields(known) && can_have(type, known);
  }));
  if (!added_.empty()) --own;  // a device has masterBridge or bondMaster, not both
  left.take_up_to(own);
  if (lists_numa_nodes_) left.values -= std::min(left.values, kNumaNodesMax - 1);
  for (const auto& [key, value] : exposure.additional_attributes) {
    const size_t values = kube::value_count(value);
    if (!takes_lists && kube::is_list(value))
      out.notes.push_back(
          "attribute " + key.str() +
          " omitted: the API server does not support list attributes, or this is not known yet");
    else if (left.take(1, values) && out.room.take(1, values))
      out.attributes[key] = value;
    else
      out.notes.push_back("attribute " + key.str() + " left out: an entry of a " +
                          std::string(name_of(type)) + " has no more room");
  }
  for (const AddedAttribute& one : added_)
    if ((one.device_types & type_bit(type)) != 0 && left.take(1, 1)) ++out.added_count;
  const auto yielding =
      static_cast<size_t>(std::count_if(std::begin(kKnown), std::end(kKnown), [&](const auto& known) {
        return yields(known) && can_have(type, known);
      }));
  out.has_room_for_yielding = left.take(yielding, yielding);
  return out;
}

kube::Attributes EntryAttributes::of(const DeviceFacts& facts, const PersonaAttributes& persona,
                                     std::vector<std::string>& notes) const {
  std::array<Value, std::size(kKnown)> values;
  size_t count = 0;
  Room room = persona.room;
  for (size_t i = 0; i < std::size(kKnown); ++i) {
    if (kKnown[i].is_published && (!yields(kKnown[i]) || persona.has_room_for_yielding))
      values[i] = value_of(kKnown[i], facts);
    if (!values[i]) continue;
    if (lists_numa_nodes_ && kKnown[i].is_standard && kKnown[i].id == "numaNode")
      values[i] = numa_node_attribute(facts.device, /*as_list=*/true);
    const auto* text = std::get_if<std::string>(&*values[i]);
    if (text != nullptr && text->size() > kube::kAttributeValueBytesMax)
      notes.push_back("attribute " + keys_[i].str() + " left out: " + in_quotes(*text, 80) +
                      " has more than " + std::to_string(kube::kAttributeValueBytesMax) + " bytes");
    else if (room.take(1, kube::value_count(*values[i]))) {
      ++count;
      continue;
    } else
      notes.push_back("attribute " + keys_[i].str() +
                      " left out: the policy's plugins and capacities need its room");
    values[i].reset();
  }
  // In order of keys, so that each is appended.
  kube::Attributes out;
  out.reserve(persona.attributes.size() + count);
  auto given = persona.attributes.begin();
  for (const size_t i : by_key_) {
    if (!values[i]) continue;
    for (; given != persona.attributes.end() && given->first < keys_[i]; ++given)
      out.emplace(given->first, given->second);
    out.emplace(keys_[i], std::move(*values[i]));
  }
  out.insert(given, persona.attributes.end());
  add_to(facts, persona, out);
  return out;
}

}  // namespace sliced::policy
