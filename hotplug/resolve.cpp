#include "hotplug/resolve.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "hotplug/pci_function.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr int kLoopback = 772;  // ARPHRD_LOOPBACK

// Removes digits from the front and returns their value; -1 without digits or with too many.
int parse_number(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') ++length;
  const auto value = length <= 6 ? parse_int(text.substr(0, length)) : std::nullopt;
  if (!value) return -1;
  text.remove_prefix(length);
  return static_cast<int>(*value);
}

bool strip_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view port_name_of(const NetdevReading& netdev) {
  if (!netdev.slow) return {};
  return netdev.slow->devlink_port.empty() ? netdev.slow->phys_port_name : netdev.slow->devlink_port;
}
std::string_view switch_id_of(const NetdevReading& netdev) {
  return netdev.slow ? std::string_view(netdev.slow->phys_switch_id) : std::string_view();
}

PortFacts port_facts_of(const NetdevReading& netdev) {
  return {.name = netdev.name,
          .ifindex = netdev.ifindex,
          .switch_id = switch_id_of(netdev),
          .port_name = port_name_of(netdev),
          .dev_port = netdev.dev_port.value_or(0)};
}

// A lower rank is more likely to be the function's own: the uplink by name, then a name without a port, then
// the oldest.
auto port_rank(const PortFacts& port) {
  int rank = 2;
  if (decode_port_name(port.port_name).kind == PortName::Kind::kUplink)
    rank = 0;
  else if (port.port_name.empty())
    rank = 1;
  // "p2" before "p10".
  return std::make_tuple(rank, port.dev_port, port.port_name.size(), port.port_name, port.ifindex, port.name);
}

// Drivers whose functions have several ports with consecutive numbers: a missing one is in another namespace.
bool has_numbered_ports(std::string_view driver) {
  return driver == "mlx4_core" || driver == "cxgb4" || driver == "nfp";
}

// without: numbers of ports that have no interface anywhere.
bool has_gap(const std::vector<const Netdev*>& ports, const std::set<int>& without) {
  std::set<int> numbers;
  for (const Netdev* port : ports)
    if (port->dev_port) numbers.insert(*port->dev_port);
  if (numbers.empty()) return false;
  for (int number = 0; number < *numbers.rbegin(); ++number)
    if (!numbers.contains(number) && !without.contains(number)) return true;
  return false;
}

constexpr const char* kWithoutEthernet =
    "net: the driver makes no interface (devlink parameter enable_eth is false)";

// Returns the name of another object for output and attributes: escaped if it is not UTF-8.
std::string reference(const std::string& name) { return is_utf8(name) ? name : escaped(name); }

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void add_vdpa(HostDevice& device, const std::vector<VdpaDevice>& all) {
  if (all.empty()) return;
  device.vdpa = all.front();
  device.other_vdpas.assign(all.begin() + 1, all.end());
}

class Resolver {
 public:
  Resolver(const HostReadings& readings, const StickyNetdevs& sticky)
      : readings_(readings), sticky_(sticky), ports_(ports_of_functions(readings)) {}
  Resolver(const HostReadings& readings, const StickyNetdevs& sticky, const std::set<PciAddress>& only,
           const Inventory& former)
      : readings_(readings), sticky_(sticky), former_(&former), ports_(ports_of_functions(readings, &only)) {}

  std::vector<HostDevice> run() {
    for (const auto& [address, reading] : readings_.functions) add_function(reading);
    std::set<std::string_view> listed;
    for (const auto& [address, ports] : ports_)
      for (const NetdevReading* port : ports) listed.insert(port->name);
    for (const auto& [name, reading] : readings_.netdevs)
      if (!reading.auxiliary.empty())
        add_scalable_function(reading.auxiliary, reading.sf_number, &reading);
      else if (!listed.contains(name) && name != "lo" && reading.link_type != kLoopback)
        add_link(reading);
    for (const auto& [auxiliary, number] : readings_.auxiliaries)
      if (!added_.contains(auxiliary)) add_scalable_function(auxiliary, number, nullptr);
    relate_to_pfs();
    relate_representors();
    note_host_use();
    return move_devices();
  }

