#include "hotplug/facts.h"

#include <algorithm>
#include <tuple>

#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

// Exactly as sysfs writes it: lower-case hexadecimal of a fixed number of digits.
std::optional<uint32_t> decode_hex_part(std::string_view text) {
  for (const char c : text)
    if (c >= 'A' && c <= 'F') return std::nullopt;
  const auto value = parse_hex(text);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

// Drivers under which a function is handed over whole (drivers/vfio, drivers/uio, DPDK's igb_uio, pci-stub,
// xen-pciback): they make no interface.
bool makes_no_netdev(std::string_view driver) {
  return driver.empty() || is_vfio_driver(driver) || driver.starts_with("uio_") || driver.ends_with("_uio") ||
         driver == "pci-stub" || driver == "pciback";
}

// Network functions whose drivers register RDMA or vDPA devices alone: Amazon's EFA and Cisco's usNIC
// (drivers/infiniband/hw), and drivers/vdpa ("ifcvf", "vp-vdpa", "octep_vdpa", "snet-vdpa-driver"). The
// interface of a vDPA device is not the function's own.
bool makes_other_devices(std::string_view driver) {
  return driver == "efa" || driver == "usnic_verbs" || driver == "ifcvf" ||
         driver.find("vdpa") != std::string_view::npos;
}

}  // namespace

std::optional<PciAddress> PciAddress::decode(std::string_view text) {
  // Format: DDDD[DDDD]:BB:dd.f. The kernel prints the domain with %04x.
  const size_t tail = sizeof("BB:dd.f") - 1;
  if (text.size() < 5 + tail || text.size() > 9 + tail) return std::nullopt;
  const std::string_view rest = text.substr(text.size() - tail);
  if (text[text.size() - tail - 1] != ':' || rest[2] != ':' || rest[5] != '.') return std::nullopt;
  const std::string_view domain_text = text.substr(0, text.size() - tail - 1);
  if (domain_text.size() > 4 && domain_text[0] == '0') return std::nullopt;
  const auto domain = decode_hex_part(domain_text), bus = decode_hex_part(rest.substr(0, 2)),
             device = decode_hex_part(rest.substr(3, 2)), function = decode_hex_part(rest.substr(6, 1));
  if (!domain || !bus || !device || !function || *device > 31 || *function > 7) return std::nullopt;
  return PciAddress{*domain, static_cast<uint8_t>(*bus), static_cast<uint8_t>(*device),
                    static_cast<uint8_t>(*function)};
}

std::string PciAddress::text() const {
  const int digits = domain > 0xfffffff  ? 8
                     : domain > 0xffffff ? 7
                     : domain > 0xfffff  ? 6
                     : domain > 0xffff   ? 5
                                         : 4;
  std::string out(static_cast<size_t>(digits) + 8, ':');
  // Written from the end into one string, because each decision formats the address of each device.
  size_t end = out.size();
  const auto put = [&](uint32_t value, int count) {
    for (; count > 0; --count, value >>= 4) out[--end] = "0123456789abcdef"[value & 15];
  };
  put(function, 1);
  out[--end] = '.';
  put(device, 2);
  --end;
  put(bus, 2);
  --end;
  put(domain, digits);
  return out;
}

std::string PciAddress::dashed() const {
  std::string out = text();
  for (char& c : out)
    if (c == ':' || c == '.') c = '-';
  return out;
}

bool Inventory::is_vanished(const std::string& id) const {
  if (vanished.empty()) return false;
  const auto address = PciAddress::decode(id);
  return address && vanished.contains(*address);
}

std::set<std::string> find_contested_names(const SharedMap<HostDevice>& devices) {
  using Owned = std::pair<std::string_view, const Netdev*>;
  const auto each = [&](const auto& on_netdev) {
    for (const auto& [id, device] : devices) {
      if (device.netdev) on_netdev(*device.netdev);
      for (const Netdev& port : device.other_netdevs) on_netdev(port);
    }
  };
  std::vector<Owned> alternatives;
  each([&](const Netdev& netdev) {
    for (const std::string& name : netdev.alternative_names) alternatives.emplace_back(name, &netdev);
  });
  std::set<std::string> out;
  if (alternatives.empty()) return out;
  std::sort(alternatives.begin(), alternatives.end());
  for (size_t i = 1; i < alternatives.size(); ++i)
    if (alternatives[i].first == alternatives[i - 1].first &&
        alternatives[i].second != alternatives[i - 1].second)
      out.emplace(alternatives[i].first);
  each([&](const Netdev& netdev) {
    for (const std::string* name : {&netdev.name, &netdev.kernel_name}) {
      auto at = std::lower_bound(alternatives.begin(), alternatives.end(), Owned(*name, nullptr));
      for (; at != alternatives.end() && at->first == *name; ++at)
        if (at->second != &netdev) out.insert(*name);
    }
  });
  return out;
}

