#pragma once
// The rules that hold when a device is handed over, whatever a scheduler has counted: counters may be switched off
// in the server, and a scheduler may be too old for them. Pure; each refusal says what it is because of.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/original_mac.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "policy/not_returned.h"

namespace sliced::kubelet {

/// Before anything is done. "" nothing speaks against it. Who looks on (adminAccess) is asked nothing but
/// whether the device is there.
/// prepared: of both drivers, begun ones as well; the claim's own record counts for nothing.
std::string refusal(const PreparedClaim& claim, const PreparedDevice& device, const KnownEntry& known,
                    const PreparedClaims& prepared);
/// Returns the first other claim that has the device, or one that excludes it (conflict()); nullptr if there is none. Points into `prepared`.
const PreparedClaim* conflicting_claim(const PreparedClaim& claim, const PreparedDevice& device,
                                       const PreparedClaims& prepared);
/// Of a claim that is gone and still on record: why its devices are not free, as a clause whose subject is "it", a device.
std::string why_not_returned(const PreparedClaim& claim);
/// Their devices, in order of entry; none with adminAccess.
policy::NotReturnedDevices not_returned_of(const PreparedClaims& prepared);
/// Of two devices of the same claim. "" they can stand beside each other.
std::string conflict_within(const PreparedClaim& claim);

/// The MAC addresses that the device is given for its pod: by an annotation, and by its network's configuration. None for one
/// with adminAccess.
std::set<std::string> macs_for_pod(const PreparedDevice& device);

/// A switch forwards an address to one of its ports. So no two functions of a PF get the same MAC address: by a pod's annotation,
/// by a network's configuration (`mac`), or because one of them has it, or had it and gets it back. An interface on a link above
/// a PF (VLAN, bond, bridge) counts as one of its functions. "" device gets none that another function of its PF has by these
/// records; else the text names the claim that has it.
/// original_macs: addresses that were written over.
std::string mac_refusal(const PreparedClaim& claim, const PreparedDevice& device,
                        const PreparedClaims& prepared, const OriginalMacs& original_macs);

/// After the host was looked at, before anything is bound: another function stands there, or the host uses it.
std::string refusal(const PreparedDevice& device, const KnownEntry& known, const HostLook& look);

/// A driver that hands the function to a program in user space, and makes no interface: vfio-pci and its variants, UIO.
bool is_userspace_driver(std::string_view driver);
/// A function whose network is run needs an interface in the host's namespace that its plugin can move or stand on; a
/// plugin that sets up a function on a userspace driver through its PF needs none. "" it has what its network needs.
std::string refusal_of_interface(const PreparedDevice& device, const HostLook& look);

/// An interface that a plugin moves comes back to the host under its name in the pod (ifName) when the sandbox ends without DEL, and
/// then stands in the way of what has that name there: so it may be neither the name of another interface of the host, nor that of
/// another prepared device's. One that came back itself, and waits for its name, is in nobody's way.
/// "" nothing speaks against the name. prepared: of both drivers.
std::string name_refusal(const PreparedDevice& device, const PreparedClaims& prepared, const HostLook& look);

/// A network that moves the interface into the pod fails for one that the kernel does not move (netns-immutable). "" it may be moved, or stays.
std::string immovable_refusal(const PreparedDevice& device, const HostLook& look);

/// Whether a network's first plugin makes an interface on top of the device's, which stays on the host (macvlan, vlan ...), and does not
/// move it.
bool makes_interfaces(const std::string& network);

/// Whether a claim that holds one keeps the other from being handed over.
bool conflict(const PreparedDevice& a, const PreparedDevice& b);

}  // namespace sliced::kubelet