  std::vector<HostDevice> run(const std::set<PciAddress>& only) {
    for (const PciAddress& address : only)
      if (const FunctionReading* reading = readings_.functions.find(address)) add_function(*reading);
    relate_to_pfs();
    if (!devices_.empty()) note_host_use();
    return move_devices();
  }

 private:
  void add_function(const FunctionReading& reading) {
    HostDevice device;
    device.id.text = reading.pci.text();
    device.pci = reading.pci;
    device.type = reading.physfn          ? DeviceType::kVf
                  : reading.total_vfs > 0 ? DeviceType::kPf
                                          : DeviceType::kNic;
    device.vendor = reading.vendor;
    device.product = reading.product;
    device.subsystem_vendor = reading.subsystem_vendor;
    device.subsystem_product = reading.subsystem_product;
    device.driver = reading.driver;
    device.is_on_vfio = reading.is_on_vfio;
    device.iommu_group = reading.iommu_group;
    device.iommu_partners = reading.iommu_partners;
    take_numa_node(device, reading.numa_node);
    if (const auto at = readings_.vdpa_of_function.find(reading.pci); at != readings_.vdpa_of_function.end())
      add_vdpa(device, at->second);
    device.pcie_root = reading.pcie_root;
    device.total_vfs = reading.total_vfs;
    device.num_vfs = reading.num_vfs;
    if (device.type == DeviceType::kPf && is_port_known(reading.pci)) device.eswitch_mode = "legacy";
    device.pf = reading.physfn;
    device.unreadable = reading.unreadable;
    device.broken = reading.broken;
    if (const auto at = readings_.settings_unread.find(reading.pci); at != readings_.settings_unread.end())
      device.unreadable.push_back("settings: " + at->second);
    if (const auto at = readings_.enforced.find(reading.pci); at != readings_.enforced.end()) {
      device.enforced = at->second;
      if (is_address_set(at->second.mac)) device.admin_mac = at->second.mac;
    }
    if (device.type == DeviceType::kNic) add_vf_facts(device, reading);
    add_own_netdev(device);
    devices_[device.id.text] = std::move(device);
  }

  // The kernel reports -1 if the firmware does not report the node.
  void take_numa_node(HostDevice& device, std::optional<int> node) const {
    if (node.value_or(-1) < 0) return;
    device.numa_node = node;
    const auto at = readings_.numa_neighbors.find(*node);
    if (at != readings_.numa_neighbors.end()) device.numa_neighbors = at->second;
  }

  // The kernel removes a VF's links before its driver releases it, which may take seconds, and creates them
  // after the new function's uevent (drivers/pci/iov.c).
  void add_vf_facts(HostDevice& device, const FunctionReading& reading) {
    if (!pfs_) {
      pfs_.emplace();
      for (const auto& [pci, other] : readings_.functions)
        if (other.total_vfs > 0) pfs_->push_back(&other);
    }
    const auto pf = std::find_if(pfs_->begin(), pfs_->end(),
                                 [&](const FunctionReading* other) { return is_vf_of(*other, reading); });
    if (pf == pfs_->end()) return;
    device.type = DeviceType::kVf;
    device.pf = (*pf)->pci;
    if (device.broken.empty())
      device.broken = "half there: a VF of " + device.pf->text() + " without physfn link";
  }

  // A netdev whose port facts were not read yet may be an uplink.
  bool is_port_known(const PciAddress& pf) const {
    const NetdevReading* own = own_netdev(ports_, pf);
    return own == nullptr || own->slow.has_value();
  }

