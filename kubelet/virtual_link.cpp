#include "kubelet/virtual_link.h"

#include <endian.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sys/socket.h>

#include <cerrno>

#include "kubelet/netlink.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using netlink::bytes_of;
using netlink::encode_request;
using netlink::error_of;
using netlink::mac_bytes;

// Returns the attributes of the end in the pod.
std::string pod_attributes(const VirtualLink& link) {
  std::string out;
  put_attribute(out, IFLA_IFNAME, link.name + '\0');
  put_attribute(out, IFLA_NET_NS_FD, bytes_of(link.to_namespace));
  put_attribute(out, IFLA_GROUP, bytes_of(kVirtualLinkGroup));
  if (link.mtu != 0) put_attribute(out, IFLA_MTU, bytes_of(link.mtu));
  if (!link.mac.empty()) put_attribute(out, IFLA_ADDRESS, mac_bytes(link.mac));
  return out;
}

std::string settings_of(const VirtualLink& link) {
  std::string out;
  if (link.kind == "macvlan") {
    const uint32_t mode = link.macvlan_mode == "private" ? MACVLAN_MODE_PRIVATE
                          : link.macvlan_mode == "vepa"  ? MACVLAN_MODE_VEPA
                                                         : MACVLAN_MODE_BRIDGE;
    put_attribute(out, IFLA_MACVLAN_MODE, bytes_of(mode));
  } else if (link.kind == "ipvlan") {
    const uint16_t mode = IPVLAN_MODE_L2, flags = 0;
    put_attribute(out, IFLA_IPVLAN_MODE, bytes_of(mode));
    put_attribute(out, IFLA_IPVLAN_FLAGS, bytes_of(flags));
  } else if (link.kind == "vlan") {
    const auto id = static_cast<uint16_t>(link.vlan_id);
    const uint16_t protocol = htobe16(link.is_8021ad ? ETH_P_8021AD : ETH_P_8021Q);
    put_attribute(out, IFLA_VLAN_ID, bytes_of(id));
    put_attribute(out, IFLA_VLAN_PROTOCOL, bytes_of(protocol));
  } else if (link.kind == "veth") {
    const ifinfomsg peer{};
    put_attribute(out, VETH_INFO_PEER, std::string(bytes_of(peer)) + pod_attributes(link));
  }
  return out;
}

Result<Unit> answer_of(const std::string& what, int error) {
  if (error == 0) return Unit{};
  return error_of(what, error);
}

}  // namespace

std::string encode_virtual_link(const VirtualLink& link) {
  std::string attributes, info;
  if (link.kind == "veth") {
    put_attribute(attributes, IFLA_IFNAME, link.host_end + '\0');
    put_attribute(attributes, IFLA_GROUP, bytes_of(kVirtualLinkGroup));
    if (link.host_mtu != 0) put_attribute(attributes, IFLA_MTU, bytes_of(link.host_mtu));
  } else {
    attributes = pod_attributes(link);
    put_attribute(attributes, IFLA_LINK, bytes_of(link.lower));
  }
  put_attribute(info, IFLA_INFO_KIND, link.kind);
  put_attribute(info, IFLA_INFO_DATA | NLA_F_NESTED, settings_of(link));
  put_attribute(attributes, IFLA_LINKINFO | NLA_F_NESTED, info);
  return encode_request(RTM_NEWLINK, ifinfomsg{}, attributes);
}

Result<Unit> make_link(const VirtualLink& link) {
  const int error = send_link_request(kOwnNamespace, encode_virtual_link(link));
  if (error == EOPNOTSUPP)
    return Error{Errc::kIo, "this kernel has no interfaces of type " + link.kind + ": load module " +
                                (link.kind == "vlan" ? std::string("8021q") : link.kind)};
  return answer_of("make an interface of type " + link.kind, error);
}

Result<Unit> remove_link(int network_namespace, int ifindex) {
  ifinfomsg info{};
  info.ifi_index = ifindex;
  const int error = send_link_request(network_namespace, encode_request(RTM_DELLINK, info, "", 0));
  return error == ENODEV ? Unit{} : answer_of("remove interface " + std::to_string(ifindex), error);
}

Result<Unit> remove_link_group(int network_namespace, uint32_t group) {
  std::string attributes;
  put_attribute(attributes, IFLA_GROUP, bytes_of(group));
  const int error =
      send_link_request(network_namespace, encode_request(RTM_DELLINK, ifinfomsg{}, attributes, 0));
  return error == ENODEV ? Unit{}
                         : answer_of("remove the interfaces of group " + std::to_string(group), error);
}

Result<Unit> add_bridge_port(int port, int bridge) {
  ifinfomsg info{};
  info.ifi_index = port;
  std::string addresses, of_ipv6, families;
  const uint8_t none = IN6_ADDR_GEN_MODE_NONE;
  put_attribute(of_ipv6, IFLA_INET6_ADDR_GEN_MODE, bytes_of(none));
  put_attribute(families, AF_INET6 | NLA_F_NESTED, of_ipv6);
  put_attribute(addresses, IFLA_AF_SPEC | NLA_F_NESTED, families);
  // A kernel without IPv6 refuses it, and gives the port no address either.
  (void)send_link_request(kOwnNamespace, encode_request(RTM_SETLINK, info, addresses, 0));
  std::string attributes;
  put_attribute(attributes, IFLA_MASTER, bytes_of(bridge));
  return answer_of("add a port to the bridge",
                   send_link_request(kOwnNamespace, encode_request(RTM_SETLINK, info, attributes, 0)));
}

std::string encode_port_vlan(int port, int vlan, bool is_added) {
  ifinfomsg info{};
  info.ifi_family = AF_BRIDGE;
  info.ifi_index = port;
  const PortVlan one{.flags = static_cast<uint16_t>(is_added ? kPortVlanPvid | kPortVlanUntagged : 0),
                     .vid = static_cast<uint16_t>(vlan)};
  std::string list, attributes;
  put_attribute(list, kPortVlanAttribute, bytes_of(one));
  put_attribute(attributes, IFLA_AF_SPEC | NLA_F_NESTED, list);
  return encode_request(is_added ? RTM_SETLINK : RTM_DELLINK, info, attributes, 0);
}

Result<Unit> set_port_vlan(int port, int vlan, int default_pvid) {
  const std::string what = "give the bridge's port VLAN " + std::to_string(vlan);
  if (const int error = send_link_request(kOwnNamespace, encode_port_vlan(port, vlan, true)); error != 0)
    return answer_of(what, error);
  if (default_pvid == 0 || default_pvid == vlan) return Unit{};
  return answer_of(what + " alone",
                   send_link_request(kOwnNamespace, encode_port_vlan(port, default_pvid, false)));
}

}  // namespace sliced::kubelet
