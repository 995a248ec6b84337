#pragma once
// Network interfaces by rtnetlink, in this network namespace or in a pod's: reading them, changing them, moving one back.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/network_namespace.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Numbers of an interface by their names in `ip link`: txqlen, group, gso_max_size, gso_max_segs, gro_max_size.
using LinkNumbers = std::map<std::string, uint32_t, std::less<>>;
/// Identifiers of attached XDP programs by mode (XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, XDP_FLAGS_HW_MODE).
using XdpPrograms = std::map<uint32_t, uint32_t>;

struct HostLink {
  int ifindex = 0;
  std::string name;
  std::string kind;  // IFLA_INFO_KIND: "vlan", "bond", "macvlan"; "" of a function's interface
  std::string
      parent;  // IFLA_PARENT_DEV_NAME by function_of_parent(): "0000:03:00.2"; "" of a link, and before Linux 5.14
  std::string mac;  // "aa:bb:.." lower case; "" none
  int mtu = 0;
  int lower = 0;  // IFLA_LINK: the ifindex of the device below, where that is in this namespace; 0 none
  int ipvlan_mode = -1;            // IFLA_IPVLAN_MODE: IPVLAN_MODE_L2, ...; -1 of another kind
  int ipvlan_flags = 0;            // IFLA_IPVLAN_FLAGS
  bool is_vlan_filtering = false;  // of a bridge: IFLA_BR_VLAN_FILTERING
  int default_pvid = 0;            // of a bridge: IFLA_BR_VLAN_DEFAULT_PVID
  bool is_up = false, is_promisc = false, is_allmulti = false;  // as ip link has set them
  bool is_netns_immutable =
      false;  // IFLA_NETNS_IMMUTABLE; false also where the kernel does not report it (before Linux 6.15)
  std::vector<std::string> alternative_names = {};  // IFLA_ALT_IFNAME, sorted
  std::string alias = {};                           // IFLA_IFALIAS
  LinkNumbers numbers = {};                         // those that the kernel reports
  XdpPrograms xdp = {};
  bool operator==(const HostLink&) const = default;
};

/// What is to be changed of an interface; nullopt stays. A change of alternative names is a request of its own: nothing beside it.
struct LinkChange {
  std::optional<std::string> name, mac;
  std::optional<int> mtu;
  std::optional<bool> up, promisc, allmulti;
  std::optional<int> to_namespace;  // IFLA_NET_NS_FD: a descriptor
  std::optional<std::string> alias = {};
  LinkNumbers numbers = {};
  std::optional<uint32_t> detached_xdp = {};                      // the mode whose program is detached
  std::optional<std::string> added_name = {}, removed_name = {};  // alternative names
};

/// All interfaces of the namespace. Blocks for 10 s at most. Errors: kDenied without CAP_SYS_ADMIN for another namespace,
/// kTimeout (also where no thread can be made), kIo.
Result<std::vector<HostLink>> read_links(int network_namespace);
/// A name that is an alternative one of the interface itself becomes its name. Errors: kDenied without CAP_NET_ADMIN; kConflict
/// where another interface has the name; kIo with the kernel's reason.
Result<Unit> change_link(int network_namespace, int ifindex, const LinkChange& change);
/// The request of change_link(), and the decoded answer to a dump of RTM_GETLINK: one datagram. Errors: kInvalid, and those of an
/// NLMSG_ERROR. Returns whether it was the last datagram.
std::string encode_link_change(int ifindex, const LinkChange& change);
Result<bool> decode_links(std::string_view datagram, std::vector<HostLink>& links);
/// The PCI function of an interface whose parent device is virtioN on it; any other parent as it is. sysfs: "/sys". Blocks.
std::string function_of_parent(const std::string& parent, const std::string& sysfs);

/// The interface of a PCI function. False for a virtual link, and for the interface of a scalable function, whose parent is an auxiliary device
/// ("mlx5_core.sf.4").
bool has_pci_parent(const HostLink& link);

/// Which interface of a device was on the host before a plugin moved it.
struct MovedLink {
  std::string pci;          // "" of a virtual link, such as a VLAN or a bond
  std::string name;         // on the host
  std::string kind;         // HostLink::kind
  std::string name_in_pod;  // ifName of the definition
  int ifindex_in_pod = 0;   // 0 unknown
};
/// The device's interface among those of a namespace; null: it is not there. Found by its PCI function; else, of the same kind, by its
/// number in the pod, or where that is unknown by its name in the pod or on the host. Never the loopback interface, nor a pod's own veth that has the name of the host's interface.
const HostLink* find_moved(const std::vector<HostLink>& links, const MovedLink& moved);
/// Moves the device's interface from a pod's namespace to that of the calling thread, down and with its name on the host. Where another
/// interface has that name it returns under its name in the pod; where that is taken, too, under one that the kernel chooses. Returns false
/// where the pod's namespace does not have it.
Result<bool> move_link_back(int from_namespace, const MovedLink& moved);

}  // namespace sliced::kubelet
