#pragma once
// RDMA devices and their network namespaces, by RDMA netlink (rdma/rdma_netlink.h,
// drivers/infiniband/core/nldev.c).
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// index: stays the same when the device is renamed or moved.
struct RdmaDevice {
  uint32_t index = 0;
  std::string name;  // "mlx5_0"
  bool operator==(const RdmaDevice&) const = default;
};

/// Kernel calls; tests replace them. network_namespace: a descriptor, or kOwnNamespace.
struct RdmaKernel {
  /// Returns whether each RDMA device is in one network namespace only (rdma system set netns exclusive).
  std::function<Result<bool>()> is_exclusive;
  std::function<Result<std::vector<RdmaDevice>>(int network_namespace)> read;
  /// Moves a device into the namespace of the descriptor `to`.
  std::function<Result<Unit>(int network_namespace, uint32_t index, int to)> move;
  std::function<Result<Unit>(int network_namespace, uint32_t index, const std::string& name)> rename;
  /// Returns the hardware of an RDMA device of the host (hardware_of_rdma_device()): a PCI address,
  /// "0000:03:00.0/sf88" for a scalable function; "" for a software device, or if there is no such device.
  std::function<std::string(const std::string& name)> function_of;
};
/// The functions of the running kernel. Errors: kNotFound if the kernel has no RDMA; kDenied, kTimeout, kIo.
RdmaKernel running_rdma_kernel();

/// RDMA_NLDEV_CMD_SET.
std::string encode_rdma_move(uint32_t index, int to);
std::string encode_rdma_name(uint32_t index, const std::string& name);
/// Decodes one datagram of a dump of RDMA_NLDEV_CMD_GET. Returns whether it was the last one.
Result<bool> decode_rdma_devices(std::string_view datagram, std::vector<RdmaDevice>& devices);
/// Decodes the answer to RDMA_NLDEV_CMD_SYS_GET.
Result<bool> decode_rdma_exclusive(std::string_view datagram);

}  // namespace sliced::kubelet
