#pragma once
// Virtual interfaces that sliced makes in a pod's network namespace on an interface of the host, by rtnetlink.
#include <cstdint>
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// IFLA_GROUP of each interface that is made here, by which one whose number is not on record yet is told from others of its name.
inline constexpr uint32_t kMadeLinkGroup = 29'548;

struct MadeLink {
  std::string kind;          // "macvlan", "ipvlan", "vlan"; "veth" with its other end on the host
  std::string name;          // in the pod
  int lower = 0;             // ifindex of the interface of the host that it is on; not of a veth
  int to_namespace = -1;     // descriptor of the pod's
  int mtu = 0;               // 0: the kernel's choice
  std::string mac;           // "": the kernel's choice
  std::string macvlan_mode;  // "bridge", "private", "vepa"
  int vlan_id = 0;           // of a vlan
  bool is_8021ad = false;    // of a vlan: protocol 802.1ad
  std::string host_end;      // of a veth: name of its end on the host
  int host_mtu = 0;          // of that end
};

/// RTM_NEWLINK. The interface comes into being in the pod's namespace under its name, down: the host never has it, and it ends with the
/// namespace. Errors: kConflict where the pod, or the host for host_end, has the name; those of change_link().
Result<Unit> make_link(const MadeLink& link);
std::string encode_made_link(const MadeLink& link);
/// RTM_DELLINK by number. Ok where there is none. Errors: as make_link().
Result<Unit> remove_link(int network_namespace, int ifindex);

/// Makes an interface of this namespace a port of the bridge, without an IPv6 address of its own. Both are numbers of interfaces.
Result<Unit> add_bridge_port(int port, int bridge);
/// The port's only VLAN: its frames leave and enter the bridge in this VLAN, without a tag on the port. default_pvid: the VLAN that the bridge gave
/// the port when it was added, which it loses; 0 none.
Result<Unit> set_port_vlan(int port, int vlan, int default_pvid);
/// bridge_vlan_info, its flags, and its attribute (linux/if_bridge.h, which does not compile beside netinet/in.h).
struct PortVlan {
  uint16_t flags = 0, vid = 0;
};
inline constexpr uint16_t kPortVlanPvid = 1u << 1, kPortVlanUntagged = 1u << 2;
inline constexpr int kPortVlanAttribute = 2;
/// One VLAN of a port: RTM_SETLINK with PVID and UNTAGGED, or RTM_DELLINK.
std::string encode_port_vlan(int port, int vlan, bool is_added);

}  // namespace sliced::kubelet
