#pragma once
// What was read from the host, before anything is concluded from it. Kept between scans, so that an event
// re-reads only what it touches; resolve.h makes host devices of it.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "reactor/base/shared_map.h"

namespace sliced::hotplug {

/// One network function below /sys/bus/pci/devices.
/// What could not be read costs only itself and is named in `unreadable` ("driver: EIO"); what makes the
/// whole of it unreliable is in `broken`.
/// Sources: the files and links of Documentation/ABI/testing/sysfs-bus-pci, and its driver-independent
/// neighbours (vendor, device, numa_node, physfn).
struct FunctionReading {
  PciAddress pci;
  std::string pcie_root;  // "" when the path does not begin with a root complex
  // Four lower-case hex digits, without "0x". driver: its link's last component.
  std::string vendor, product, subsystem_vendor, subsystem_product, driver;
  bool is_on_vfio = false;              // as HostDevice has it
  std::optional<int> iommu_group;       // as HostDevice has them
  std::set<PciAddress> iommu_partners;  // "
  std::optional<int> numa_node;         // as it stands: -1 is kept
  std::optional<PciAddress> physfn;
  // sriov_totalvfs and sriov_numvfs; not read of a VF. At most 65,535 each, whatever the files say.
  int total_vfs = 0, num_vfs = 0;
  // sriov_offset, sriov_stride and sriov_vf_device of a PF: at which routing identifiers its VFs are, and with
  // which product, whether they have their links or not (PCI Express, SR-IOV Extended Capability). 0: not told.
  int vf_offset = 0, vf_stride = 0;
  std::string vf_product;  // four digits, as product
  /// Of a PF, as its links say: a VF is believed only when both ends agree.
  std::map<PciAddress, int> vfs;  // virtfnN links: address -> N
  std::vector<std::string> unreadable;
  std::string broken;
  bool operator==(const FunctionReading&) const = default;
};

/// Attributes whose readers take the kernel's network lock or ask firmware. Absent until they were read.
/// So they are read behind everything else, each interface with a deadline of its own; an interface that
/// hangs keeps what it had.
struct SlowFacts {
  std::string oper_state;
  // As the file speed has it; nullopt where the kernel refuses (the link is down) or says 0 or less.
  std::optional<int64_t> speed_mbps;
  std::string phys_switch_id, phys_port_name;
  std::vector<std::string> alternative_names;  // in the kernel's order; those that are UTF-8
  std::optional<bool> is_netns_immutable;      // as LinkProperties has it
  std::vector<std::string> unreadable;
  bool operator==(const SlowFacts&) const = default;
};

/// Another interface, as a link in an interface's directory names it (master, lower_NAME). The ifindex is read through the link:
/// unlike the name it stays right when that interface is renamed. 0 where the target has no such file (a snapshot by hand).
struct LinkReference {
  std::string name;
  int ifindex = 0;
  bool operator==(const LinkReference&) const = default;
};

/// One interface below /sys/class/net.
/// `unreadable` and `broken` as those of a function.
/// Sources: the files and links of Documentation/ABI/testing/sysfs-class-net, DEVTYPE of the uevent file.
struct NetdevReading {
  std::string name;
  int ifindex = 0;
  // Lower case; "" where the file has no address, or something that is none.
  std::string mac;
  std::optional<int> mtu, link_type;
  std::optional<bool> is_up;  // IFF_UP of the file flags; of functions' own only
  std::string master;
  int master_ifindex = 0;              // as that of a LinkReference
  std::optional<PciAddress> function;  // the PCI function above it, network function or not
  std::optional<int> dev_port;         // which of the function's; of functions' own only
  bool is_functions_own = false;       // false for what merely hangs below: scalable functions, USB adapters
  std::string auxiliary;               // of a scalable function's: as auxiliary_above() yields it
  std::optional<int> sf_number;        // of a scalable function's: its file sfnum
  std::string devtype;                 // uevent DEVTYPE: bridge, vlan, bond, openvswitch ...; links only
  bool has_bridge = false, has_bonding = false;
  std::optional<bool> vlan_filtering;
  bool is_initialized = false;  // by udevd; false also where that cannot be read
  // Of lower_eth0 the "eth0"; at most 4,096. What a bridge, a bond or a VLAN stands on.
  std::vector<LinkReference> lowers;  // links only
  std::optional<SlowFacts> slow;
  std::vector<std::string> unreadable;
  std::string broken;
  bool operator==(const NetdevReading&) const = default;
};

/// A line of proc/net/vlan/config: the VLAN's number and the interface below it.
/// Both as the kernel's text has them: sysfs tells neither.
struct VlanEntry {
  int id = 0;
  std::string parent;
  bool operator==(const VlanEntry&) const = default;
};

/// Everything of one moment, or as near to one as sysfs allows: files are read one after the other while
/// the kernel goes on. A value, handed to a worker and back; copies share what neither reads again.
struct HostReadings {
  std::string boot_id;
  SharedMap<FunctionReading, PciAddress> functions;
  SharedMap<NetdevReading> netdevs;
  std::map<PciAddress, VdpaDevice> vdpa_of_function;
  // From /sys/class/infiniband; of a function with several devices the first by name.
  std::map<PciAddress, std::string> rdma_of_function;
  // Of scalable functions, by what auxiliary_above() yields. `auxiliaries`: their numbers, all of sys/bus/auxiliary/devices.
  std::map<std::string, std::optional<int>> auxiliaries;
  std::map<std::string, std::string> rdma_of_auxiliary;
  std::map<std::string, VdpaDevice> vdpa_of_auxiliary;
  std::map<PciAddress, std::vector<std::string>>
      pkeys;  // as HostDevice has them; read behind the rest, as VfConfigs are
  std::map<PciAddress, std::string>
      pkeys_unread;  // why the last reading of them has failed; `pkeys` is older
  std::map<std::string, std::string> rdma_of_netdev;  // soft RoCE and the like: netdev -> RDMA device
  std::map<std::string, VlanEntry> vlans;             // proc/net/vlan/config
  std::set<std::string> default_routes;  // names of interfaces that carry one which the host uses
  std::set<std::string> learned_routes;  // of default_routes: RouteLinks::learned
  std::set<std::string> other_routes;    // that carry others beyond their subnets (RouteLinks)
  bool are_routes_unknown = false;       // they never could be read: any interface may carry one
  bool were_routes_read = false;
  /// Some interface stands on, or some route leads to, an interface that is not among netdevs: it was renamed, or came, while
  /// these were read. Which functions the host uses cannot be concluded from them alone.
  bool are_links_mixed = false;
  /// Where that is the only reason: what those interfaces are, "ifindex 4711" or a name. Else empty.
  std::set<std::string> missing_links;
  /// With missing_links: names of interfaces on which something stands that is not among netdevs (upper_NAME), or of which that cannot
  /// be read.
  std::set<std::string> below_missing;
  /// Several full readings in a row have found the same links missing and everything else that relates interfaces the same: /sys does
  /// not list them, and no reading will (HostSource::kMissingReadings). Then what may be used follows from below_missing.
  bool are_missing_lasting = false;
  /// Of each NUMA node the others of its processor package, those at the least distance (sys/devices/system/node/nodeN/distance);
  /// ascending. Empty where there are none, or it cannot be read: KEP-6072 lists them after a device's own node.
  std::map<int, std::vector<int>> numa_neighbors;
  bool are_numa_nodes_read = false;         // in this boot, without an error: they are not read again
  std::map<PciAddress, VfConfig> enforced;  // VF -> what its PF enforces of it
  /// Of PFs and VFs: why the last answer of the kernel has not, or not all, of their settings. What `enforced` has of them is older.
  std::map<PciAddress, std::string> settings_unread;
  std::set<PciAddress> vanished;  // as Inventory has them
  // As Inventory has them.
  bool has_udevd = false, asks_pfs = false;
  /// For the log, each said once while it lasts.
  std::vector<std::string> problems;
  /// A directory that tells what there is could not be listed (no descriptors, no memory, EIO): what is
  /// missing here may well be there, so nothing must be concluded.
  bool is_incomplete = false;
  bool operator==(const HostReadings&) const = default;
};

}  // namespace sliced::hotplug
