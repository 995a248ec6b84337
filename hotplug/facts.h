#pragma once
// What the kernel says of the node's network devices, as plain values. Unknown is absent (nullopt or ""),
// never a guess.
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/shared_map.h"

namespace sliced::hotplug {

/// "0000:03:00.2"; domains may be wider than 4 hex digits (VMD: "10000:01:00.0").
/// Ordered by domain, bus, device, function, as sysfs lists them.
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0, device = 0, function = 0;

  /// nullopt for any other spelling: sysfs has one.
  static std::optional<PciAddress> decode(std::string_view text);  // lower-case hex as in sysfs
  std::string text() const;
  std::string dashed() const;  // "0000-03-00-2": a DNS label
  auto operator<=>(const PciAddress&) const = default;
};

/// The type of a device. A function is a PF as soon as it can have VFs, whether it has some or not. kSf is a scalable function (subfunction):
/// an auxiliary device of a PF, without a PCI address of its own. kVirtual is all else.
enum class DeviceType { kPf, kVf, kNic, kBridge, kVlan, kBond, kVirtual, kSf };
/// The words are an interface: published attributes and the output of commands have them.
std::string_view name_of(DeviceType type);  // pf vf nic bridge vlan bond virtual sf
std::optional<DeviceType> device_type_of(std::string_view name);

/// What a PF enforces of one of its VFs (rtnetlink IFLA_VF_INFO, linux/if_link.h). Absent or "" is what its
/// driver does not tell.
struct VfConfig {
  std::string mac;  // lower case; all zeros where none is set
  std::optional<int> vlan, vlan_qos;
  std::string vlan_protocol;  // 802.1Q, 802.1ad
  std::optional<bool> trust, spoof_check;
  std::optional<bool> rss_query;  // its driver may read the hash key and the table of the PF's queues
  std::optional<int64_t> min_rate_mbps, max_rate_mbps;  // 0 without a limit
  std::string link_state;                               // auto, enable, disable
  std::string node_guid, port_guid;                     // InfiniBand: aa:bb:.. of eight bytes
  bool operator==(const VfConfig&) const = default;
};
/// Of a MAC address or GUID: there is one, and not all of its bytes are zero.
bool is_address_set(std::string_view address);

/// A network interface: of a function, or a link of its own.
/// Volatile facts are compared as well: a link that goes down makes another inventory.
struct Netdev {
  std::string name;         // what selectors see; kept from before while a pod's rename may still stand
  std::string kernel_name;  // what the kernel calls it now, or called it last when stale
  int ifindex = 0;
  std::string mac;  // aa:bb:.. lower case; "" unknown
  std::optional<int> mtu;
  std::optional<int> link_type;       // ARPHRD_*, /sys/class/net/X/type: 1 ethernet, 32 infiniband
  std::string oper_state;             // up, down, unknown ... (volatile)
  std::optional<int64_t> speed_mbps;  // (volatile)
  std::string master;                 // name of the bridge, bond or OVS datapath it is enslaved to
  std::string phys_switch_id, phys_port_name;
  std::vector<std::string>
      alternative_names;        // altname of ip-link(8): selectors take them too, nothing publishes them
  std::optional<int> dev_port;  // which port of its function, /sys/class/net/X/dev_port: from 0
  bool carries_default_route =
      false;                // one that the host uses, itself; what stands above it is in HostDevice::host_use
  bool stale = false;       // the netdev left our namespace; these are its last facts
  bool is_partial = false;  // with it: they were recovered, and what is absent may only be unknown
  /// udevd's rules for it are done (its file below run/udev/data); absent of facts that were not read now.
  std::optional<bool> is_initialized;
  std::optional<bool> is_up;  // IFF_UP: somebody has set it up; of functions' interfaces
  /// The kernel moves it to no other network namespace (LinkProperties::is_netns_immutable).
  std::optional<bool> is_netns_immutable;
  bool operator==(const Netdev&) const = default;
};

