#include "hotplug/scan.h"

#include <algorithm>
#include <utility>

#include "hotplug/link.h"
#include "hotplug/numa.h"
#include "hotplug/pci_function.h"
#include "hotplug/read_value.h"
#include "hotplug/resolve.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr const char* kFunctionsDir = "sys/bus/pci/devices";
constexpr const char* kNetdevsDir = "sys/class/net";
constexpr const char* kRdmaDevicesDir = "sys/class/infiniband";
constexpr const char* kVdpaDevicesDir = "sys/bus/vdpa/devices";
constexpr const char* kAuxiliariesDir = "sys/bus/auxiliary/devices";

// Returns the names below dir with the links' targets. A missing directory is empty, which is not an error (a
// machine without PCI, a namespace without interfaces, no RDMA module).
std::vector<std::pair<std::string, std::string>> list_links(const HostView& host, const char* dir,
                                                            HostReadings& readings) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto opened = host.open_dir(dir);
  const auto names = opened ? (*opened)->list() : Result<std::vector<std::string>>(opened.error());
  if (!names) {
    if (names.error().code != Errc::kNotFound) {
      readings.problems.push_back(names.error().what);
      readings.is_incomplete = true;
    }
    return out;
  }
  out.reserve(names->size());
  for (const std::string& name : *names) {
    auto target = read_link_patiently(**opened, name);
    if (!target && !is_absence(target.error())) readings.problems.push_back(target.error().what);
    out.emplace_back(name, target.value_or(""));
  }
  return out;
}

void list_functions(const HostView& host, HostListing& listing) {
  auto& problems = listing.lists.problems;
  for (auto& [name, target] : list_links(host, kFunctionsDir, listing.lists)) {
    if (const auto address = PciAddress::decode(name))
      listing.functions.emplace_back(*address, std::move(target));
    else
      problems.push_back(std::string(kFunctionsDir) + ": " + in_quotes(name, 64) + " is not a PCI address");
  }
}

// Returns the function above the device; if the path has none, as in a manual snapshot, the one in the name
// that the SR-IOV network operator gives it.
std::optional<PciAddress> function_of_vdpa(std::string_view name, std::string_view target) {
  constexpr std::string_view kPrefix = "vdpa:";
  if (const auto above = function_above(target)) return above;
  return name.starts_with(kPrefix) ? PciAddress::decode(name.substr(kPrefix.size())) : std::nullopt;
}

// "InfiniBand" or "Ethernet"; "" if it cannot be read.
std::string link_layer(const HostView& host, const std::string& rdma_device, int port) {
  const auto layer = host.read(std::string(kRdmaDevicesDir) + "/" + rdma_device + "/ports/" +
                               std::to_string(port) + "/link_layer");
  return layer ? std::string(trim(*layer)) : "";
}

// mlx5_core adds "mlx5_core.eth.N" before the devices for RDMA and vDPA, and removes it after them. Without
// any auxiliary device the kernel is older (before 5.11), or the driver is not ready. InfiniBand functions
// have none for Ethernet.
void read_without_ethernet(const HostView& host, const std::map<std::string, std::set<std::string>>& kinds_of,
                           HostReadings& readings) {
  readings.without_ethernet.clear();
  for (const auto& [owner, kinds] : kinds_of) {
    if (kinds.contains("eth") || kinds.contains("eth-rep")) continue;
    const auto function = PciAddress::decode(owner);
    const std::string* rdma = nullptr;
    if (!function) {
      const auto at = readings.rdma_of_auxiliary.find(owner);
      if (at != readings.rdma_of_auxiliary.end()) rdma = &at->second;
    } else if (const auto at = readings.rdma_of_function.find(*function);
               at != readings.rdma_of_function.end()) {
      rdma = &at->second;
    }
    if (kinds.contains("vnet") || (rdma != nullptr && link_layer(host, *rdma, 1) == "Ethernet"))
      readings.without_ethernet.insert(owner);
  }
}

