#pragma once
// Random configurations of the SR-IOV network device plugin, random hosts, and what its documentation says of them
// (README.md, "Configurations", at 40b6f507e): an oracle that shares nothing with migrate/.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hotplug/facts.h"

namespace sliced::migrate::random_plugin {

struct Dice {
  explicit Dice(uint32_t seed) : engine(seed) {}
  int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int>(all.size())))];
  }
  std::minstd_rand engine;
};

/// A selector as its author thinks of it.
struct Wish {
  std::vector<std::string> vendors, devices, drivers, addresses, pf_names, root_devices, link_types;
  bool rdma = false;
};
struct Resource {
  std::string prefix, name;  // prefix "": intel.com
  std::vector<Wish> wishes;
  std::string full() const { return (prefix.empty() ? "intel.com" : prefix) + "/" + name; }
};

inline const std::vector<std::string> kVendors = {"8086", "15b3", "14e4"};
inline const std::vector<std::string> kProducts = {"1592", "1889", "1018", "154c"};
inline const std::vector<std::string> kDrivers = {"ice", "iavf", "mlx5_core"};
inline const std::vector<std::string> kPfNames = {"ens1f0", "ens1f1", "ib0"};
inline const std::vector<std::string> kPfAddresses = {"0000:3b:00.0", "0000:5e:00.0", "0000:af:00.0"};

// ---- hosts

inline hotplug::HostDevice function(Dice& dice, const std::string& address, hotplug::DeviceType type) {
  hotplug::HostDevice device;
  device.id = {address};
  device.type = type;
  device.pci = hotplug::PciAddress::decode(address);
  device.vendor = dice.of(kVendors);
  device.product = dice.of(kProducts);
  device.driver = dice.one_in(20) ? "" : dice.one_in(4) ? "vfio-pci" : dice.of(kDrivers);
  if (dice.one_in(3)) device.rdma_device = "mlx5_" + std::to_string(dice.below(9));
  return device;
}

inline void give_interface(Dice& dice, hotplug::HostDevice& device, const std::string& name, int type) {
  if (device.driver.empty() || device.driver == "vfio-pci") return;
  device.netdev = hotplug::Netdev{.name = name, .ifindex = 2, .link_type = type};
  if (!dice.one_in(12)) return;
  device.netdev->carries_default_route = true;
  device.host_use = "default route through " + name;
}

inline hotplug::InventoryPtr host(Dice& dice) {
  hotplug::Inventory out{.version = 1, .boot_id = "boot-1"};
  for (size_t p = 0; p < kPfNames.size(); ++p) {
    auto pf = function(dice, kPfAddresses[p], hotplug::DeviceType::kPf);
    pf.total_vfs = 8;
    pf.num_vfs = dice.one_in(3) ? 0 : 1 + dice.below(6);
    const int type = kPfNames[p] == "ib0" ? 32 : 1;
    if (pf.num_vfs > 0 && (pf.driver.empty() || pf.driver == "vfio-pci")) pf.driver = "ice";
    give_interface(dice, pf, kPfNames[p], type);
    for (int i = 0; i < pf.num_vfs; ++i) {
      auto vf =
          function(dice, kPfAddresses[p].substr(0, 8) + "01." + std::to_string(i), hotplug::DeviceType::kVf);
      vf.pf = pf.pci;
      vf.vf_index = i;
      vf.pf_name = pf.netdev->name;
      vf.pf_product = pf.product;
      vf.pf_link_type = type;
      give_interface(dice, vf, kPfNames[p] + "v" + std::to_string(i), type);
      out.devices[vf.id.text] = std::move(vf);
    }
    out.devices[pf.id.text] = std::move(pf);
  }
  for (int n = dice.below(3); n > 0; --n) {
    auto nic = function(dice, "0000:c1:00." + std::to_string(n), hotplug::DeviceType::kNic);
    give_interface(dice, nic, "eno" + std::to_string(n), 1);
    out.devices[nic.id.text] = std::move(nic);
  }
  return std::make_shared<const hotplug::Inventory>(std::move(out));
}

// ---- configurations

inline std::vector<std::string> some(Dice& dice, const std::vector<std::string>& from, int seldom) {
  std::vector<std::string> out;
  if (!dice.one_in(seldom)) return out;
  for (int n = 1 + dice.below(2); n > 0; --n) out.push_back(dice.of(from));
  return out;
}

inline std::vector<std::string> some_pfs(Dice& dice, const std::vector<std::string>& from, int seldom) {
  auto out = some(dice, from, seldom);
  for (std::string& entry : out) {
    if (dice.one_in(2)) continue;
    const int first = dice.below(4);
    entry += "#" + std::to_string(first);
    if (dice.one_in(2)) entry += "-" + std::to_string(first + dice.below(3));
    if (dice.one_in(3)) entry += "," + std::to_string(dice.below(7));
  }
  return out;
}