/// What HostDevice::host_use consists of.
enum class HostUseKind : uint8_t {
  kOther,         // or several, or it is unknown
  kDefaultRoute,  // default routes on its own interfaces, and nothing else
  kLearnedRoute,  // default routes that DHCP or router advertisements have set on its own interfaces, and nothing else
};

/// A vDPA device of a function (drivers/vdpa, Documentation/ABI/testing/sysfs-bus-vdpa).
struct VdpaDevice {
  std::string name;    // "vdpa0", as `vdpa dev add` was given it; "" there is none
  std::string driver;  // "vhost", "virtio": of the bus, without _vdpa; "" none or another one; kUnknownVdpa
  std::string node;    // "/dev/vhost-vdpa-0", which vhost_vdpa makes; "" none
  bool operator==(const VdpaDevice&) const = default;
};

/// One function or link with its facts.
/// What belongs to another type of device is empty. Names of other devices in it (representor, parent_name)
/// are texts, and may be of one that is not in the inventory.
struct HostDevice {
  /// Identity: a PCI address text for a function, scalable_function_id() for a scalable function, the interface name for a link.
  struct Id {
    std::string text;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  DeviceType type = DeviceType::kVirtual;

  // Functions.
  std::optional<PciAddress> pci;
  std::string vendor, product, subsystem_vendor, subsystem_product;  // 4 lower-case hex digits
  std::string driver;                                                // "" when none is bound
  bool is_on_vfio = false;  // the driver has registered it with VFIO: vfio-pci, or a variant driver
  /// The number of its IOMMU group; absent without an IOMMU, and of a group that VFIO makes without one (vfio-noiommu).
  std::optional<int> iommu_group;
  /// The other functions of its IOMMU group, network functions or not, without bridges: a program that has one of them by VFIO
  /// reaches all.
  std::set<PciAddress> iommu_partners;
  /// Partition keys of its RDMA device's InfiniBand ports, "0x8001", in the order of the tables and each once; empty of another link layer.
  std::vector<std::string> pkeys;
  VdpaDevice vdpa;                  // of functions and scalable functions
  std::optional<int> numa_node;     // a VF's own or, when that is -1, its PF's; absent when both are -1
  std::vector<int> numa_neighbors;  // of numa_node: HostReadings::numa_neighbors
  std::string pcie_root;            // "pci0000:00"
  // PFs.
  int total_vfs = 0, num_vfs = 0;
  // Told by the representors that are there, not asked of devlink: switchdev without any looks like legacy.
  std::string eswitch_mode;  // legacy, switchdev; "" for what is not a PF
  // VFs and scalable functions: the PF and its facts, and the representor.
  // vf_index: as the PF's virtfn links say; a VF without one is `broken`.
  std::optional<PciAddress> pf;
  std::optional<int> vf_index;
  std::string pf_name;  // the PF's (in switchdev mode: the uplink's) netdev name; "" unknown
  std::vector<std::string> pf_alternative_names;  // those of that netdev
  std::string pf_product;                         // the PF's device id
  std::optional<int> pf_numa_node;                // the PF's numa_node as the kernel has it: -1 is kept
  std::optional<int> pf_link_type;                // the PF's netdev's ARPHRD_*
  std::string admin_mac;                          // enforced->mac; "" unknown, or none is set
  /// Absent: its PF has not reported it. Older than the kernel's last answer where `unreadable` has "settings".
  std::optional<VfConfig> enforced;
  std::string representor;  // netdev name of the representor
  // Scalable functions.
  std::optional<int>
      sf_number;  // sfnum: chosen by who made it, and unlike the auxiliary device's name the same after a restart
  // Links.
  std::string bridge_type;  // linux, ovs
  std::optional<bool> vlan_filtering;
  std::optional<int> vlan_id;
  std::string parent_name;     // VLAN's lower device
  std::string representor_of;  // of a representor: the VF's PCI address, or the scalable function's id

