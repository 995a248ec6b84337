#pragma once
// The kernel's facts about the node's network devices, as plain values. An unknown fact is absent (nullopt or
// ""), never guessed.
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

/// "0000:03:00.2"; domains may have more than 4 hex digits (VMD: "10000:01:00.0"). Ordered by domain, bus,
/// device, function, as in sysfs.
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0, device = 0, function = 0;

  /// Returns nullopt for any spelling other than that of sysfs.
  static std::optional<PciAddress> decode(std::string_view text);  // lower-case hex as in sysfs
  std::string text() const;
  std::string dashed() const;  // "0000-03-00-2": a DNS label
  auto operator<=>(const PciAddress&) const = default;
};

/// The type of a device. A function is a PF if it can have VFs, whether it has any or not. kSf is a scalable
/// function (subfunction): an auxiliary device of a PF, without a PCI address of its own. kVirtual is any
/// other link.
enum class DeviceType { kPf, kVf, kNic, kBridge, kVlan, kBond, kVirtual, kSf };
/// The names are an interface: published attributes and the output of commands contain them.
std::string_view name_of(DeviceType type);  // pf vf nic bridge vlan bond virtual sf
std::optional<DeviceType> device_type_of(std::string_view name);

/// Settings that a PF enforces for a VF (rtnetlink IFLA_VF_INFO, linux/if_link.h). Absent or "" if its driver
/// does not report them.
struct VfConfig {
  std::string mac;  // lower case; all zeros if none is set
  std::optional<int> vlan, vlan_qos;
  std::string vlan_protocol;  // 802.1Q, 802.1ad
  std::optional<bool> trust, spoof_check;
  std::optional<bool> rss_query;  // its driver may read the hash key and the table of the PF's queues
  std::optional<int64_t> min_rate_mbps, max_rate_mbps;  // 0: no limit
  std::string link_state;                               // auto, enable, disable
  std::string node_guid, port_guid;                     // InfiniBand: aa:bb:.. of eight bytes
  bool operator==(const VfConfig&) const = default;
};
/// Returns whether a MAC address or GUID is present and not all zero.
bool is_address_set(std::string_view address);

/// A network interface: of a function, or a link of its own. Volatile facts are compared as well, so a link
/// that goes down changes the inventory.
struct Netdev {
  std::string name;         // the name for selectors; it stays the same while a rename by a pod may still be
                            // in effect
  std::string kernel_name;  // the kernel's current name, or its last one if stale
  int ifindex = 0;
  std::string mac;  // aa:bb:.., lower case; "" if unknown
  std::optional<int> mtu;
  std::optional<int> link_type;       // ARPHRD_*, /sys/class/net/X/type: 1 ethernet, 32 infiniband
  std::string oper_state;             // up, down, unknown ... (volatile)
  std::optional<int64_t> speed_mbps;  // (volatile)
  std::string master;                 // name of the bridge, bond or OVS datapath to which it is enslaved
  std::string phys_switch_id, phys_port_name;
  std::vector<std::string>
      alternative_names;        // altname of ip-link(8): selectors match them, too; not published
  std::optional<int> dev_port;  // port number within its function, /sys/class/net/X/dev_port: from 0
  bool carries_default_route =
      false;                // the interface itself carries one that the host uses; for upper interfaces see
                            // HostDevice::host_use
  bool stale = false;       // the interface left our namespace; these are its last facts
  bool is_partial = false;  // if stale: the facts were recovered, and absent ones may only be unknown
  /// udevd has run its rules for it (its file below run/udev/data); absent if not read now.
  std::optional<bool> is_initialized;
  std::optional<bool> is_up;  // IFF_UP; only for functions' interfaces
  /// The kernel does not move it to another network namespace (LinkProperties::is_netns_immutable).
  std::optional<bool> is_netns_immutable;
  /// Of its port, as `devlink port show` has it: physical (an uplink); pcipf, pcivf, pcisf (representors); ""
  /// if unknown.
  std::string port_flavour = {};
  bool operator==(const Netdev&) const = default;
};

/// The kind of HostDevice::host_use.
enum class HostUseKind : uint8_t {
  kOther,         // several, or unknown
  kDefaultRoute,  // only default routes on its own interfaces
  kLearnedRoute,  // only default routes from DHCP or router advertisements on its own interfaces
};

