#pragma once
// The interface and the RDMA device of a prepared device's hardware, read from sysfs when they are used.
// Names change between the allocation and the pod: udev renames interfaces, and VFs or scalable functions
// that are created again get the next free names, so that a remembered name may belong to another function.
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// Returns the stable identity of a device's hardware: a PCI address, "0000:03:00.0/sf88" for a scalable
/// function (its PF and its number, since the auxiliary device gets another number when it is created again),
/// "" for a virtual link.
std::string hardware_of(const PreparedDevice& device);
/// Returns that of a scalable function's id, as "sf88-0000-03-00-0" (hotplug::scalable_function_id()); "" for
/// other texts.
std::string hardware_of_sf_id(std::string_view id);
/// Returns its directory below "sys"; "" if it does not exist.
std::string path_of_hardware(const hotplug::HostView& view, const std::string& hardware);
/// Returns the directory of the interfaces of a function or scalable function: below the device virtioN for a
/// virtio function.
std::string net_directory(const hotplug::HostView& view, const std::string& path);
/// Returns its interfaces in this network namespace, as ports_in(): never a representor of another function.
std::vector<std::string> interfaces_of_hardware(const hotplug::HostView& view, const std::string& hardware);
/// Returns its interface in this network namespace: `remembered` if it is one of its own, otherwise the one
/// of its first port; "" if it has none here.
std::string interface_of_hardware(const hotplug::HostView& view, const std::string& hardware,
                                  const std::string& remembered);
/// Returns the name of its first RDMA device; "" if it has none here. Never one of the function's scalable
/// functions.
std::string rdma_device_of_hardware(const hotplug::HostView& view, const std::string& hardware);

/// Returns the hardware of an interface, or of an RDMA device of this network namespace; "" for a virtual
/// one, and if it does not exist.
std::string hardware_of_interface(const hotplug::HostView& view, const std::string& interface);
std::string hardware_of_rdma_device(const hotplug::HostView& view, const std::string& rdma_device);

}  // namespace sliced::kubelet