  std::optional<Netdev> netdev;       // of a function with several ports the first one's
  std::vector<Netdev> other_netdevs;  // those of its other ports, in their order; some may be stale
  bool misses_ports = false;          // there must be another port, of which nothing is known
  std::string rdma_device;            // "mlx5_0"
  /// Why the host itself uses it ("enslaved to br0", "default route through eth0.100"); "" when it does not.
  std::string host_use;
  HostUseKind host_use_kind = HostUseKind::kOther;
  /// Facts that could not be read, "speed: EIO": shown, and they cost only themselves.
  std::vector<std::string> unreadable;
  /// Set when identity itself cannot be trusted (name not UTF-8, half-removed): held back, with this as the
  /// reason.
  std::string broken;

  bool operator==(const HostDevice&) const = default;
};

/// "sf88-0000-03-00-0": a DNS label, and longer than any interface name.
std::string scalable_function_id(const PciAddress& pf, int sf_number);

/// Whether a driver is one of VFIO by its name: vfio-pci and its variants ("mlx5_vfio_pci", "nvgrace-gpu-vfio-pci"; drivers/vfio/pci).
/// A driver may have any name: is_bound_to_vfio() in hotplug/pci_function.h asks sysfs, too.
bool is_vfio_driver(std::string_view driver);

/// Whether a function may have an interface that is not in our namespace: there is none here (or its last
/// facts are shown, stale), and its driver makes some. Known to have none anywhere is what has no driver, or
/// one that hands the whole function over: VFIO (vfio-pci and its variants, "mlx5_vfio_pci"), UIO
/// (uio_pci_generic, igb_uio), pci-stub, pciback. Of any other driver nothing is assumed. Always false for
/// links.
bool is_netdev_elsewhere(const HostDevice& device);
/// Why the kernel does not move the device's interface to another network namespace (netdev->netns_immutable, formerly NETIF_F_NETNS_LOCAL):
/// "a bond"; "" it does, as far as is known. The kernel's own answer decides, where it gives one (since Linux 6.15).
std::string_view immovable_kind(const HostDevice& device);
/// Bound to such a driver: it has no interface because it is handed over whole.
bool is_handed_over(const HostDevice& device);

/// Which of HostDevice::unreadable, or of a reading's, is of one of these files, with a space between them; "" none is. A note
/// names one file, or several ("operstate, speed: no answer"). Valid as long as the notes.
std::string_view find_unreadable(const std::vector<std::string>& unreadable, std::string_view files);

/// Immutable, shared by whoever needs it. version grows with every change.
struct Inventory {
  uint64_t version = 0;
  std::string boot_id;            // proc/sys/kernel/random/boot_id
  bool has_udevd = false;         // run/udev/control is there
  bool asks_pfs = false;          // what PFs enforce is asked of the running kernel
  SharedMap<HostDevice> devices;  // by Id::text
  /// Alternative names of interfaces that another device's interface has too, as its name or as an alternative one: an interface in a
  /// pod keeps its names here, and another may have been given one of them meanwhile. No selector matches by these.
  std::set<std::string> contested_names;
  /// Functions that an event says are gone, and nobody has looked for since: the event may be older than another
  /// function at the same address.
  std::set<PciAddress> vanished;

  /// nullptr where there is none of that id. Good as long as the inventory.
  const HostDevice* find(std::string_view id) const { return devices.find(id); }
  /// Of a function: there is none, and may be one.
  bool is_vanished(const std::string& id) const;
};
using InventoryPtr = std::shared_ptr<const Inventory>;

/// Inventory::contested_names of these devices.
std::set<std::string> find_contested_names(const SharedMap<HostDevice>& devices);

/// In place of an RDMA device's name, of a function that is known to have one.
inline constexpr std::string_view kUnknownRdmaDevice = "unknown";

/// In place of VdpaDevice::driver, where that cannot be read.
inline constexpr std::string_view kUnknownVdpa = "unknown";

/// A netdev known from what we published before a restart, in the same boot.
/// Of the same boot only: the kernel numbers and names interfaces anew at the next.
struct RecoveredNetdev {
  PciAddress function;
  Netdev netdev;  // without a name: only rdma_device is known. Else name, mac, mtu, link_type,
                  // phys_port_name; the rest is not published and stays unknown
  std::string rdma_device;
};

}  // namespace sliced::hotplug