/// A vDPA device of a function (drivers/vdpa, Documentation/ABI/testing/sysfs-bus-vdpa).
struct VdpaDevice {
  std::string name;    // "vdpa0", as named by `vdpa dev add`; "" if none
  std::string driver;  // "vhost", "virtio": its bus driver, without _vdpa; "" if none or another one;
                       // kUnknownVdpa
  std::string node;    // "/dev/vhost-vdpa-0", created by vhost_vdpa; "" if none
  bool operator==(const VdpaDevice&) const = default;
};

/// The order of the vDPA devices of one function. First one that the host uses or may use (unknown driver,
/// virtio), so that the function is in use; then one whose node a container can get (vhost); then by name,
/// "vdpa2" before "vdpa10".
bool sorts_before(const VdpaDevice& a, const VdpaDevice& b);

/// One function or link with its facts. Facts of other device types are empty. Names of other devices in it
/// (representor, parent_name) are texts, and may refer to devices outside the inventory.
struct HostDevice {
  /// Identity: the PCI address of a function, scalable_function_id() of a scalable function, the interface
  /// name of a link.
  struct Id {
    std::string text;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  DeviceType type = DeviceType::kVirtual;

  // Functions.
  std::optional<PciAddress> pci;
  std::string vendor, product, subsystem_vendor, subsystem_product;  // 4 lower-case hex digits
  std::string driver;                                                // "" if none is bound
  bool is_on_vfio = false;  // the driver has registered it with VFIO: vfio-pci, or a variant driver
  /// The number of its IOMMU group; absent without an IOMMU, and for a group that VFIO creates without one
  /// (vfio-noiommu).
  std::optional<int> iommu_group;
  /// The other functions of its IOMMU group except bridges, including those that are not network functions: a
  /// program with VFIO access to one can reach all.
  std::set<PciAddress> iommu_partners;
  /// Partition keys of its RDMA device's InfiniBand ports, "0x8001", in the order of the tables and without
  /// duplicates; empty for another link layer.
  std::vector<std::string> pkeys;
  VdpaDevice vdpa;  // functions and scalable functions: of several vDPA devices the first (sorts_before())
  std::vector<VdpaDevice> other_vdpas;  // the others, in order
  std::optional<int> numa_node;         // a VF's own or, if that is -1, its PF's; absent if both are -1
  std::vector<int> numa_neighbors;      // of numa_node: HostReadings::numa_neighbors
  std::string pcie_root;                // "pci0000:00"
  // PFs.
  int total_vfs = 0, num_vfs = 0;
  // Derived from the representors, not from devlink: switchdev without any representor is reported as legacy.
  std::string eswitch_mode;  // legacy, switchdev; "" for other types
  // VFs and scalable functions: the PF and its facts, and the representor. vf_index: from the PF's virtfn
  // links; a VF without one is `broken`.
  std::optional<PciAddress> pf;
  std::optional<int> vf_index;
  std::string pf_name;  // the PF's (in switchdev mode: the uplink's) netdev name; "" if unknown
  std::vector<std::string> pf_alternative_names;  // of that netdev
  std::string pf_product;                         // the PF's device id
  std::optional<int> pf_numa_node;                // the PF's numa_node from the kernel, including -1
  std::optional<int> pf_link_type;                // ARPHRD_* of the PF's netdev
  std::string admin_mac;                          // enforced->mac; "" if unknown or not set
  /// Absent if its PF has not reported it. Older than the kernel's last answer if `unreadable` contains
  /// "settings".
  std::optional<VfConfig> enforced;
  std::string representor;  // netdev name of the representor
  // Scalable functions.
  std::optional<int>
      sf_number;  // sfnum: set by its creator; unlike the auxiliary device's name it is the same after a
                  // restart
  // Links.
  std::string bridge_type;  // linux, ovs
  std::optional<bool> vlan_filtering;
  std::optional<int> vlan_id;
  std::string parent_name;     // VLAN's lower device
  std::string representor_of;  // representor: the VF's PCI address, or the scalable function's id