// Requires that RDMA devices have been read.
void read_auxiliaries(const HostView& host, HostReadings& readings) {
  constexpr std::string_view kMlx5 = "mlx5_core.";
  readings.auxiliaries.clear();
  std::map<std::string, std::set<std::string>> kinds_of;  // "eth" of "mlx5_core.eth.0", by owner
  for (const auto& [name, target] : list_links(host, kAuxiliariesDir, readings)) {
    const std::string auxiliary = auxiliary_above(target);
    if (!auxiliary.empty() && auxiliary.ends_with("/" + name)) {
      readings.auxiliaries.emplace(auxiliary,
                                   read_sf_number(host, std::string(kAuxiliariesDir) + "/" + name));
      continue;
    }
    if (!name.starts_with(kMlx5)) continue;
    const auto function = function_above(target);
    const std::string owner = !auxiliary.empty() ? auxiliary : function ? function->text() : "";
    if (!owner.empty()) kinds_of[owner].insert(name.substr(kMlx5.size(), name.rfind('.') - kMlx5.size()));
  }
  read_without_ethernet(host, kinds_of, readings);
}

void read_vdpa(const HostView& host, HostReadings& readings) {
  readings.vdpa_of_function.clear();
  readings.vdpa_of_auxiliary.clear();
  for (const auto& [name, target] : list_links(host, kVdpaDevicesDir, readings)) {
    if (!is_utf8(name)) continue;
    if (const std::string auxiliary = auxiliary_above(target); !auxiliary.empty())
      readings.vdpa_of_auxiliary[auxiliary].push_back(read_vdpa_device(host, name));
    else if (const auto function = function_of_vdpa(name, target))
      readings.vdpa_of_function[*function].push_back(read_vdpa_device(host, name));
  }
  for (auto& [owner, devices] : readings.vdpa_of_auxiliary) std::ranges::sort(devices, sorts_before);
  for (auto& [owner, devices] : readings.vdpa_of_function) std::ranges::sort(devices, sorts_before);
}

// "0000:03:00.0/infiniband/mlx5_0" belongs to its function; a soft one names its interface.
void read_rdma(const HostView& host, HostReadings& readings) {
  readings.rdma_of_function.clear();
  readings.rdma_of_netdev.clear();
  readings.rdma_of_auxiliary.clear();
  for (const auto& [name, target] : list_links(host, kRdmaDevicesDir, readings)) {
    if (!is_utf8(name)) continue;
    if (const std::string auxiliary = auxiliary_above(target); !auxiliary.empty()) {
      readings.rdma_of_auxiliary.emplace(auxiliary, name);
      continue;
    }
    const auto function = function_above(target);
    if (function) {
      readings.rdma_of_function.emplace(*function, name);
      continue;
    }
    if (const auto netdev = netdev_of_soft_rdma(host, name)) readings.rdma_of_netdev.emplace(*netdev, name);
  }
}

void read_boot_id(const HostView& host, HostReadings& readings) {
  auto boot_id = host.read("proc/sys/kernel/random/boot_id");
  if (boot_id && boot_id->size() <= 64 && is_utf8(*boot_id))
    readings.boot_id = std::move(*boot_id);
  else if (!boot_id && boot_id.error().code != Errc::kNotFound)
    readings.problems.push_back(boot_id.error().what);
}

// The firmware describes nodes and packages at boot (SRAT, SLIT).
void keep_or_read_numa_nodes(const HostView& host, const HostReadings& before, HostReadings& readings) {
  if (before.are_numa_nodes_read && before.boot_id == readings.boot_id) {
    readings.numa_neighbors = before.numa_neighbors;
    readings.are_numa_nodes_read = true;
  } else {
    readings.numa_neighbors = read_numa_neighbors(host, readings.are_numa_nodes_read);
  }
}

// A socket, which is listed and not read.
void read_udevd(const HostView& host, HostReadings& readings) {
  const auto names = host.list("run/udev");
  if (names) {
    readings.has_udevd = std::find(names->begin(), names->end(), "control") != names->end();
  } else if (names.error().code != Errc::kNotFound) {
    readings.problems.push_back(names.error().what);
    readings.is_incomplete = true;
  }
}

