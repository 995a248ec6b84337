#pragma once
// The VFs of a PF, and the PF's interface through which their settings are read and set (sysfs).
#include <map>
#include <string>
#include <vector>

#include "hotplug/host_view.h"
#include "kubelet/vf_mac.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Returns the PCI address of a VF's PF (the link physfn); "" if the function is not a VF, or no longer
/// exists.
std::string pf_of_vf(const hotplug::HostView& view, const std::string& pci);
/// Returns the PCI addresses of the VFs of a PF, by number (the links virtfnN).
std::map<int, std::string> vfs_of_pf(const hotplug::HostView& view, const std::string& pf);
/// Returns the interfaces below a function's directory "net", one for each port and in the order of the
/// ports, without representors of other functions: as hotplug::ports_of_functions(), by phys_port_name and
/// devlink.
std::vector<std::string> ports_in(const hotplug::HostView& view, const std::string& directory);
/// Returns the name of the PF's uplink in this network namespace: its first port. "" without one. In contrast
/// to ports_in() it is never a representor of any kind, since settings of a VF would be set elsewhere.
std::string uplink_of_pf(const hotplug::HostView& view, const std::string& pf);
/// Returns the uplink of a PF, with VfOfInterface::index -1. Errors: kIo if the PF has no uplink in this
/// network namespace.
Result<VfOfInterface> uplink_interface_of_pf(const hotplug::HostView& view, const std::string& pf);
/// Returns the uplink of a VF's PF and the number of the VF. Errors: kNotFound if it is not a VF, or no
/// longer exists; those of uplink_interface_of_pf().
Result<VfOfInterface> find_vf(const hotplug::HostView& view, const std::string& pci);

}  // namespace sliced::kubelet
