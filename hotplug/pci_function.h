#pragma once
// One PCI function below /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci), identity first.
#include <map>
#include <optional>
#include <set>

#include "hotplug/host_view.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Limit of VF links of a PF: more than any hardware has, and a bound for a hostile tree.
inline constexpr int kVfsPerPfMax = 4096;

/// Returns nullopt if the function does not exist or is not a network function (class 02xx). A function that
/// loses its identity during the read is read again once, and is then `broken`.
std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address);

/// The same with the open directory of all functions; link_target is the function's entry in it ("" if
/// unknown).
std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address,
                                             std::string_view link_target);

/// Returns the number of the IOMMU group in which this function, of any class, is a partner of others;
/// nullopt if it does not exist, is a bridge or has no group.
std::optional<int> group_as_partner(const HostView& host, const PciAddress& address);

/// Returns whether a function is a VF of the PF by its address and product; for VFs whose physfn link is
/// missing. False for a PF that does not report sriov_offset or sriov_vf_device.
bool is_vf_of(const FunctionReading& pf, const FunctionReading& function);

/// Adds VFs' GUIDs from sysfs (mlx5: PF/sriov/N/node and port) that rtnetlink does not report. A few reads
/// per VF: blocks.
void add_guids(const HostView& host, const PciAddress& pf, std::map<int, VfConfig>& configs);
/// Returns the numbers of a PF's VFs: its links virtfnN.
std::set<int> vfs_in_sysfs(const HostView& host, const PciAddress& pf);
/// Returns the GUIDs of all its VFs, if the kernel does not report their settings. Omits VFs without a GUID
/// in sysfs.
std::map<int, VfConfig> guids_of_vfs(const HostView& host, const PciAddress& pf);

/// Returns HostDevice::pkeys of that RDMA device. Queries firmware for each entry of a table, at most 256 per
/// port: blocks. Errors: an entry cannot be read now; kNotFound if the device does not exist. Source:
/// Documentation/ABI/stable/sysfs-class-infiniband (ports/N/link_layer, ports/N/pkeys/I).
Result<std::vector<std::string>> read_pkeys(const HostView& host, const std::string& rdma_device);

/// Returns whether `driver`, which is bound to the function at `path` (below the view's root), has registered
/// it with VFIO: by the driver's name, by the function's entry in class vfio-dev (drivers/vfio/vfio_main.c,
/// since Linux 6.1), or because its module uses vfio_pci_core. So variant drivers of any name are detected.
/// False for "" (no driver).
bool is_bound_to_vfio(const HostView& host, const std::string& path, std::string_view driver);

/// Returns "pci0000:00": the first component below sys/devices/ of a link's target, if it is a root complex;
/// otherwise "".
std::string pcie_root_of(std::string_view link_target);

/// Returns "0000:03:00.0/mlx5_core.sf.4" for a path that leads through such a scalable function, an auxiliary
/// device below its PF (auxiliary_device_add() in drivers/base/auxiliary.c names it MODULE.sf.ID); "" for any
/// other path. Other auxiliary devices are parts of the function itself.
std::string auxiliary_above(std::string_view path);

/// Reads the file sfnum of the auxiliary device at `path` (below the view's root). Returns nullopt if it is
/// missing or invalid.
std::optional<int> read_sf_number(const HostView& host, const std::string& path);

/// Returns the nearest PCI function above the last component of a path below sys/devices/.
std::optional<PciAddress> function_above(std::string_view path);

}  // namespace sliced::hotplug