// A function joins or leaves an IOMMU group without an event of the others in it.
void note_in_group(const PciAddress& address, std::optional<int> now, HostReadings& readings) {
  std::vector<PciAddress> changed;
  for (const auto& [other, reading] : readings.functions)
    if (other != address && reading.iommu_partners.contains(address) != (now && reading.iommu_group == now))
      changed.push_back(other);
  for (const PciAddress& other : changed) {
    std::set<PciAddress>& partners = readings.functions[other].iommu_partners;
    if (partners.erase(address) == 0) partners.insert(address);
  }
}

void reread_function(const HostView& host, const PciAddress& address, HostReadings& readings) {
  const bool has_left_groups = readings.vanished.erase(address) > 0;
  auto function = read_function(host, address);
  const FunctionReading* known = readings.functions.find(address);
  const auto before = known == nullptr ? std::nullopt : known->iommu_group;
  const auto now = function ? function->iommu_group : group_as_partner(host, address);
  // Functions of other classes have no reading, so only the others of their group show where they were.
  const bool was_unknown = known == nullptr && !function && !has_left_groups;
  if (before != now || was_unknown) note_in_group(address, now, readings);
  if (!function) {
    readings.functions.erase(address);
    return;
  }
  // Equal readings share the object, so that they can be compared by pointers.
  if (known == nullptr || *known != *function) readings.functions[address] = std::move(*function);
}

void reread_netdev(const HostView& host, const std::string& name, HostReadings& readings) {
  auto netdev = read_netdev(host, name);
  if (!netdev) {
    readings.netdevs.erase(name);
    return;
  }
  if (const NetdevReading* known = readings.netdevs.find(name)) netdev->slow = known->slow;
  readings.netdevs[name] = std::move(*netdev);
}

// A macvlan or a VLAN that was read while its interface was in a pod's namespace has no reference to it, and
// no event reports the return.
void reread_uppers(const HostView& host, const std::string& name, HostReadings& readings) {
  const NetdevReading* netdev = readings.netdevs.find(name);
  if (netdev == nullptr) return;
  const int ifindex = netdev->ifindex;
  const auto entries = host.list(std::string(kNetdevsDir) + "/" + name);
  if (!entries) return;
  for (const std::string& entry : *entries) {
    if (!entry.starts_with("upper_")) continue;
    const std::string upper = entry.substr(6);
    const NetdevReading* known = readings.netdevs.find(upper);
    const bool is_reported =
        known != nullptr && std::any_of(known->lowers.begin(), known->lowers.end(),
                                        [&](const LinkReference& lower) { return lower.ifindex == ifindex; });
    if (!is_reported) reread_netdev(host, upper, readings);
  }
}

// Visits the master and the lower interfaces.
template <class OnReference>
void each_reference(const NetdevReading& netdev, OnReference on_reference) {
  if (!netdev.master.empty()) on_reference(LinkReference{netdev.master, netdev.master_ifindex});
  for (const LinkReference& lower : netdev.lowers) on_reference(lower);
}

std::set<int> ifindexes_of(const HostReadings& readings) {
  std::set<int> out{0};
  for (const auto& [name, netdev] : readings.netdevs) out.insert(netdev.ifindex);
  return out;
}

// Returns interfaces with references to names that no longer exist, or to an unknown ifindex.
std::vector<std::string> dangling_links(const HostReadings& readings) {
  const std::set<int> known = ifindexes_of(readings);
  std::vector<std::string> out;
  for (const auto& [name, netdev] : readings.netdevs) {
    bool dangles = false;
    each_reference(netdev, [&](const LinkReference& link) {
      dangles |= !readings.netdevs.contains(link.name) || !known.contains(link.ifindex);
    });
    if (dangles) out.push_back(name);
  }
  return out;
}

// Returns whether the new reading differs from the old one.
bool reread_changed(const HostView& host, const std::string& name, HostReadings& readings) {
  const NetdevReading* known = readings.netdevs.find(name);
  const auto before = known == nullptr ? std::nullopt : std::optional(*known);
  reread_netdev(host, name, readings);
  known = readings.netdevs.find(name);
  return before != (known == nullptr ? std::nullopt : std::optional(*known));
}

