#include "policy/exposure/dranet_attributes.h"

#include <cstdint>

#include "hotplug/facts.h"
#include "policy/link_type.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using kube::AttributeValue;
using DranetValue = std::optional<AttributeValue>;
using DranetFacts = const DeviceFacts&;

constexpr uint8_t kPciTypes =
    type_bit(DeviceType::kPf) | type_bit(DeviceType::kVf) | type_bit(DeviceType::kNic);
constexpr uint8_t kEveryType = kPciTypes | type_bit(DeviceType::kBridge) | type_bit(DeviceType::kVlan) |
                               type_bit(DeviceType::kBond) | type_bit(DeviceType::kVirtual) |
                               type_bit(DeviceType::kSf);

// Returns the value of our attribute that has the same meaning.
DranetValue ours(DranetFacts f, std::string_view id) {
  for (const KnownAttribute& known : known_attributes())
    if (!known.is_standard && known.id == id) return value_of(known, f);
  return std::nullopt;
}

bool has_interface(DranetFacts f) { return f.device.netdev && !f.device.netdev->name.empty(); }
bool is_infiniband(DranetFacts f) {
  return f.device.netdev && text_of_link_type(f.device.netdev->link_type) == "infiniband";
}

// IFLA_INFO_KIND, and "device" of an interface without a kind (github.com/vishvananda/netlink, GenericLink
// and Device). The kind of other links (dummy, veth) is not in the inventory.
DranetValue link_kind(DranetFacts f) {
  if (!has_interface(f)) return std::nullopt;
  switch (f.device.type) {
    case DeviceType::kPf:
    case DeviceType::kVf:
    case DeviceType::kNic:
    case DeviceType::kSf:
      return AttributeValue(std::string(is_infiniband(f) ? "ipoib" : "device"));
    case DeviceType::kBridge:
      return AttributeValue(std::string("bridge"));
    case DeviceType::kVlan:
      return AttributeValue(std::string("vlan"));
    case DeviceType::kBond:
      return AttributeValue(std::string("bond"));
    default:
      return std::nullopt;
  }
}

// dranet reads these of an interface: a function without one has none of them.
DranetValue of_interface(DranetFacts f, bool value) {
  return has_interface(f) ? DranetValue(AttributeValue(value)) : std::nullopt;
}

DranetValue encapsulation(DranetFacts f) {
  const std::string_view link =
      f.device.netdev ? text_of_link_type(f.device.netdev->link_type) : std::string_view();
  if (!has_interface(f) || link.empty()) return std::nullopt;
  return AttributeValue(std::string(link == "ethernet" ? "ether" : link));
}

// The last ones of a device type are left out first. isSriovVf is the first one, because dranet publishes it
// only for VFs: without it, a selector takes a VF for another device. Selectors that read another missing
// attribute fail. The following are those that published selectors read most: of 108 references in dranet's
// files (f258477) 47 are to ifName, 24 rdma, 11 virtual, 10 numaNode, 6 type.
constexpr AddedAttribute kDranet[] = {
    {"dra.net/isSriovVf", type_bit(DeviceType::kVf), [](DranetFacts f) { return of_interface(f, true); }},
    {"dra.net/ifName", kEveryType, [](DranetFacts f) { return ours(f, "ifName"); }},
    {"dra.net/rdma", kEveryType, [](DranetFacts f) { return ours(f, "rdma"); }},
    {"dra.net/virtual", kEveryType,
     [](DranetFacts f) {
       return of_interface(f, (type_bit(f.device.type) & (kPciTypes | type_bit(DeviceType::kSf))) == 0);
     }},
    {"dra.net/numaNode", kPciTypes, [](DranetFacts f) { return ours(f, "numaNode"); }},
    {"dra.net/type", kEveryType, link_kind},
    {"dra.net/pciAddress", kPciTypes, [](DranetFacts f) { return ours(f, "pciAddress"); }},
    {"dra.net/sriov", kEveryType,
     [](DranetFacts f) { return of_interface(f, f.device.type == DeviceType::kPf); }},
    {"dra.net/rdmaDevice", kEveryType, [](DranetFacts f) { return ours(f, "rdmaDevice"); }},
    {"dra.net/mac", kEveryType,
     [](DranetFacts f) { return has_interface(f) ? ours(f, "mac") : std::nullopt; }},
    {"dra.net/mtu", kEveryType, [](DranetFacts f) { return ours(f, "mtu"); }},
    {"dra.net/sriovVfs", type_bit(DeviceType::kPf),
     [](DranetFacts f) { return has_interface(f) ? ours(f, "numVFs") : std::nullopt; }},
    {"dra.net/encapsulation", kEveryType, encapsulation},
    {"dra.net/pciSubsystem", kPciTypes, [](DranetFacts f) { return ours(f, "subsystemProduct"); }},
};

}  // namespace

std::span<const AddedAttribute> dranet_attributes() { return kDranet; }

}  // namespace sliced::policy
