#include "kubelet/rdma_device.h"

#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "hotplug/host_view.h"
#include "kubelet/hardware.h"
#include "kubelet/netlink.h"

namespace sliced::kubelet {
namespace {

using netlink::bytes_of;
using netlink::decode_dump;
using netlink::DumpTypes;
using netlink::each_attribute;
using netlink::error_of;
using netlink::number_in;
using netlink::text_in;

constexpr uint16_t rdma_type(int command) {
  return static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

constexpr DumpTypes kRdmaDevices = {rdma_type(RDMA_NLDEV_CMD_GET), rdma_type(RDMA_NLDEV_CMD_GET),
                                    "RDMA_NLDEV_CMD_GET", "RDMA_NLDEV_CMD_GET"};

std::string rdma_request(int command, int flags, const std::string& attributes) {
  const nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + attributes.size()),
                        .nlmsg_type = rdma_type(command),
                        .nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags),
                        .nlmsg_seq = 1,
                        .nlmsg_pid = 0};
  return std::string(bytes_of(header)) + attributes;
}

// A kernel without RDMA has no such protocol.
Error rdma_error(const std::string& what, int error) {
  if (error == EPROTONOSUPPORT) return {Errc::kNotFound, what + ": this kernel has no RDMA (module ib_core)"};
  return error_of(what, error);
}

Result<Unit> set_rdma(int network_namespace, const std::string& what, const std::string& request) {
  const int error = netlink::send_request(network_namespace, request, NETLINK_RDMA);
  if (error == 0) return Unit{};
  return rdma_error(what, error);
}

Result<std::vector<RdmaDevice>> read_rdma_devices(int network_namespace) {
  std::vector<RdmaDevice> out;
  auto read = netlink::read_dump(
      network_namespace, kRdmaDevices, rdma_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, ""), [&] { out.clear(); },
      [&](std::string_view datagram) { return decode_rdma_devices(datagram, out); }, NETLINK_RDMA);
  if (!read) return std::move(read.error());
  return out;
}

Result<bool> read_rdma_exclusive() {
  const std::string what = "RDMA_NLDEV_CMD_SYS_GET";
  int error = 0;
  const reactor::Descriptor socket = netlink::open_socket(kOwnNamespace, error, NETLINK_RDMA);
  if (!socket) return rdma_error(what, error);
  if (const int failed = netlink::send_to_kernel(socket, rdma_request(RDMA_NLDEV_CMD_SYS_GET, 0, ""));
      failed != 0)
    return rdma_error(what, failed);
  char answer[4'096];
  const ssize_t size = ::recv(socket.get(), answer, sizeof answer, 0);
  if (size < 0) return rdma_error(what, errno);
  return decode_rdma_exclusive({answer, static_cast<size_t>(size)});
}

}  // namespace

std::string encode_rdma_move(uint32_t index, int to) {
  std::string attributes;
  put_attribute(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, bytes_of(index));
  put_attribute(attributes, RDMA_NLDEV_NET_NS_FD, bytes_of(to));
  return rdma_request(RDMA_NLDEV_CMD_SET, NLM_F_ACK, attributes);
}

std::string encode_rdma_name(uint32_t index, const std::string& name) {
  std::string attributes;
  put_attribute(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, bytes_of(index));
  put_attribute(attributes, RDMA_NLDEV_ATTR_DEV_NAME, name + '\0');
  return rdma_request(RDMA_NLDEV_CMD_SET, NLM_F_ACK, attributes);
}

Result<bool> decode_rdma_devices(std::string_view datagram, std::vector<RdmaDevice>& devices) {
  return decode_dump(datagram, kRdmaDevices, [&](std::string_view payload) {
    RdmaDevice one;
    std::optional<uint32_t> index;
    const bool is_whole = each_attribute(payload, [&](int type, std::string_view value) {
      if (type == RDMA_NLDEV_ATTR_DEV_INDEX) index = number_in(value);
      if (type == RDMA_NLDEV_ATTR_DEV_NAME) one.name = text_in(value);
    });
    if (is_whole && index) {
      one.index = *index;
      devices.push_back(std::move(one));
    }
    return is_whole && index;
  });
}

Result<bool> decode_rdma_exclusive(std::string_view datagram) {
  constexpr DumpTypes kSystem = {rdma_type(RDMA_NLDEV_CMD_SYS_GET), rdma_type(RDMA_NLDEV_CMD_SYS_GET),
                                 "RDMA_NLDEV_CMD_SYS_GET", "RDMA_NLDEV_CMD_SYS_GET"};
  std::optional<bool> is_shared;
  const auto decoded = decode_dump(datagram, kSystem, [&](std::string_view payload) {
    return each_attribute(payload, [&](int type, std::string_view value) {
      if (type == RDMA_NLDEV_SYS_ATTR_NETNS_MODE && value.size() == 1) is_shared = value.front() != 0;
    });
  });
  if (!decoded) return decoded.error();
  if (!is_shared)
    return Error{Errc::kIo, "this kernel does not report how RDMA devices are shared (before 5.2)"};
  return !*is_shared;
}

RdmaKernel running_rdma_kernel() {
  return {.is_exclusive = &read_rdma_exclusive,
          .read = &read_rdma_devices,
          .move =
              [](int network_namespace, uint32_t index, int to) {
                return set_rdma(network_namespace, "move RDMA device " + std::to_string(index),
                                encode_rdma_move(index, to));
              },
          .rename =
              [](int network_namespace, uint32_t index, const std::string& name) {
                return set_rdma(network_namespace, "rename RDMA device " + std::to_string(index),
                                encode_rdma_name(index, name));
              },
          .function_of = [](const std::string& name) -> std::string {
            const auto view = hotplug::open_host_view("/");
            return view ? hardware_of_rdma_device(**view, name) : "";
          }};
}

}  // namespace sliced::kubelet