int ifindex_now(const HostView& host, const std::string& name) {
  const auto text = host.read(std::string(kNetdevsDir) + "/" + name + "/ifindex");
  const auto ifindex = text ? parse_int(*text) : std::nullopt;
  return ifindex && *ifindex > 0 && *ifindex <= INT32_MAX ? static_cast<int>(*ifindex) : 0;
}

// Links, texts and routes contain current names, while interfaces may have been read under older ones: the
// event of a rename comes later. Reads such interfaces again; returns false if there are none.
bool follow_names(const HostView& host, HostReadings& readings) {
  bool has_changed = false;
  for (const std::string& name : dangling_links(readings))
    has_changed |= reread_changed(host, name, readings);
  std::set<std::string> named;
  for (const auto& [name, netdev] : readings.netdevs)
    each_reference(netdev, [&](const LinkReference& link) {
      const NetdevReading* known = readings.netdevs.find(link.name);
      if (known == nullptr || (link.ifindex != 0 && known->ifindex != link.ifindex)) named.insert(link.name);
    });
  for (const auto& [name, vlan] : readings.vlans) {
    named.insert(name);
    named.insert(vlan.parent);
  }
  for (const auto* routes : {&readings.default_routes, &readings.other_routes})
    named.insert(routes->begin(), routes->end());
  for (const std::string& name : named) {
    const NetdevReading* known = readings.netdevs.find(name);
    if ((known == nullptr ? 0 : known->ifindex) != ifindex_now(host, name))
      has_changed |= reread_changed(host, name, readings);
  }
  if (!has_changed) return false;
  // Only one of the names is current.
  std::map<int, std::vector<std::string>> names;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.ifindex != 0) names[netdev.ifindex].push_back(name);
  for (const auto& [ifindex, namesakes] : names)
    if (namesakes.size() > 1)
      for (const std::string& name : namesakes) reread_netdev(host, name, readings);
  return true;
}

// Reads interfaces by ifindex that only routes refer to.
bool read_unknown_netdevs(const HostView& host, HostReadings& readings) {
  const auto names = host.list(kNetdevsDir);
  bool has_changed = false;
  for (const std::string& name : names.value_or(std::vector<std::string>{}))
    if (!readings.netdevs.contains(name)) has_changed |= reread_changed(host, name, readings);
  return has_changed;
}

// Finds interfaces that an unlisted interface may use: each lower interface has a link to it.
void note_missing_links(const HostView& host, HostReadings& readings) {
  const std::set<int> known = ifindexes_of(readings);
  for (const auto& [name, netdev] : readings.netdevs)
    each_reference(netdev, [&](const LinkReference& link) {
      if (!known.contains(link.ifindex)) readings.missing_links.insert(missing_link(link.ifindex));
    });
  for (const auto& [name, netdev] : readings.netdevs) {
    const auto entries = host.list(std::string(kNetdevsDir) + "/" + name);
    const bool is_below =
        !entries || std::any_of(entries->begin(), entries->end(), [&](const std::string& one) {
          return one.starts_with("upper_") && !readings.netdevs.contains(one.substr(6));
        });
    if (is_below) readings.below_missing.insert(name);
  }
}

// Reads the relations between interfaces and routes until they are consistent. An interface may be renamed
// repeatedly: then the next reading continues, and meanwhile no host use is removed.
void read_relations(const HostView& host, const HostReadings& before, HostReadings& readings) {
  constexpr int kTriesMax = 4;
  for (int tries = 1;; ++tries) {
    read_vlans(host, readings);
    keep_default_routes(before, readings);
    const bool are_routes_known = read_default_routes(host, readings);
    bool has_changed = follow_names(host, readings);
    if (!are_routes_known && !has_changed) has_changed = read_unknown_netdevs(host, readings);
    readings.are_links_mixed =
        host.is_live() && (has_changed || !are_routes_known || has_unknown_links(readings));
    readings.below_missing.clear();
    if (has_changed || !readings.are_links_mixed) readings.missing_links.clear();
    if (!has_changed && readings.are_links_mixed) note_missing_links(host, readings);
    if (!has_changed || tries == kTriesMax) return;
  }
}

