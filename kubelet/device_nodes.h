#pragma once
// Device nodes of a prepared device after a CNI plugin has run. A plugin or driver that binds the function
// again, or moves its RDMA device to another network namespace, gives its nodes new numbers: the kernel
// removes the uverbs devices and registers them again (rdma_dev_change_netns() in
// drivers/infiniband/core/device.c). Pure.
#include <string>

#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Returns whether containers get nodes of the device that can change while its claim is prepared: those of
/// RDMA, VFIO or vDPA of hardware that the claim has alone.
bool has_changing_nodes(const PreparedDevice& device);

/// Returns the device with the nodes of `now` in its edits, in its binding and in vdpa_node; equal to
/// `device` if none differs.
/// Errors: kBusy if the host has none of these nodes now: a driver may be registering them.
Result<PreparedDevice> with_present_nodes(const PreparedDevice& device, DeviceSnapshot now);

}  // namespace sliced::kubelet