std::string_view name_of(DeviceType type) {
  switch (type) {
    case DeviceType::kPf:
      return "pf";
    case DeviceType::kVf:
      return "vf";
    case DeviceType::kNic:
      return "nic";
    case DeviceType::kBridge:
      return "bridge";
    case DeviceType::kVlan:
      return "vlan";
    case DeviceType::kBond:
      return "bond";
    case DeviceType::kVirtual:
      return "virtual";
    case DeviceType::kSf:
      return "sf";
  }
  return "virtual";
}

std::optional<DeviceType> device_type_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DeviceType::kSf); ++i)
    if (name_of(static_cast<DeviceType>(i)) == name) return static_cast<DeviceType>(i);
  return std::nullopt;
}

bool is_address_set(std::string_view address) {
  return address.find_first_not_of("0:") != std::string_view::npos;
}

bool sorts_before(const VdpaDevice& a, const VdpaDevice& b) {
  const auto rank = [](const VdpaDevice& one) {
    const int use = one.driver == kUnknownVdpa                   ? 0
                    : one.driver == "virtio"                     ? 1
                    : one.driver == "vhost" && !one.node.empty() ? 2
                    : one.driver == "vhost"                      ? 3
                                                                 : 4;
    return std::make_tuple(use, one.name.size(), std::string_view(one.name));
  };
  return rank(a) < rank(b);
}

std::string scalable_function_id(const PciAddress& pf, int sf_number) {
  return "sf" + std::to_string(sf_number) + "-" + pf.dashed();
}

bool is_vfio_driver(std::string_view driver) {
  for (const std::string_view name : {"vfio-pci", "vfio_pci"})
    if (driver == name || (driver.ends_with(name) && (driver[driver.size() - name.size() - 1] == '_' ||
                                                      driver[driver.size() - name.size() - 1] == '-')))
      return true;
  return false;
}

bool is_handed_over(const HostDevice& device) {
  return device.pci && !device.driver.empty() && (device.is_on_vfio || makes_no_netdev(device.driver));
}

std::string_view find_unreadable(const std::vector<std::string>& unreadable, std::string_view files) {
  if (unreadable.empty() || files.empty()) return "";
  const auto names = split(files, ' ');
  for (const std::string_view note : unreadable)
    for (const std::string_view name : split(note.substr(0, note.find(": ")), ','))
      if (std::find(names.begin(), names.end(), trim(name)) != names.end()) return note;
  return "";
}

// Set in bond_setup(), br_dev_setup() and, for the uplink of a switch, by the drivers of switchdev mode.
std::string_view immovable_kind(const HostDevice& device) {
  const auto reported = device.netdev ? device.netdev->is_netns_immutable : std::nullopt;
  if (reported == false) return "";
  if (device.type == DeviceType::kBond) return "a bond";
  if (device.type == DeviceType::kBridge) return "a bridge";
  if (device.type == DeviceType::kPf && device.eswitch_mode == "switchdev")
    return "the uplink of a switch in switchdev mode";
  return reported ? "an interface that is netns-immutable, as wireless ones are" : "";
}

bool is_netdev_elsewhere(const HostDevice& device) {
  if (!device.pci && device.type != DeviceType::kSf) return false;
  if (device.netdev) return device.netdev->stale;
  // A driver that cannot be read may be any.
  if (device.is_on_vfio || !find_unreadable(device.unreadable, "net").empty()) return false;
  if (device.type == DeviceType::kSf) return true;
  const bool may_create_netdev = !makes_no_netdev(device.driver) && !makes_other_devices(device.driver);
  return may_create_netdev || !find_unreadable(device.unreadable, "driver").empty();
}

}  // namespace sliced::hotplug
