#pragma once
// Creates virtual interfaces in a pod's network namespace on top of a host interface, by rtnetlink.
#include <cstdint>
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// IFLA_GROUP of each interface that is created here. It identifies an interface of the same name whose
/// ifindex was not recorded yet.
inline constexpr uint32_t kVirtualLinkGroup = 29'548;

struct VirtualLink {
  std::string kind;          // "macvlan", "ipvlan", "vlan"; "veth" with its peer on the host
  std::string name;          // in the pod
  int lower = 0;             // ifindex of the lower interface on the host; unused for a veth
  int to_namespace = -1;     // descriptor of the pod's namespace
  int mtu = 0;               // 0: the kernel's default
  std::string mac;           // "": the kernel's choice
  std::string macvlan_mode;  // "bridge", "private", "vepa"
  int vlan_id = 0;           // vlan
  bool is_8021ad = false;    // vlan: protocol 802.1ad
  std::string host_end;      // veth: name of the peer on the host
  int host_mtu = 0;          // veth: MTU of the peer
};

/// RTM_NEWLINK. Creates the interface directly in the pod's namespace, down; it is never visible on the host,
/// and ends with the namespace. Errors: kConflict if the name exists in the pod (or host_end on the host);
/// those of change_link().
Result<Unit> make_link(const VirtualLink& link);
std::string encode_virtual_link(const VirtualLink& link);
/// RTM_DELLINK by ifindex. Ok if there is none. Errors: as make_link().
Result<Unit> remove_link(int network_namespace, int ifindex);
/// Removes all interfaces of a group in one request. Ok if there is none. Errors: as make_link().
Result<Unit> remove_link_group(int network_namespace, uint32_t group);

/// Adds an interface of this namespace to the bridge, without an IPv6 address of its own. Both arguments are
/// ifindexes.
Result<Unit> add_bridge_port(int port, int bridge);
/// Sets the port's only VLAN: frames are untagged on the port. default_pvid: the VLAN that the bridge
/// assigned when the port was added, which is removed; 0 if none.
Result<Unit> set_port_vlan(int port, int vlan, int default_pvid);
/// bridge_vlan_info, its flags, and its attribute (linux/if_bridge.h, which does not compile together with
/// netinet/in.h).
struct PortVlan {
  uint16_t flags = 0, vid = 0;
};
inline constexpr uint16_t kPortVlanPvid = 1u << 1, kPortVlanUntagged = 1u << 2;
inline constexpr int kPortVlanAttribute = 2;
/// Encodes one VLAN of a port: RTM_SETLINK with PVID and UNTAGGED, or RTM_DELLINK.
std::string encode_port_vlan(int port, int vlan, bool is_added);

}  // namespace sliced::kubelet