  void add_own_netdev(HostDevice& device) {
    const auto rdma = readings_.rdma_of_function.find(*device.pci);
    if (rdma != readings_.rdma_of_function.end()) {
      device.rdma_device = rdma->second;
      if (const auto keys = readings_.pkeys.find(*device.pci); keys != readings_.pkeys.end())
        device.pkeys = keys->second;
      if (const auto why = readings_.pkeys_unread.find(*device.pci); why != readings_.pkeys_unread.end())
        device.unreadable.push_back("pkeys: " + why->second);
    }
    const auto sticky = sticky_.find(*device.pci);
    const auto ports = ports_.find(*device.pci);
    std::vector<const NetdevReading*> here;
    if (ports != ports_.end()) here = ports->second;
    if (sticky != sticky_.end() && sticky->second.is_away) {
      if (!sticky->second.last.name.empty()) {
        device.netdev = sticky->second.last;
        device.netdev->stale = true;
      }
      if (device.rdma_device.empty()) {
        device.rdma_device = sticky->second.rdma_device;
        device.pkeys = sticky->second.pkeys;
      }
    } else if (!here.empty()) {
      set_netdev(device, *here.front());
      here.erase(here.begin());
      if (sticky != sticky_.end() && sticky->second.has_sticky_name)
        device.netdev->name = sticky->second.last.name;
    }
    for (const NetdevReading* port : here) add_other_netdev(device, *port);
    if (sticky != sticky_.end())
      for (const Netdev& port : sticky->second.other_ports)
        if (port.stale) device.other_netdevs.push_back(port);
    if (!device.netdev && readings_.without_ipoib.contains(*device.pci))
      device.unreadable.push_back("net: module ib_ipoib, which makes the interfaces, is not loaded");
    if (!device.netdev && readings_.without_ethernet.contains(device.id.text))
      device.unreadable.push_back(kWithoutEthernet);
    std::stable_sort(device.other_netdevs.begin(), device.other_netdevs.end(), is_port_before);
    note_missing_ports(device);
  }

  void note_missing_ports(HostDevice& device) const {
    if (!has_numbered_ports(device.driver)) return;
    std::vector<const Netdev*> ports;
    if (device.netdev) ports.push_back(&*device.netdev);
    for (const Netdev& port : device.other_netdevs) ports.push_back(&port);
    const auto without = readings_.ports_without_ipoib.find(*device.pci);
    device.misses_ports =
        has_gap(ports, without == readings_.ports_without_ipoib.end() ? std::set<int>{} : without->second);
  }

  // Returns the names of the interface with that ifindex. There are several if it was renamed while it was
  // read.
  const std::vector<std::string>& names_of(int ifindex) {
    if (!names_) {
      names_.emplace();
      for (const auto& [name, netdev] : readings_.netdevs)
        if (netdev.ifindex != 0) (*names_)[netdev.ifindex].push_back(name);
    }
    static const std::vector<std::string> kNone;
    const auto at = names_->find(ifindex);
    return at == names_->end() ? kNone : at->second;
  }

  // Returns the present name of the interface if it is known, otherwise `name`.
  std::string name_of(const std::string& name, int ifindex) {
    if (ifindex == 0 || names_of(ifindex).empty()) return name;
    return names_of(ifindex).front();
  }

  Netdev to_netdev(const NetdevReading& reading) {
    Netdev netdev = facts_of(reading);
    if (!reading.master.empty()) netdev.master = reference(name_of(reading.master, reading.master_ifindex));
    if (reading.slow) netdev.oper_state = reading.slow->oper_state;
    netdev.carries_default_route = readings_.default_routes.contains(reading.name);
    return netdev;
  }

  void note_faults(HostDevice& device, const NetdevReading& reading) {
    append(device.unreadable, reading.unreadable);
    if (reading.slow) append(device.unreadable, reading.slow->unreadable);
    if (device.broken.empty()) device.broken = reading.broken;
  }

  void add_other_netdev(HostDevice& device, const NetdevReading& reading) {
    device.other_netdevs.push_back(to_netdev(reading));
    note_faults(device, reading);
  }

  void set_netdev(HostDevice& device, const NetdevReading& reading) {
    device.netdev = to_netdev(reading);
    note_faults(device, reading);
    if (!device.rdma_device.empty()) return;
    if (const auto soft = readings_.rdma_of_netdev.find(reading.name); soft != readings_.rdma_of_netdev.end())
      device.rdma_device = soft->second;
  }

