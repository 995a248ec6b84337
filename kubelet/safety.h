#pragma once
// Checks before a device is prepared, independent of the scheduler's counters: the API server may have
// counters disabled, and an old scheduler does not support them. Pure; each refusal contains its reason.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/original_mac.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "policy/not_returned.h"

namespace sliced::kubelet {

/// Check before any change. Returns "" if the device may be prepared. With adminAccess only the device's
/// existence is checked. prepared: of both drivers, including incomplete ones; the claim's own record is
/// ignored.
std::string refusal(const PreparedClaim& claim, const PreparedDevice& device, const KnownEntry& known,
                    const PreparedClaims& prepared);
/// Returns the first other claim that has the device, or one that excludes it (conflict()); nullptr if there
/// is none. Points into `prepared`.
const PreparedClaim* conflicting_claim(const PreparedClaim& claim, const PreparedDevice& device,
                                       const PreparedClaims& prepared);
/// For a deleted claim that is still on record: returns why its devices are not free, as a clause whose
/// subject is "it", a device.
std::string why_not_returned(const PreparedClaim& claim);
/// Returns the devices of such claims, sorted by entry; without those with adminAccess.
policy::NotReturnedDevices not_returned_of(const PreparedClaims& prepared);
/// Checks the devices of one claim against each other. Returns "" if they can be prepared together.
std::string conflict_within(const PreparedClaim& claim);

/// Returns the MAC addresses that the device gets for its pod: from an annotation, and from its network's
/// configuration. Empty with adminAccess.
std::set<std::string> macs_for_pod(const PreparedDevice& device);

/// A switch forwards an address to one of its ports, so no two functions of a PF may get the same MAC
/// address. Addresses come from a pod's annotation, from a network's configuration (`mac`), from an
/// interface, or from an original that will be restored. An interface on a link above a PF (VLAN, bond,
/// bridge) counts as one of its functions. Returns "" if no record, and no other device of the claim, has the
/// device's addresses on another function of its PF; otherwise the text names the holder. A network that
/// cannot be decoded is refused, too. original_macs: addresses that pods' addresses replaced.
std::string mac_refusal(const PreparedClaim& claim, const PreparedDevice& device,
                        const PreparedClaims& prepared, const OriginalMacs& original_macs);

/// When functions are created again, the kernel gives the numbers of their device nodes
/// (/dev/infiniband/uverbs0, /dev/vfio/7) to others, and a container keeps its access to a node that it got.
/// Returns "" if no other prepared claim has a node of the device's edits; otherwise the text names the
/// claim. Ignored are nodes that all containers share (/dev/vfio/vfio), two shared devices, and records from
/// before a reboot.
std::string node_refusal(const PreparedClaim& claim, const PreparedDevice& device,
                         const PreparedClaims& prepared);
/// Check of a prepared device when the kubelet asks again. Returns "" if the nodes in its edits are those of
/// its function now, or if the function has none now; otherwise why the pod cannot keep them.
std::string stale_nodes(const PreparedDevice& device, const DeviceSnapshot& snapshot);

/// Check after the host was read, before anything is bound: the address has another function, or the host
/// uses it.
std::string refusal(const PreparedDevice& device, const KnownEntry& known, const DeviceSnapshot& snapshot);

/// Returns whether the driver passes the function to a userspace program and creates no interface: vfio-pci
/// and its variants, UIO.
bool is_userspace_driver(std::string_view driver);
/// Checks that a function with a network has an interface in the host's namespace that its plugin can move or
/// use. A plugin that configures a function on a userspace driver through its PF requires none. Returns "" if
/// the requirement is met.
std::string refusal_of_interface(const PreparedDevice& device, const DeviceSnapshot& snapshot);

/// Checks the interface's name in the pod (ifName). When a sandbox ends without DEL, a moved interface
/// returns to the host under that name. So it must not be the name of another interface of the host, nor that
/// of another prepared device's. An interface that returned itself and waits for its name does not count.
/// Returns "" if the name is free. prepared: of both drivers.
std::string name_refusal(const PreparedDevice& device, const PreparedClaims& prepared,
                         const DeviceSnapshot& snapshot);

/// Returns why the network cannot move the interface into the pod (netns-immutable); "" if it can, or the
/// interface stays.
std::string immovable_refusal(const PreparedDevice& device, const DeviceSnapshot& snapshot);

/// Returns whether a network's first plugin creates an interface on top of the device's, which stays on the
/// host (macvlan, vlan ...).
bool makes_interfaces(const std::string& network);

/// Returns whether the two devices exclude each other across claims.
bool conflict(const PreparedDevice& a, const PreparedDevice& b);

}  // namespace sliced::kubelet