// An RDMA device may leave together with its function's interface, which was read before. Without a second
// read the RDMA device would be missing while the interface still exists, and the function would be
// remembered without RDMA.
void reread_beside_lost_rdma(const HostView& host, const std::map<PciAddress, std::string>& before,
                             HostReadings& readings) {
  std::vector<std::string> doubtful;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.is_functions_own && before.contains(*netdev.function) &&
        !readings.rdma_of_function.contains(*netdev.function))
      doubtful.push_back(name);
  for (const std::string& name : doubtful) reread_netdev(host, name, readings);
}

// ib_ipoib has parameters, so that it is below /sys/module also where it is built in. A root without that
// directory, such as a part of a machine's files, shows nothing.
bool has_no_ipoib(const HostView& host) {
  const auto modules = host.list("sys/module");
  return modules && std::find(modules->begin(), modules->end(), "ib_ipoib") == modules->end();
}

void read_without_ipoib(const HostView& host, HostReadings& readings) {
  readings.without_ipoib.clear();
  readings.ports_without_ipoib.clear();
  std::set<PciAddress> with_netdev;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.is_functions_own) with_netdev.insert(*netdev.function);
  std::optional<bool> is_absent;
  for (const auto& [function, name] : readings.rdma_of_function) {
    // A function of mlx4 has two ports, each of which is InfiniBand or Ethernet.
    const FunctionReading* reading = readings.functions.find(function);
    const bool has_two_ports = reading != nullptr && reading->driver == "mlx4_core";
    if (with_netdev.contains(function) && !has_two_ports) continue;
    std::set<int> infiniband;
    bool has_other = false;
    for (int port = 0; port < (has_two_ports ? 2 : 1); ++port) {
      const std::string layer = link_layer(host, name, port + 1);
      if (layer == "InfiniBand") infiniband.insert(port);
      has_other |= !layer.empty() && layer != "InfiniBand";
    }
    if (infiniband.empty()) continue;
    if (!is_absent) is_absent = has_no_ipoib(host);
    if (!*is_absent) continue;
    readings.ports_without_ipoib.emplace(function, std::move(infiniband));
    if (!has_other) readings.without_ipoib.insert(function);
  }
}

}  // namespace

HostListing list_host(const HostView& host, const HostReadings& before) {
  HostListing listing;
  listing.lists.vlans = before.vlans;
  read_boot_id(host, listing.lists);
  read_udevd(host, listing.lists);
  list_functions(host, listing);
  listing.netdevs = list_links(host, kNetdevsDir, listing.lists);
  read_rdma(host, listing.lists);
  read_vdpa(host, listing.lists);
  read_auxiliaries(host, listing.lists);
  keep_or_read_numa_nodes(host, before, listing.lists);
  read_vlans(host, listing.lists);
  return listing;
}

HostReadings read_host(const HostView& host, const HostReadings& before) {
  HostListing listing = list_host(host, before);
  HostReadings readings = std::move(listing.lists);
  for (const auto& [address, target] : listing.functions)
    if (auto function = read_function(host, address, target))
      readings.functions[address] = std::move(*function);
  for (const auto& [name, target] : listing.netdevs)
    if (auto netdev = read_netdev(host, name, target)) readings.netdevs[name] = std::move(*netdev);
  reread_beside_lost_rdma(host, before.rdma_of_function, readings);
  read_relations(host, before, readings);
  read_without_ipoib(host, readings);
  return readings;
}

