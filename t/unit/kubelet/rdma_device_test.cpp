#include "kubelet/rdma_device.h"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <cstring>
#include <map>

#include "kubelet/netlink.h"

namespace sliced::kubelet {
namespace rdma_device_test {
namespace {

constexpr int kGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
constexpr int kSet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SET);
constexpr int kSystem = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);

std::string message(int type, const std::string& payload) {
  const nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + payload.size()),
                        .nlmsg_type = static_cast<uint16_t>(type),
                        .nlmsg_flags = 0,
                        .nlmsg_seq = 1,
                        .nlmsg_pid = 0};
  return std::string(netlink::bytes_of(header)) + payload;
}

std::string device(uint32_t index, const std::string& name) {
  std::string out;
  put_attribute(out, RDMA_NLDEV_ATTR_DEV_INDEX, netlink::bytes_of(index));
  put_attribute(out, RDMA_NLDEV_ATTR_DEV_NAME, name + '\0');
  return out;
}

std::map<int, std::string> attributes_of(const std::string& request, int type) {
  nlmsghdr header{};
  std::memcpy(&header, request.data(), sizeof header);
  EXPECT_EQ(header.nlmsg_len, request.size());
  EXPECT_EQ(header.nlmsg_type, type);
  EXPECT_EQ(header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  std::map<int, std::string> out;
  EXPECT_TRUE(netlink::each_attribute(
      std::string_view(request).substr(sizeof header),
      [&](int attribute, std::string_view value) { out[attribute] = std::string(value); }));
  return out;
}

TEST(RdmaDeviceTest, DecodesNumbersAndNames) {
  std::vector<RdmaDevice> devices;
  EXPECT_FALSE(
      decode_rdma_devices(message(kGet, device(0, "mlx5_0")) + message(kGet, device(3, "mlx5_1")), devices)
          .value());
  EXPECT_TRUE(decode_rdma_devices(message(NLMSG_DONE, std::string(4, '\0')), devices).value());
  EXPECT_EQ(devices, (std::vector<RdmaDevice>{{0, "mlx5_0"}, {3, "mlx5_1"}}));
  EXPECT_FALSE(decode_rdma_devices(message(kGet, device(0, "mlx5_0").substr(0, 13)), devices).ok());
  EXPECT_FALSE(decode_rdma_devices(message(kGet, ""), devices).ok())
      << "without a number nothing can be moved";
}

TEST(RdmaDeviceTest, ReportsTheModeOrUnknown) {
  for (const uint8_t is_shared : {uint8_t{0}, uint8_t{1}}) {
    std::string mode;
    put_attribute(mode, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, netlink::bytes_of(is_shared));
    EXPECT_EQ(decode_rdma_exclusive(message(kSystem, mode)).value(), is_shared == 0);
  }
  EXPECT_FALSE(decode_rdma_exclusive(message(kSystem, "")).ok());
}

TEST(RdmaDeviceTest, MovesADeviceByNumber) {
  const auto moved = attributes_of(encode_rdma_move(3, 9), kSet);
  EXPECT_EQ(netlink::number_in(moved.at(RDMA_NLDEV_ATTR_DEV_INDEX)), 3u);
  EXPECT_EQ(netlink::number_in(moved.at(RDMA_NLDEV_NET_NS_FD)), 9u);
  EXPECT_EQ(moved.size(), 2u);
  const auto named = attributes_of(encode_rdma_name(3, "mlx5_1"), kSet);
  EXPECT_EQ(named.at(RDMA_NLDEV_ATTR_DEV_NAME), std::string("mlx5_1\0", 7));
}

}  // namespace
}  // namespace rdma_device_test
}  // namespace sliced::kubelet