  void add_link(const NetdevReading& reading) {
    HostDevice device;
    device.id.text = reading.name;
    const auto vlan = readings_.vlans.find(reading.name);
    if (reading.has_bridge || reading.devtype == "bridge") {
      device.type = DeviceType::kBridge;
      device.bridge_type = "linux";
      device.vlan_filtering = reading.vlan_filtering;
    } else if (vlan != readings_.vlans.end() || reading.devtype == "vlan") {
      device.type = DeviceType::kVlan;
      if (vlan != readings_.vlans.end()) device.vlan_id = vlan->second.id;
      device.parent_name = reference(parent_of_vlan(reading));
    } else if (reading.has_bonding || reading.devtype == "bond") {
      device.type = DeviceType::kBond;
    } else if (reading.devtype == "openvswitch") {
      device.bridge_type = "ovs";
    }
    set_netdev(device, reading);
    devices_[device.id.text] = std::move(device);
  }

  // netdev: nullptr if it has none in this namespace. Of several the first one is used.
  void add_scalable_function(const std::string& auxiliary, std::optional<int> number,
                             const NetdevReading* netdev) {
    if (!added_.insert(auxiliary).second) return;
    HostDevice device;
    device.type = DeviceType::kSf;
    device.pf = PciAddress::decode(std::string_view(auxiliary).substr(0, auxiliary.find('/')));
    device.sf_number = number;
    device.id.text = number              ? scalable_function_id(*device.pf, *number)
                     : netdev != nullptr ? netdev->name
                                         : auxiliary;
    if (!number) device.broken = "the number (sfnum) of " + escaped(auxiliary) + " cannot be read";
    if (const auto rdma = readings_.rdma_of_auxiliary.find(auxiliary);
        rdma != readings_.rdma_of_auxiliary.end())
      device.rdma_device = rdma->second;
    if (const auto vdpa = readings_.vdpa_of_auxiliary.find(auxiliary);
        vdpa != readings_.vdpa_of_auxiliary.end())
      add_vdpa(device, vdpa->second);
    if (netdev != nullptr)
      set_netdev(device, *netdev);
    else if (readings_.without_ethernet.contains(auxiliary))
      device.unreadable.push_back(kWithoutEthernet);
    devices_[device.id.text] = std::move(device);
  }

  std::string parent_of_vlan(const NetdevReading& reading) {
    const bool is_reported = reading.lowers.size() == 1;
    if (is_reported && reading.lowers[0].ifindex != 0)
      return name_of(reading.lowers[0].name, reading.lowers[0].ifindex);
    const auto vlan = readings_.vlans.find(reading.name);
    if (vlan != readings_.vlans.end()) return vlan->second.parent;
    return is_reported ? reading.lowers[0].name : "";
  }

  std::vector<HostDevice> move_devices() {
    std::vector<HostDevice> out;
    out.reserve(devices_.size());
    for (auto& [id, device] : devices_) out.push_back(std::move(device));
    return out;
  }

  // Returns a device of this call, otherwise a former one.
  const HostDevice* device_of(const PciAddress& function) const {
    const std::string id = function.text();
    if (const auto at = devices_.find(id); at != devices_.end()) return &at->second;
    return former_ == nullptr ? nullptr : former_->find(id);
  }

  void relate_to_pfs() {
    for (auto& [id, device] : devices_) {
      if (device.type == DeviceType::kVf) relate_to_pf(device);
      if (device.type == DeviceType::kSf) relate_sf_to_pf(device);
    }
  }

  void relate_sf_to_pf(HostDevice& sf) const {
    const HostDevice* pf = device_of(*sf.pf);
    if (pf == nullptr) return;
    sf.vendor = pf->vendor;
    sf.product = sf.pf_product = pf->product;
    sf.numa_node = pf->numa_node;
    sf.numa_neighbors = pf->numa_neighbors;
    if (!pf->netdev) return;
    sf.pf_name = reference(pf->netdev->name);
    sf.pf_alternative_names = pf->netdev->alternative_names;
    sf.pf_link_type = pf->netdev->link_type;
  }

  HostDevice* sf_of(const PciAddress& pf, int number) {
    for (auto& [id, device] : devices_)
      if (device.type == DeviceType::kSf && device.pf == pf && device.sf_number == number) return &device;
    return nullptr;
  }

