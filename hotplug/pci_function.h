#pragma once
// One PCI function below /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci), identity first.
#include <map>
#include <optional>
#include <set>

#include "hotplug/host_view.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Links that are followed of a PF: more than any hardware has, fewer than a hostile tree could make.
inline constexpr int kVfsPerPfMax = 4096;

/// nullopt when the function is gone or is no network function (class 02xx). A function that loses its
/// identity while it is read is read once more and is then `broken`.
std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address);

/// The same where the directory of all functions is open already; link_target is the function's entry in it
/// ("" unknown).
std::optional<FunctionReading> read_function(const HostView& host, const PciAddress& address,
                                             std::string_view link_target);

/// Number of the IOMMU group in which this function counts as a partner of others, whatever its class: nullopt where it is gone, is a
/// bridge or has no group.
std::optional<int> group_as_partner(const HostView& host, const PciAddress& address);

/// Whether a function is one of a PF's VFs by where it is and what it is: what its physfn link says, where that
/// stands. Never true of a PF that does not tell sriov_offset or sriov_vf_device.
bool is_vf_of(const FunctionReading& pf, const FunctionReading& function);

/// What drivers tell of VFs' GUIDs in sysfs (mlx5: PF/sriov/N/node and port), where their rtnetlink does not.
/// A few reads a VF: blocks.
void add_guids(const HostView& host, const PciAddress& pf, std::map<int, VfConfig>& configs);
/// Numbers of a PF's VFs: its links virtfnN.
std::set<int> vfs_in_sysfs(const HostView& host, const PciAddress& pf);
/// GUIDs of all its VFs, where the kernel does not report their settings. VFs of which sysfs has no GUID are left out.
std::map<int, VfConfig> guids_of_vfs(const HostView& host, const PciAddress& pf);

/// HostDevice::pkeys of that RDMA device. Asks firmware for each entry of a table, at most 256 of a port: blocks. Errors: an entry cannot be
/// read now; kNotFound: the device is gone.
/// Source: Documentation/ABI/stable/sysfs-class-infiniband (ports/N/link_layer, ports/N/pkeys/I).
Result<std::vector<std::string>> read_pkeys(const HostView& host, const std::string& rdma_device);

/// Whether `driver`, which is bound to the function at `path` (below the view's root), has registered it with VFIO: by the driver's
/// name, by the function's entry in class vfio-dev (drivers/vfio/vfio_main.c, since Linux 6.1), or because its module uses vfio_pci_core.
/// So a variant driver of any name is found. "" no driver: false.
bool is_bound_to_vfio(const HostView& host, const std::string& path, std::string_view driver);

/// "pci0000:00": the first component below sys/devices/ of a link's target, when that is a root complex; else
/// "".
std::string pcie_root_of(std::string_view link_target);

/// "0000:03:00.0/mlx5_core.sf.4" of a path that leads through such a scalable function, an auxiliary device below its PF
/// (auxiliary_device_add() in drivers/base/auxiliary.c names it MODULE.sf.ID); "" for any other path. Other auxiliary devices stand for a
/// part of the function itself.
std::string auxiliary_above(std::string_view path);

/// The file sfnum of the auxiliary device at `path` (below the view's root); nullopt: it has none, or it cannot be understood.
std::optional<int> read_sf_number(const HostView& host, const std::string& path);

/// The nearest PCI function above the last component of a path below sys/devices/.
std::optional<PciAddress> function_above(std::string_view path);

}  // namespace sliced::hotplug