inline std::vector<Resource> config(Dice& dice, bool with_rdma) {
  std::vector<Resource> out;
  for (int r = 1 + dice.below(4); r > 0; --r) {
    Resource resource{dice.one_in(3) ? "example.com" : "", "pool_" + std::to_string(r), {}};
    const bool is_vfio = dice.one_in(4);
    for (int s = 1 + dice.below(3); s > 0; --s) {
      Wish wish{some(dice, kVendors, 2), some(dice, kProducts, 2), some(dice, kDrivers, 3), {}, {}, {}, {}};
      if (is_vfio) wish.drivers = {"vfio-pci"};
      if (dice.one_in(8))
        wish.addresses = {kPfAddresses[static_cast<size_t>(dice.below(3))].substr(0, 8) + "01." +
                          std::to_string(dice.below(6))};
      wish.pf_names = some_pfs(dice, kPfNames, 3);
      wish.root_devices = some_pfs(dice, kPfAddresses, 4);
      wish.link_types = some(dice, {"ether", "infiniband"}, 5);
      wish.rdma = with_rdma && dice.one_in(3);
      resource.wishes.push_back(std::move(wish));
    }
    out.push_back(std::move(resource));
  }
  return out;
}

inline std::string json_of(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ", ") + ("\"" + one + "\"");
  return "[" + out + "]";
}

inline std::string json_of(Dice& dice, const Wish& wish) {
  std::string out;
  const auto add = [&](const char* key, const std::string& value) {
    std::string name = key;  // Go takes any case of letters
    if (dice.one_in(6)) name[0] = static_cast<char>(std::toupper(name[0]));
    out += (out.empty() ? "" : ",\n") + ("\"" + name + "\": " + value);
  };
  const auto list = [&](const char* key, const std::vector<std::string>& values) {
    if (!values.empty() || dice.one_in(10))
      add(key, values.empty() && dice.one_in(2) ? "null" : json_of(values));
  };
  list("vendors", wish.vendors);
  list("devices", wish.devices);
  list("drivers", wish.drivers);
  list("pciAddresses", wish.addresses);
  list("pfNames", wish.pf_names);
  list("rootDevices", wish.root_devices);
  list("linkTypes", wish.link_types);
  if (wish.rdma || dice.one_in(5)) add("isRdma", wish.rdma ? "true" : "false");
  return "{" + out + "}";
}

inline std::string json_of(Dice& dice, const std::vector<Resource>& resources) {
  std::string out;
  for (const Resource& resource : resources) {
    std::string wishes;
    for (const Wish& wish : resource.wishes) wishes += (wishes.empty() ? "" : ", ") + json_of(dice, wish);
    const bool as_object = resource.wishes.size() == 1 && dice.one_in(2);
    out += (out.empty() ? "" : ",\n") + ("{\"resourceName\": \"" + resource.name + "\"");
    if (!resource.prefix.empty()) out += ", \"resourcePrefix\": \"" + resource.prefix + "\"";
    out += ", \"selectors\": " + (as_object ? wishes : "[" + wishes + "]") + "}";
  }
  return "{\"resourceList\": [" + out + "]}";
}

// ---- the documentation

inline bool is_in(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// "<PFName>#<SingleFunc>,<FirstFunc>-<LastFunc>": the first entry of a PF says which of its functions.
inline bool has_pf(const std::vector<std::string>& list, const std::string& pf, int index) {
  for (const std::string& entry : list) {
    const size_t hash = entry.find('#');
    if (entry.substr(0, hash) != pf) continue;
    if (hash == std::string::npos) return true;
    std::string rest = entry.substr(hash + 1);
    for (;;) {
      const size_t comma = rest.find(',');
      const std::string part = rest.substr(0, comma);
      const size_t dash = part.find('-');
      const int first = std::stoi(part),
                last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
      if (first <= index && index <= last) return true;
      if (comma == std::string::npos) return false;
      rest.erase(0, comma + 1);
    }
  }
  return false;
}

inline bool is_meant(const Wish& wish, const hotplug::HostDevice& device) {
  if (!wish.vendors.empty() && !is_in(wish.vendors, device.vendor)) return false;
  if (!wish.devices.empty() && !is_in(wish.devices, device.product)) return false;
  if (!wish.drivers.empty() && !is_in(wish.drivers, device.driver)) return false;
  if (!wish.addresses.empty() && !is_in(wish.addresses, device.id.text)) return false;
  const bool is_vf = device.type == hotplug::DeviceType::kVf;
  const int index = is_vf ? *device.vf_index : -1;
  if (!wish.pf_names.empty() && !(is_vf && has_pf(wish.pf_names, device.pf_name, index))) return false;
  if (!wish.root_devices.empty() && !(is_vf && has_pf(wish.root_devices, device.pf->text(), index)))
    return false;
  if (!wish.link_types.empty()) {
    const int type = device.netdev ? *device.netdev->link_type : is_vf ? *device.pf_link_type : 0;
    if (!is_in(wish.link_types, type == 1 ? "ether" : type == 32 ? "infiniband" : "")) return false;
  }
  return !wish.rdma || !device.rdma_device.empty();
}

/// The resource that gets the device, the first in order; "" none does.
inline std::string expected(const std::vector<Resource>& resources, const hotplug::HostDevice& device) {
  if (device.driver.empty()) return "";
  if (device.type == hotplug::DeviceType::kPf && device.num_vfs > 0) return "";
  for (const Resource& resource : resources)
    for (const Wish& wish : resource.wishes)
      if (is_meant(wish, device)) return resource.full();
  return "";
}

}  // namespace sliced::migrate::random_plugin