  void relate_to_pf(HostDevice& vf) {
    if (!vf.pf) return;  // broken, with its reason
    const FunctionReading* reading = readings_.functions.find(*vf.pf);
    const HostDevice* pf = reading == nullptr ? nullptr : device_of(*vf.pf);
    if (pf == nullptr) {
      if (vf.broken.empty())
        vf.broken =
            "its PF " + vf.pf->text() + " cannot be read, or is not a network function (PCI class 02)";
      return;
    }
    const auto index = reading->vfs.find(*vf.pci);
    if (index != reading->vfs.end())
      vf.vf_index = index->second;
    else if (vf.broken.empty())
      vf.broken = "half there: its PF " + vf.pf->text() + " has no virtfn link to it";
    vf.pf_product = pf->product;
    vf.pf_numa_node = reading->numa_node;
    if (!vf.numa_node) take_numa_node(vf, reading->numa_node);
    constexpr int kEthernet = 1, kInfiniBand = 32;  // ARPHRD_ETHER, ARPHRD_INFINIBAND
    if (!pf->netdev && readings_.without_ipoib.contains(*vf.pf)) vf.pf_link_type = kInfiniBand;
    if (!pf->netdev && readings_.without_ethernet.contains(pf->id.text)) vf.pf_link_type = kEthernet;
    if (!pf->netdev) return;
    vf.pf_name = reference(pf->netdev->name);
    vf.pf_alternative_names = pf->netdev->alternative_names;
    vf.pf_link_type = pf->netdev->link_type;
  }

  // A representor is a child of its PF or, with older drivers, has no parent and shares the uplink's switch
  // id.
  const FunctionReading* pf_of_representor(const NetdevReading& netdev, const PortName& port) const {
    if (netdev.function) {
      const FunctionReading* at = readings_.functions.find(*netdev.function);
      return at != nullptr && at->total_vfs > 0 ? at : nullptr;
    }
    const FunctionReading* found = nullptr;
    for (const auto& [address, ports] : ports_) {
      const FunctionReading& function = readings_.functions.at(address);
      if (function.total_vfs == 0 || switch_id_of(*ports.front()) != switch_id_of(netdev)) continue;
      if (port.pf >= 0 && port.pf != address.function) continue;
      if (found != nullptr) return nullptr;  // a switch of several PFs, and a name without the PF's number
      found = &function;
    }
    return found;
  }

  void relate_representors() {
    for (const auto& [name, netdev] : readings_.netdevs) {
      const PortName port = decode_port_name(port_name_of(netdev));
      if ((port.kind != PortName::Kind::kVf && port.kind != PortName::Kind::kSf) ||
          switch_id_of(netdev).empty())
        continue;
      const auto link = devices_.find(name);
      if (link == devices_.end() || link->second.pci) continue;
      const FunctionReading* pf = pf_of_representor(netdev, port);
      if (pf == nullptr) continue;
      const NetdevReading* uplink = own_netdev(ports_, pf->pci);
      if (uplink == nullptr || switch_id_of(*uplink) != switch_id_of(netdev)) continue;
      devices_.at(pf->pci.text()).eswitch_mode = "switchdev";
      if (port.kind == PortName::Kind::kSf) {
        if (HostDevice* sf = sf_of(pf->pci, port.vf)) {
          link->second.representor_of = sf->id.text;
          sf->representor = reference(name);
        }
        continue;
      }
      const auto vf = std::find_if(pf->vfs.begin(), pf->vfs.end(),
                                   [&](const auto& entry) { return entry.second == port.vf; });
      if (vf == pf->vfs.end()) continue;
      link->second.representor_of = vf->first.text();
      if (const auto device = devices_.find(vf->first.text()); device != devices_.end())
        device->second.representor = reference(name);
    }
  }

