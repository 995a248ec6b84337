#pragma once
// Network interfaces by rtnetlink, in this network namespace or in a pod's: read, change, move back.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/network_namespace.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Numeric settings by their names in `ip link`: txqlen, group, gso_max_size, gso_ipv4_max_size,
/// gso_max_segs, gro_max_size, gro_ipv4_max_size, mode (0 default, 1 dormant). 1 on, 0 off: arp, multicast,
/// dynamic, trailers, debug, protodown.
using LinkNumbers = std::map<std::string, uint32_t, std::less<>>;
/// Ids of attached XDP programs by mode (XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, XDP_FLAGS_HW_MODE).
using XdpPrograms = std::map<uint32_t, uint32_t>;

struct HostLink {
  int ifindex = 0;
  std::string name;
  std::string kind;  // IFLA_INFO_KIND: "vlan", "bond", "macvlan"; "" for a function's interface
  std::string
      parent;       // IFLA_PARENT_DEV_NAME by function_of_parent(): "0000:03:00.2"; "" for a link, and before
                    // Linux 5.14
  std::string mac;  // "aa:bb:..", lower case; "" if none
  int mtu = 0;
  int lower = 0;         // IFLA_LINK: ifindex of the lower device, if it is in this namespace; otherwise 0
  int ipvlan_mode = -1;  // IFLA_IPVLAN_MODE: IPVLAN_MODE_L2, ...; -1 for other kinds
  int ipvlan_flags = 0;  // IFLA_IPVLAN_FLAGS
  bool is_vlan_filtering = false;                               // bridge: IFLA_BR_VLAN_FILTERING
  int default_pvid = 0;                                         // bridge: IFLA_BR_VLAN_DEFAULT_PVID
  bool is_up = false, is_promisc = false, is_allmulti = false;  // as set by ip link
  bool is_netns_immutable = false;  // IFLA_NETNS_IMMUTABLE; false before Linux 6.15, which does not report it
  std::vector<std::string> alternative_names = {};  // IFLA_ALT_IFNAME, sorted
  std::string alias = {};                           // IFLA_IFALIAS
  LinkNumbers numbers = {};                         // those that the kernel reports
  XdpPrograms xdp = {};
  std::string broadcast = {};  // IFLA_BROADCAST: "ff:ff:.."; "" none, or no Ethernet address
  bool operator==(const HostLink&) const = default;
};

/// A change of an interface. A member that is nullopt stays unchanged. A change of alternative names must be
/// the only one in its request.
struct LinkChange {
  std::optional<std::string> name, mac;
  std::optional<int> mtu;
  std::optional<bool> up, promisc, allmulti;
  std::optional<int> to_namespace;  // IFLA_NET_NS_FD: a descriptor
  std::optional<std::string> alias = {};
  LinkNumbers numbers = {};
  std::optional<uint32_t> detached_xdp = {};                      // the mode whose program is detached
  std::optional<std::string> added_name = {}, removed_name = {};  // alternative names
  std::optional<std::string> broadcast = {};
};

/// Returns all interfaces of the namespace. Blocks for at most 10 s. Errors: kDenied without CAP_SYS_ADMIN
/// for another namespace; kTimeout, also if no thread can be started; kIo.
Result<std::vector<HostLink>> read_links(int network_namespace);
/// Changes an interface. A name that is one of its own alternative names becomes its name. Errors: kDenied
/// without CAP_NET_ADMIN; kConflict if another interface has the name; kIo with the kernel's reason.
Result<Unit> change_link(int network_namespace, int ifindex, const LinkChange& change);
/// The request of change_link(), and one decoded datagram of a dump of RTM_GETLINK. decode_links() returns
/// whether it was the last one. Errors: kInvalid, and those of an NLMSG_ERROR.
std::string encode_link_change(int ifindex, const LinkChange& change);
Result<bool> decode_links(std::string_view datagram, std::vector<HostLink>& links);
/// Returns the PCI function of an interface whose parent device is a virtioN on it; any other parent
/// unchanged. sysfs: "/sys". Blocks.
std::string function_of_parent(const std::string& parent, const std::string& sysfs);

/// Returns whether this is the interface of a PCI function. False for a virtual link, and for a scalable
/// function, whose parent is an auxiliary device ("mlx5_core.sf.4").
bool has_pci_parent(const HostLink& link);

/// Identifies a device's interface on the host before a plugin moved it into a pod.
struct MovedLink {
  std::string pci;          // "" for a virtual link, such as a VLAN or a bond
  std::string name;         // on the host
  std::string kind;         // HostLink::kind
  std::string name_in_pod;  // ifName of the definition
  int ifindex_in_pod = 0;   // 0 if unknown
};
/// Returns the device's interface among the interfaces of a namespace; null if it is not there. Compares the
/// PCI function. Without one it compares the kind and the ifindex in the pod, or if that is unknown, the name
/// in the pod or on the host. Never returns the loopback interface, nor a pod's own veth that has the name of
/// the host's interface.
const HostLink* find_moved(const std::vector<HostLink>& links, const MovedLink& moved);
/// Removes the interfaces in that namespace that have `lower` below them: VLANs, macvlans and others. The
/// kernel leaves them there when the lower one moves to another namespace, and they continue to send and
/// receive.
/// Errors: as change_link().
Result<Unit> remove_uppers(int network_namespace, const std::vector<HostLink>& links, const HostLink& lower);
/// Moves the device's interface from a pod's namespace to that of the calling thread, after remove_uppers().
/// There it is down and has its host name. If another interface has that name, it keeps its name in the pod;
/// if that is in use too, the kernel chooses one. Returns false if it is not in the pod's namespace.
Result<bool> move_link_back(int from_namespace, const MovedLink& moved);

}  // namespace sliced::kubelet