void reread(const HostView& host, const Touched& touched, HostReadings& readings) {
  readings.problems.clear();
  HostReadings routes_before;
  routes_before.default_routes = readings.default_routes;
  routes_before.other_routes = readings.other_routes;
  routes_before.learned_routes = readings.learned_routes;
  routes_before.are_routes_unknown = readings.are_routes_unknown;
  routes_before.were_routes_read = readings.were_routes_read;
  for (const auto* routes : {&readings.default_routes, &readings.other_routes})
    for (const std::string& name : *routes)
      if (const NetdevReading* netdev = readings.netdevs.find(name)) routes_before.netdevs[name] = *netdev;
  std::set<PciAddress> functions = touched.functions;
  for (const PciAddress& address : touched.functions) {
    const FunctionReading* known = readings.functions.find(address);
    if (known != nullptr && known->physfn) functions.insert(*known->physfn);
  }
  for (const std::string& name : touched.netdevs) {
    reread_netdev(host, name, readings);
    reread_uppers(host, name, readings);
    // The kernel's event for an interface may arrive long before udev's for its function.
    const NetdevReading* netdev = readings.netdevs.find(name);
    if (netdev != nullptr && netdev->is_functions_own && !readings.functions.contains(*netdev->function))
      functions.insert(*netdev->function);
  }
  for (const PciAddress& address : functions) {
    const FunctionReading* known = readings.functions.find(address);
    const auto vfs_before = known == nullptr ? std::map<PciAddress, int>{} : known->vfs;
    reread_function(host, address, readings);
    const FunctionReading* now = readings.functions.find(address);
    if (now == nullptr) continue;
    const auto vfs_now = now->vfs;
    // A new VF affects its PF; a PF with changed links affects its VFs.
    if (const auto pf = now->physfn; pf && !functions.contains(*pf)) reread_function(host, *pf, readings);
    for (const auto& [mine, other] : {std::pair{&vfs_before, &vfs_now}, {&vfs_now, &vfs_before}})
      for (const auto& [vf, index] : *mine)
        if (!other->contains(vf) && !functions.contains(vf)) reread_function(host, vf, readings);
  }
  if (!touched.lists && touched.netdevs.empty()) return;
  const auto rdma_before = readings.rdma_of_function;
  read_rdma(host, readings);
  read_vdpa(host, readings);
  read_auxiliaries(host, readings);
  reread_beside_lost_rdma(host, rdma_before, readings);
  read_relations(host, routes_before, readings);
  read_without_ipoib(host, readings);
}

bool has_unknown_links(const HostReadings& readings) {
  const std::set<int> known = ifindexes_of(readings);
  bool is_any = false;
  for (const auto& [name, netdev] : readings.netdevs)
    each_reference(netdev, [&](const LinkReference& link) { is_any |= !known.contains(link.ifindex); });
  return is_any;
}

std::optional<std::string> netdev_of_soft_rdma(const HostView& host, const std::string& rdma_device) {
  const std::string dir = std::string(kRdmaDevicesDir) + "/" + rdma_device;
  auto parent = host.read(dir + "/parent");
  if (!parent) parent = host.read(dir + "/ports/1/gid_attrs/ndevs/0");
  if (!parent) return std::nullopt;
  return *std::move(parent);
}

VdpaDevice read_vdpa_device(const HostView& host, const std::string& name) {
  constexpr std::string_view kNode = "vhost-vdpa-";
  const std::string dir = std::string(kVdpaDevicesDir) + "/" + name;
  VdpaDevice out{.name = name};
  const auto driver = read_link_patiently(host, dir + "/driver");
  if (driver) {
    // drivers/vhost/vdpa.c and drivers/virtio/virtio_vdpa.c by their names on the bus.
    const std::string_view its = last_component(*driver);
    out.driver = its == "vhost_vdpa" ? "vhost" : its == "virtio_vdpa" ? "virtio" : "";
  } else if (!is_absence(driver.error())) {
    out.driver = kUnknownVdpa;
  }
  for (const std::string& entry : host.list(dir).value_or(std::vector<std::string>{}))
    if (entry.starts_with(kNode) && parse_int(entry.substr(kNode.size()))) out.node = "/dev/" + entry;
  return out;
}

std::vector<VdpaDevice> find_vdpa_devices(const HostView& host, const std::string& owner) {
  HostReadings readings;
  read_vdpa(host, readings);
  if (owner.find('/') != std::string::npos) return readings.vdpa_of_auxiliary[owner];
  const auto function = PciAddress::decode(owner);
  return function ? readings.vdpa_of_function[*function] : std::vector<VdpaDevice>();
}

SlowFacts read_slow_facts(const HostView& host, const std::string& netdev) {
  return read_slow_facts_of_netdev(host, netdev);
}

}  // namespace sliced::hotplug