  void note_host_use() {
    const auto uppers = upper_links(readings_);
    for (auto& [id, device] : devices_) {
      if (device.netdev) device.host_use = use_of(*device.netdev, uppers);
      for (const Netdev& port : device.other_netdevs) {
        if (!device.host_use.empty()) break;
        device.host_use = use_of(port, uppers);
        if (!device.host_use.empty()) device.host_use += " (its port " + reference(port.kernel_name) + ")";
      }
      if (device.host_use.empty() && device.vdpa.driver == "virtio")
        device.host_use = "an interface on its vDPA device " + reference(device.vdpa.name) + " (virtio_vdpa)";
      else if (device.host_use.empty() && device.vdpa.driver == kUnknownVdpa)
        device.host_use =
            "unknown, the driver of its vDPA device " + reference(device.vdpa.name) + " cannot be read";
      const bool is_here = (device.netdev && !device.netdev->stale) || !device.other_netdevs.empty();
      if (const auto note = find_unreadable(device.unreadable, "master"); is_here && !note.empty())
        device.host_use = "unknown, " + std::string(note);  // it may be enslaved
      else if (!device.host_use.empty() && device.vdpa.driver != "virtio" &&
               device.vdpa.driver != kUnknownVdpa)
        device.host_use_kind = kind_of_use(device, uppers);
    }
  }

  std::string use_of(const Netdev& netdev, const std::map<std::string, std::set<std::string>>& uppers) const {
    if (netdev.stale) return "";
    if (!netdev.master.empty()) return "enslaved to " + netdev.master;
    if (netdev.carries_default_route) return "default route through " + reference(netdev.kernel_name);
    if (readings_.are_routes_unknown) return "unknown, the default routes cannot be read";
    if (const std::string above = route_above(readings_.default_routes, uppers, netdev.kernel_name);
        !above.empty())
      return "default route through " + above;
    const std::string beyond = "routes beyond its own subnet through ";
    if (readings_.other_routes.contains(netdev.kernel_name)) return beyond + reference(netdev.kernel_name);
    const std::string above = route_above(readings_.other_routes, uppers, netdev.kernel_name);
    return above.empty() ? "" : beyond + above;
  }

  HostUseKind kind_of_use(const HostDevice& device,
                          const std::map<std::string, std::set<std::string>>& uppers) const {
    std::vector<const Netdev*> ports;
    if (device.netdev) ports.push_back(&*device.netdev);
    for (const Netdev& port : device.other_netdevs) ports.push_back(&port);
    bool is_learned = true;
    for (const Netdev* port : ports) {
      const std::string& name = port->kernel_name;
      if (port->stale) continue;
      if (!port->master.empty() || readings_.are_routes_unknown || readings_.other_routes.contains(name) ||
          !route_above(readings_.default_routes, uppers, name).empty() ||
          !route_above(readings_.other_routes, uppers, name).empty())
        return HostUseKind::kOther;
      is_learned &= !readings_.default_routes.contains(name) || readings_.learned_routes.contains(name);
    }
    return is_learned ? HostUseKind::kLearnedRoute : HostUseKind::kDefaultRoute;
  }

  // Breadth first, each interface once, because a snapshot may contain a cycle.
  std::string route_above(const std::set<std::string>& routes,
                          const std::map<std::string, std::set<std::string>>& uppers,
                          const std::string& name) const {
    if (routes.empty() || !uppers.contains(name)) return "";
    std::set<std::string> seen{name};
    std::vector<std::string> next{name};
    for (size_t at = 0; at < next.size(); ++at) {
      const auto above = uppers.find(next[at]);
      if (above == uppers.end()) continue;
      for (const std::string& upper : above->second) {
        if (!seen.insert(upper).second) continue;
        if (routes.contains(upper)) return reference(upper);
        next.push_back(upper);
      }
    }
    return "";
  }

  const HostReadings& readings_;
  const StickyNetdevs& sticky_;
  const Inventory* former_ = nullptr;
  std::optional<std::vector<const FunctionReading*>> pfs_;        // set at the first use
  std::optional<std::map<int, std::vector<std::string>>> names_;  // by ifindex; set at the first use
  const FunctionPorts ports_;
  std::set<std::string> added_;  // scalable functions
  std::map<std::string, HostDevice> devices_;
};

}  // namespace

