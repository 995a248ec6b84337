#pragma once
// RDMA devices and their network namespaces, by RDMA netlink (rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c).
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

/// The kernel's part. A test has its own. network_namespace: a descriptor, or kOwnNamespace.
struct RdmaKernel {
  /// Whether each RDMA device is in one network namespace alone (rdma system set netns exclusive).
  std::function<Result<bool>()> is_exclusive;
  std::function<Result<std::vector<RdmaDevice>>(int network_namespace)> read;
  /// Into the namespace of the descriptor `to`.
  std::function<Result<Unit>(int network_namespace, uint32_t index, int to)> move;
  std::function<Result<Unit>(int network_namespace, uint32_t index, const std::string& name)> rename;
};
/// That of this machine. Errors: kNotFound where the kernel has no RDMA; kDenied, kTimeout, kIo.
RdmaKernel running_rdma_kernel();

/// RDMA_NLDEV_CMD_SET.
std::string encode_rdma_move(uint32_t index, int to);
std::string encode_rdma_name(uint32_t index, const std::string& name);
/// The decoded answer to a dump of RDMA_NLDEV_CMD_GET: one datagram. Returns whether it was the last one.
Result<bool> decode_rdma_devices(std::string_view datagram, std::vector<RdmaDevice>& devices);
/// The decoded answer to RDMA_NLDEV_CMD_SYS_GET.
Result<bool> decode_rdma_exclusive(std::string_view datagram);

}  // namespace sliced::kubelet
