#pragma once
// Facts as read from the host, before devices are derived from them. They are kept between scans, so that an
// event causes only the reads of the entries that it marks. resolve.h derives host devices.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "reactor/base/shared_map.h"

namespace sliced::hotplug {

/// One network function below /sys/bus/pci/devices. A file that could not be read is named in `unreadable`
/// ("driver: EIO"); `broken` is the reason why the whole reading is unreliable. Sources: the files and links
/// of Documentation/ABI/testing/sysfs-bus-pci, and driver-independent ones (vendor, device, numa_node,
/// physfn).
struct FunctionReading {
  PciAddress pci;
  std::string pcie_root;  // "" if the path does not begin with a root complex
  // Four lower-case hex digits, without "0x". driver: its link's last component.
  std::string vendor, product, subsystem_vendor, subsystem_product, driver;
  bool is_on_vfio = false;              // see HostDevice
  std::optional<int> iommu_group;       // see HostDevice
  std::set<PciAddress> iommu_partners;  // see HostDevice
  std::optional<int> numa_node;         // unchanged, including -1
  std::optional<PciAddress> physfn;
  // sriov_totalvfs and sriov_numvfs; not read for a VF. At most 65,535 each.
  int total_vfs = 0, num_vfs = 0;
  // sriov_offset, sriov_stride and sriov_vf_device of a PF: the routing identifiers and the product of its
  // VFs, which are valid even without links (PCI Express, SR-IOV Extended Capability). 0: not reported.
  int vf_offset = 0, vf_stride = 0;
  std::string vf_product;  // four digits, as product
  /// A PF's links. A VF counts only if both ends agree.
  std::map<PciAddress, int> vfs;  // virtfnN links: address -> N
  std::vector<std::string> unreadable;
  std::string broken;
  bool operator==(const FunctionReading&) const = default;
};

/// Attributes whose reads lock the kernel's network state or query firmware. Absent until they were read.
/// They are read after everything else, each interface with a deadline of its own; an interface that hangs
/// keeps its last values.
struct SlowFacts {
  std::string oper_state;
  // From the file speed; nullopt if the kernel refuses (the link is down) or reports 0 or less.
  std::optional<int64_t> speed_mbps;
  std::string phys_switch_id, phys_port_name;
  /// Name of the devlink port by its flavour (HostView::devlink_port()). Read only if the interface has a
  /// switch id and phys_port_name is ambiguous; takes precedence over phys_port_name. "" if there is none.
  std::string devlink_port = {};
  std::vector<std::string> alternative_names;  // in the kernel's order; only valid UTF-8
  std::optional<bool> is_netns_immutable;      // see LinkProperties
  std::vector<std::string> unreadable;
  bool operator==(const SlowFacts&) const = default;
};

/// Another interface that a link in an interface's directory names (master, lower_NAME). The ifindex is read
/// through the link: unlike the name it stays correct when that interface is renamed. 0 if the target has no
/// such file (a manual snapshot).
struct LinkReference {
  std::string name;
  int ifindex = 0;
  bool operator==(const LinkReference&) const = default;
};

/// One interface below /sys/class/net. `unreadable` and `broken` as for a function. Sources: the files and
/// links of Documentation/ABI/testing/sysfs-class-net, DEVTYPE of the uevent file.
struct NetdevReading {
  std::string name;
  int ifindex = 0;
  // Lower case; "" if the file has no valid address.
  std::string mac;
  std::optional<int> mtu, link_type;
  std::optional<bool> is_up;  // IFF_UP of the file flags; only for functions' interfaces
  std::string master;
  int master_ifindex = 0;              // as in LinkReference
  std::optional<PciAddress> function;  // the PCI function above it, of any class
  std::optional<int> dev_port;         // port number within the function; only for functions' interfaces
  bool is_functions_own = false;       // false for indirect children: scalable functions, USB adapters
  std::string auxiliary;               // scalable functions: see auxiliary_above()
  std::optional<int> sf_number;        // scalable functions: the file sfnum
  std::string devtype;                 // uevent DEVTYPE: bridge, vlan, bond, openvswitch ...; links only
  bool has_bridge = false, has_bonding = false;
  std::optional<bool> vlan_filtering;
  bool is_initialized = false;  // by udevd; false also if that cannot be read
  // "eth0" for lower_eth0; at most 4,096. The lower interfaces of a bridge, a bond or a VLAN.
  std::vector<LinkReference> lowers;  // links only
  std::optional<SlowFacts> slow;
  std::vector<std::string> unreadable;
  std::string broken;
  bool operator==(const NetdevReading&) const = default;
};

/// A line of proc/net/vlan/config: the VLAN's number and its lower interface, neither of which is in sysfs.
struct VlanEntry {
  int id = 0;
  std::string parent;
  bool operator==(const VlanEntry&) const = default;
};

/// All facts of approximately one moment: files are read one after the other while the kernel continues. A
/// value that is passed to a worker and back; copies share unchanged parts.
struct HostReadings {
  std::string boot_id;
  SharedMap<FunctionReading, PciAddress> functions;
  SharedMap<NetdevReading> netdevs;
  std::map<PciAddress, std::vector<VdpaDevice>> vdpa_of_function;  // sorted by sorts_before()
  // From /sys/class/infiniband; for a function with several devices the first by name.
  std::map<PciAddress, std::string> rdma_of_function;
  // Scalable functions by auxiliary_above(). `auxiliaries`: their numbers, from sys/bus/auxiliary/devices.
  std::map<std::string, std::optional<int>> auxiliaries;
  std::map<std::string, std::string> rdma_of_auxiliary;
  std::map<std::string, std::vector<VdpaDevice>> vdpa_of_auxiliary;
  std::map<PciAddress, std::vector<std::string>>
      pkeys;  // as in HostDevice; read after everything else, as are VfConfigs
  std::map<PciAddress, std::string> pkeys_unread;  // why their last read failed; `pkeys` is older
  // InfiniBand ports, by function and number from 0, without an interface that could be elsewhere: ib_ipoib,
  // which creates the interfaces, is not loaded. without_ipoib: functions that have no other port.
  std::map<PciAddress, std::set<int>> ports_without_ipoib;
  std::set<PciAddress> without_ipoib;
  // mlx5 functions (as text) and scalable functions (by auxiliary_above()) whose driver makes no interface:
  // the devlink parameter enable_eth is false.
  std::set<std::string> without_ethernet;
  std::map<std::string, std::string> rdma_of_netdev;  // soft RoCE and similar: netdev -> RDMA device
  std::map<std::string, VlanEntry> vlans;             // proc/net/vlan/config
  std::set<std::string> default_routes;               // names of interfaces that carry one used by the host
  std::set<std::string> learned_routes;               // subset of default_routes: RouteLinks::learned
  std::set<std::string> other_routes;  // interfaces with routes beyond their subnets (RouteLinks)
  bool are_routes_unknown = false;     // they were never read: any interface may carry one
  bool were_routes_read = false;
  /// An interface is stacked on, or a route leads to, an interface outside netdevs, which was renamed or
  /// created during the read. Host use cannot be derived from these readings alone.
  bool are_links_mixed = false;
  /// If that is the only reason: those interfaces, "ifindex 4711" or a name. Otherwise empty.
  std::set<std::string> missing_links;
  /// With missing_links: names of interfaces with an upper interface outside netdevs (upper_NAME), or whose
  /// upper interfaces cannot be read.
  std::set<std::string> below_missing;
  /// Several consecutive full readings had the same missing links and the same other relations: /sys does not
  /// list these links, so no reading will find them (HostSource::kMissingReadings). Then the possibly used
  /// devices follow from below_missing.
  bool are_missing_lasting = false;
  /// For each NUMA node the other nodes of its processor package at the least distance
  /// (sys/devices/system/node/nodeN/distance), ascending. Empty if there are none, or they cannot be read.
  /// KEP-6072 lists them after a device's own node.
  std::map<int, std::vector<int>> numa_neighbors;
  bool are_numa_nodes_read = false;         // read in this boot without an error, so not read again
  std::map<PciAddress, VfConfig> enforced;  // VF -> settings that its PF enforces
  /// PFs and VFs: why the kernel's last answer lacks settings. Those in `enforced` are older.
  std::map<PciAddress, std::string> settings_unread;
  std::set<PciAddress> vanished;  // see Inventory
  // see Inventory.
  bool has_udevd = false, can_query_pfs = false;
  /// For the log, which contains each once while it lasts.
  std::vector<std::string> problems;
  /// A directory could not be listed (no descriptors, no memory, EIO). Missing entries may exist, so no
  /// devices may be derived.
  bool is_incomplete = false;
  bool operator==(const HostReadings&) const = default;
};

}  // namespace sliced::hotplug