std::map<std::string, std::set<std::string>> upper_links(const HostReadings& readings) {
  std::map<int, std::vector<std::string>> names;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.ifindex != 0) names[netdev.ifindex].push_back(name);
  std::map<std::string, std::set<std::string>> uppers;
  for (const auto& [name, netdev] : readings.netdevs) {
    if (netdev.master_ifindex != 0)
      uppers[name].insert(names[netdev.master_ifindex].begin(), names[netdev.master_ifindex].end());
    else if (!netdev.master.empty())
      uppers[name].insert(netdev.master);
    for (const LinkReference& lower : netdev.lowers)
      if (lower.ifindex == 0)
        uppers[lower.name].insert(name);
      else
        for (const std::string& below : names[lower.ifindex]) uppers[below].insert(name);
  }
  for (const auto& [name, vlan] : readings.vlans) {
    const NetdevReading* netdev = readings.netdevs.find(name);
    if (netdev == nullptr) continue;
    const bool is_reported = std::any_of(netdev->lowers.begin(), netdev->lowers.end(),
                                         [](const LinkReference& lower) { return lower.ifindex != 0; });
    if (!is_reported) uppers[vlan.parent].insert(name);
  }
  return uppers;
}

std::vector<HostDevice> resolve(const HostReadings& readings, const StickyNetdevs& sticky) {
  return Resolver(readings, sticky).run();
}

std::vector<HostDevice> resolve_affected(const HostReadings& readings, const StickyNetdevs& sticky,
                                         const std::set<PciAddress>& functions, const Inventory& former) {
  return Resolver(readings, sticky, functions, former).run(functions);
}

bool is_same_for_vfs(const HostDevice* before, const HostDevice* now) {
  if (before == nullptr || now == nullptr) return before == now;
  const auto shared_facts = [](const HostDevice& pf) {
    return std::make_tuple(std::string_view(pf.product), pf.numa_node, pf.netdev.has_value(),
                           pf.netdev ? std::string_view(pf.netdev->name) : std::string_view(),
                           pf.netdev ? pf.netdev->link_type : std::nullopt,
                           pf.netdev ? pf.netdev->alternative_names : std::vector<std::string>());
  };
  return shared_facts(*before) == shared_facts(*now);
}

PortName decode_port_name(std::string_view text) {
  const std::string_view whole = text;
  PortName port;
  if (strip_prefix(text, "c")) {
    // A port of another controller's function (on a DPU) is ignored.
    if (parse_number(text) != 0) return port;
  }
  if (strip_prefix(text, "pf")) {
    const int pf = parse_number(text);
    const auto kind = strip_prefix(text, "sf") ? PortName::Kind::kSf : PortName::Kind::kVf;
    const int number =
        pf >= 0 && (kind == PortName::Kind::kSf || strip_prefix(text, "vf")) ? parse_number(text) : -1;
    if (number >= 0 && text.empty()) port = {kind, pf, number};
    return port;
  }
  if (text.size() == whole.size() && strip_prefix(text, "p")) {
    if (parse_number(text) < 0) return port;
    // "p0pf0vf0" of sfc (efx_ef100_rep_get_phys_port_name() in drivers/net/ethernet/sfc/ef100_rep.c).
    if (text.starts_with("pf")) return decode_port_name(text);
    if (strip_prefix(text, "s") && parse_number(text) < 0) return port;
    if (text.empty()) port.kind = PortName::Kind::kUplink;
    return port;
  }
  const int vf = parse_number(text);
  if (vf >= 0 && text.empty() && !whole.starts_with("c")) port = {PortName::Kind::kVf, -1, vf};
  return port;
}

bool represents_function(const PortFacts& port) {
  const PortName name = decode_port_name(port.port_name);
  if (name.kind == PortName::Kind::kSf) return true;
  return name.kind == PortName::Kind::kVf && (name.pf >= 0 || !port.switch_id.empty());
}