  std::optional<Netdev> netdev;       // of a function with several ports the first one's
  std::vector<Netdev> other_netdevs;  // of its other ports, in order; some may be stale
  bool misses_ports = false;          // another port must exist, but its facts are unknown
  std::string rdma_device;            // "mlx5_0"
  /// How the host itself uses it ("enslaved to br0", "default route through eth0.100"); "" if it does not.
  std::string host_use;
  HostUseKind host_use_kind = HostUseKind::kOther;
  /// Facts that could not be read, "speed: EIO". They are shown; other facts stay valid.
  std::vector<std::string> unreadable;
  /// Why its identity is unreliable (name not UTF-8, half-removed); the device is held back for this reason.
  std::string broken;

  bool operator==(const HostDevice&) const = default;
};

/// "sf88-0000-03-00-0": a DNS label, and longer than any interface name.
std::string scalable_function_id(const PciAddress& pf, int sf_number);

/// Returns whether a driver's name is that of a VFIO driver: vfio-pci or a variant ("mlx5_vfio_pci",
/// "nvgrace-gpu-vfio-pci"; drivers/vfio/pci). A VFIO driver may have any name: is_bound_to_vfio() in
/// hotplug/pci_function.h also reads sysfs.
bool is_vfio_driver(std::string_view driver);

/// Returns whether a function may have an interface outside our namespace: it has none here (or a stale one),
/// and its driver creates interfaces. Functions without a driver have none, nor those on a driver for whole
/// functions: VFIO (vfio-pci and its variants, "mlx5_vfio_pci"), UIO (uio_pci_generic, igb_uio), pci-stub,
/// pciback, nor those on a driver that creates RDMA or vDPA devices alone (efa, usnic_verbs, ifcvf, vp-vdpa).
/// Any other driver may create some. False for links.
bool is_netdev_elsewhere(const HostDevice& device);
/// Returns why the kernel does not move the device's interface to another network namespace
/// (netdev->netns_immutable, formerly NETIF_F_NETNS_LOCAL): "a bond"; "" if it may be movable. The kernel's
/// own report takes precedence (since Linux 6.15).
std::string_view immovable_kind(const HostDevice& device);
/// Returns whether the function is bound to such a driver for whole functions, and so has no interface.
bool is_handed_over(const HostDevice& device);

/// Returns the first note of HostDevice::unreadable, or of a reading's, about one of these files, which are
/// separated by spaces; "" if none. A note names one file, or several ("operstate, speed: no answer"). Valid
/// as long as the notes.
std::string_view find_unreadable(const std::vector<std::string>& unreadable, std::string_view files);

/// Immutable and shared. version grows with every change.
struct Inventory {
  uint64_t version = 0;
  std::string boot_id;            // proc/sys/kernel/random/boot_id
  bool has_udevd = false;         // run/udev/control exists
  bool can_query_pfs = false;     // the settings that PFs enforce are read from the running kernel
  SharedMap<HostDevice> devices;  // by Id::text
  /// Alternative names of interfaces that another device's interface also has, as its name or as an
  /// alternative one. An interface in a pod keeps its names here, and another interface may have got one of
  /// them meanwhile. Selectors do not match by these.
  std::set<std::string> contested_names;
  /// Functions that were removed according to an event, and that were not read since: another function may
  /// have appeared at the same address after the event.
  std::set<PciAddress> vanished;

  /// Returns nullptr if there is no device with that id. Valid as long as the inventory.
  const HostDevice* find(std::string_view id) const { return devices.find(id); }
  /// Returns whether the function is in `vanished` and not in `devices`.
  bool is_vanished(const std::string& id) const;
};
using InventoryPtr = std::shared_ptr<const Inventory>;

/// Returns Inventory::contested_names of these devices.
std::set<std::string> find_contested_names(const SharedMap<HostDevice>& devices);

/// Replaces an RDMA device's unknown name, for a function that has one.
inline constexpr std::string_view kUnknownRdmaDevice = "unknown";

/// Replaces VdpaDevice::driver if that cannot be read.
inline constexpr std::string_view kUnknownVdpa = "unknown";

/// A netdev known from slices that were published before a restart, in the same boot. The kernel numbers and
/// names interfaces again at each boot.
struct RecoveredNetdev {
  PciAddress function;
  Netdev netdev;  // without a name: only rdma_device is known. Otherwise name, mac, mtu, link_type,
                  // phys_port_name; other facts are not published and stay unknown
  std::string rdma_device;
};

}  // namespace sliced::hotplug
