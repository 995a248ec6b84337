#include "kubelet/vf_mac.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "hotplug/netlink_monitor.h"
#include "kubelet/host_link.h"
#include "kubelet/mac_requests.h"
#include "kubelet/netlink.h"
#include "kubelet/prepared.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

Error refused(const std::string& whose, int error) {
  return {error == EPERM || error == EACCES ? Errc::kDenied : Errc::kIo,
          "set the MAC address of " + whose + ": " + std::strerror(error)};
}

// Copies six bytes at most, because the address of an InfiniBand interface has 20.
void put_mac(const std::string& mac, uint8_t* out) {
  constexpr size_t kBytes = 6;
  for (size_t i = 0; i < kBytes && 3 * i + 1 < mac.size(); ++i)
    out[i] = static_cast<uint8_t>(parse_hex(std::string_view(mac).substr(3 * i, 2)).value_or(0));
}

// Writes to PFs are serialized, so that a check still holds at the write.
std::mutex& writing() {
  static std::mutex one;
  return one;
}

}  // namespace

Result<std::map<int, std::string>> read_vf_macs(int ifindex) {
  const auto configs = hotplug::read_vf_configs(ifindex);
  if (!configs) return configs.error();
  std::map<int, std::string> out;
  for (const auto& [index, config] : *configs)
    if (!config.mac.empty()) out.emplace(index, config.mac);
  return out;
}

std::string encode_vf_mac(const VfOfInterface& vf, const std::string& mac) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
    nlattr list, one, address;
    ifla_vf_mac value;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = RTM_SETLINK,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                    .nlmsg_seq = 1};
  request.info.ifi_family = AF_UNSPEC;
  request.info.ifi_index = vf.ifindex;
  request.address = {.nla_len = sizeof request.address + sizeof request.value, .nla_type = IFLA_VF_MAC};
  request.one = {.nla_len = static_cast<uint16_t>(sizeof request.one + request.address.nla_len),
                 .nla_type = IFLA_VF_INFO | NLA_F_NESTED};
  request.list = {.nla_len = static_cast<uint16_t>(sizeof request.list + request.one.nla_len),
                  .nla_type = IFLA_VFINFO_LIST | NLA_F_NESTED};
  request.value.vf = static_cast<uint32_t>(vf.index);
  put_mac(mac, request.value.mac);
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

std::string encode_own_mac(int ifindex, const std::string& mac) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
    nlattr address;
    uint8_t mac[8];  // six, padded
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = RTM_SETLINK,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                    .nlmsg_seq = 1};
  request.info.ifi_family = AF_UNSPEC;
  request.info.ifi_index = ifindex;
  request.address = {.nla_len = sizeof request.address + 6, .nla_type = IFLA_ADDRESS};
  put_mac(mac, request.mac);
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

namespace {

Error no_mac(const std::string& mac) {
  return {Errc::kInvalid, "set a MAC address: " + in_quotes(mac, 64) +
                              " is not a MAC address, expected six bytes such as 02:00:00:00:00:01"};
}

Result<Unit> write_alone(const VfOfInterface& vf, const std::string& mac) {
  if (mac != kNoMac && !decode_mac(mac)) return no_mac(mac);
  const int error = send_link_request(kOwnNamespace, encode_vf_mac(vf, mac));
  if (error == 0) return Unit{};
  return refused("VF " + std::to_string(vf.index) + " of interface " + std::to_string(vf.ifindex), error);
}

}  // namespace

Result<Unit> write_vf_mac(const VfOfInterface& vf, const std::string& mac) {
  const std::lock_guard alone(writing());
  return write_alone(vf, mac);
}

Result<bool> write_missing_vf_mac(const VfOfInterface& vf, const std::string& mac) {
  const std::lock_guard alone(writing());
  const auto before = read_vf_macs(vf.ifindex);
  if (!before) return before.error();
  if (!before->contains(vf.index))
    return Error{Errc::kIo, "its PF does not report VF " + std::to_string(vf.index)};
  if (before->at(vf.index) != kNoMac) return false;
  if (auto unused = check_unused(*before, vf.index, mac); !unused) return std::move(unused.error());
  if (auto written = write_alone(vf, mac); !written) return std::move(written.error());
  if (auto checked = check_reported(read_vf_macs(vf.ifindex), vf.index, mac); !checked)
    return std::move(checked.error());
  return true;
}

Result<Unit> check_unused(const std::map<int, std::string>& macs, int index, const std::string& mac) {
  for (const auto& [other, its_mac] : macs)
    if (other != index && its_mac == mac)
      return Error{Errc::kConflict, "MAC address " + mac + " is that of VF " + std::to_string(other) +
                                        " of the same PF: give one of the two another address"};
  return Unit{};
}

Result<Unit> check_reported(const Result<std::map<int, std::string>>& now, int index,
                            const std::string& mac) {
  const std::string what =
      "MAC address " + mac + " was set for VF " + std::to_string(index) + " of its PF, and the PF ";
  if (!now) return Error{Errc::kIo, what + "cannot be read: " + now.error().what};
  const auto at = now->find(index);
  if (at == now->end()) return Error{Errc::kIo, what + "does not report the VF"};
  if (at->second != mac) return Error{Errc::kIo, what + "has " + at->second};
  return Unit{};
}

Result<Unit> write_own_mac(int ifindex, const std::string& mac) {
  if (!decode_mac(mac)) return no_mac(mac);
  const int error = send_link_request(kOwnNamespace, encode_own_mac(ifindex, mac));
  if (error == 0) return Unit{};
  return refused("interface " + std::to_string(ifindex), error);
}

}  // namespace sliced::kubelet