std::string_view port_flavour(std::string_view port_name, std::string_view switch_id) {
  switch (decode_port_name(port_name).kind) {
    case PortName::Kind::kUplink:
      return "physical";
    case PortName::Kind::kSf:
      return "pcisf";
    case PortName::Kind::kVf:
      return represents_function({.switch_id = switch_id, .port_name = port_name}) ? "pcivf" : "";
    case PortName::Kind::kOther:
      break;
  }
  // Ports of another host's functions, and "pf0hpf" of older drivers.
  if (strip_prefix(port_name, "c") && parse_number(port_name) < 0) return "";
  if (!strip_prefix(port_name, "pf") || parse_number(port_name) < 0) return "";
  if (strip_prefix(port_name, "vf")) return parse_number(port_name) >= 0 && port_name.empty() ? "pcivf" : "";
  if (strip_prefix(port_name, "sf")) return parse_number(port_name) >= 0 && port_name.empty() ? "pcisf" : "";
  return port_name.empty() || port_name == "hpf" ? "pcipf" : "";
}

bool is_representor(const PortFacts& port) {
  // "pf0hpf", "c1pf0vf1": other functions' names of devlink (net/devlink/port.c).
  std::string_view rest = port.port_name;
  const bool is_functions = strip_prefix(rest, "pf") ||
                            (strip_prefix(rest, "c") && parse_number(rest) >= 0 && rest.starts_with("pf"));
  if (is_functions || represents_function(port)) return true;
  return !port.switch_id.empty() && !port.port_name.empty() &&
         decode_port_name(port.port_name).kind != PortName::Kind::kUplink;
}

bool is_before(const PortFacts& a, const PortFacts& b) { return port_rank(a) < port_rank(b); }

FunctionPorts ports_of_functions(const HostReadings& readings, const std::set<PciAddress>* only) {
  FunctionPorts out;
  for (const auto& [name, netdev] : readings.netdevs) {
    if (!netdev.is_functions_own || (only != nullptr && !only->contains(*netdev.function)) ||
        !readings.functions.contains(*netdev.function))
      continue;
    if (!represents_function(port_facts_of(netdev))) out[*netdev.function].push_back(&netdev);
  }
  for (auto& [address, ports] : out) {
    std::sort(ports.begin(), ports.end(),
              [](const auto* a, const auto* b) { return is_before(port_facts_of(*a), port_facts_of(*b)); });
    // With an uplink, representors of another host's functions are not ports.
    ports.erase(std::remove_if(ports.begin() + 1, ports.end(),
                               [](const auto* one) { return is_representor(port_facts_of(*one)); }),
                ports.end());
  }
  return out;
}

const NetdevReading* own_netdev(const FunctionPorts& ports, const PciAddress& function) {
  const auto at = ports.find(function);
  return at == ports.end() ? nullptr : at->second.front();
}

Netdev facts_of(const NetdevReading& reading) {
  Netdev netdev;
  netdev.name = netdev.kernel_name = reading.name;
  netdev.ifindex = reading.ifindex;
  netdev.mac = reading.mac;
  netdev.is_up = reading.is_up;
  netdev.mtu = reading.mtu;
  netdev.link_type = reading.link_type;
  netdev.dev_port = reading.dev_port;
  netdev.is_initialized = reading.is_initialized;
  if (!reading.slow) return netdev;
  netdev.speed_mbps = reading.slow->speed_mbps;
  netdev.phys_switch_id = reading.slow->phys_switch_id;
  netdev.phys_port_name = reading.slow->phys_port_name;
  netdev.port_flavour = port_flavour(port_name_of(reading), switch_id_of(reading));
  netdev.alternative_names = reading.slow->alternative_names;
  netdev.is_netns_immutable = reading.slow->is_netns_immutable;
  return netdev;
}

bool are_different_ports(const Netdev& a, const Netdev& b) {
  if (a.ifindex != 0 && a.ifindex == b.ifindex) return false;
  if (a.dev_port && b.dev_port && *a.dev_port != *b.dev_port) return true;
  return !a.phys_port_name.empty() && !b.phys_port_name.empty() && a.phys_port_name != b.phys_port_name;
}

bool is_port_before(const Netdev& a, const Netdev& b) {
  const auto rank = [](const Netdev& port) {
    return std::make_tuple(port.dev_port.value_or(0), port.phys_port_name.size(),
                           std::string_view(port.phys_port_name));
  };
  return rank(a) < rank(b);
}

}  // namespace sliced::hotplug
