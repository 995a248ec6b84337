#pragma once
// Derives host devices from readings: functions' own netdevs, representors, host use. Pure; equal readings
// give equal devices.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// A function's netdev, remembered while it is in another namespace (design: sticky facts).
struct StickyNetdev {
  Netdev last;  // with the name for selectors
  std::string rdma_device;
  std::vector<std::string> pkeys;   // of that RDMA device
  std::string driver;               // at that time: with another driver the function has no such netdev
  bool is_away = false;             // it left our namespace while its function stayed
  bool has_sticky_name = false;     // it returned under another name, and was not renamed here since
  bool is_unexplained = false;      // with either: it was not seen to leave; the next readings decide
  std::vector<Netdev> other_ports;  // its other ports; those in another namespace are stale
  bool operator==(const StickyNetdev&) const = default;
};
using StickyNetdevs = std::map<PciAddress, StickyNetdev>;

/// Returns the devices sorted by id. With `sticky`, a function whose netdev is in another namespace has its
/// last one, marked stale.
std::vector<HostDevice> resolve(const HostReadings& readings, const StickyNetdevs& sticky = {});

/// The same for these functions only, without those that do not exist. Requires: `former` contains the
/// devices of all functions, those that are not in `functions` are unchanged, and no interface has a switch
/// id.
std::vector<HostDevice> resolve_affected(const HostReadings& readings, const StickyNetdevs& sticky,
                                         const std::set<PciAddress>& functions, const Inventory& former);

/// Returns whether the facts of a PF that its VFs inherit are equal. nullptr: no such device.
bool is_same_for_vfs(const HostDevice* before, const HostDevice* now);

/// The interfaces of our namespace that belong to functions, by function: one for each of its ports, in the
/// order of the ports (dev_port, then port name, then age), without representors of other functions. No list
/// is empty; the pointers refer to the readings.
using FunctionPorts = std::map<PciAddress, std::vector<const NetdevReading*>>;
/// only: restricts the functions; nullptr: all.
FunctionPorts ports_of_functions(const HostReadings& readings, const std::set<PciAddress>* only = nullptr);
/// Returns the first one, which represents the function; nullptr if it has none here.
const NetdevReading* own_netdev(const FunctionPorts& ports, const PciAddress& function);

/// Returns the names of the upper interfaces of each one: its master, VLANs on it, and all that name it as a
/// lower interface. Interfaces are matched by ifindex if the reading has one, because it stays the same after
/// a rename.
std::map<std::string, std::set<std::string>> upper_links(const HostReadings& readings);

/// Returns the facts of an interface without derived ones.
Netdev facts_of(const NetdevReading& reading);
/// Returns whether two interfaces of one function certainly belong to different ports.
bool are_different_ports(const Netdev& a, const Netdev& b);
/// Order of ports_of_functions(), for different ports.
bool is_port_before(const Netdev& a, const Netdev& b);

/// phys_port_name in the format of the kernel's devlink.
struct PortName {
  enum class Kind {
    kUplink,  // "p0", "p0s1"
    kVf,      // "pf0vf3", "c0pf0vf3" or "3"
    kSf,      // "pf0sf88", "c0pf0sf88"
    kOther,
  } kind = Kind::kOther;
  int pf = -1, vf = -1;  // pf is -1 if the name has none; vf: the sfnum for kSf
  bool operator==(const PortName&) const = default;
};
/// Returns kOther for a text in another format.
PortName decode_port_name(std::string_view text);
/// Returns whether the name identifies neither the port nor its PF; devlink's flavour does.
inline bool is_ambiguous(const PortName& port) {
  return port.kind == PortName::Kind::kOther || (port.kind == PortName::Kind::kVf && port.pf < 0);
}

/// Facts that distinguish the ports of one function. Valid as long as their texts.
struct PortFacts {
  std::string_view name;  // of the interface
  int ifindex = 0;
  std::string_view switch_id;
  std::string_view port_name;  // devlink's, otherwise phys_port_name
  int dev_port = 0;
};
/// Returns whether the interface is the representor of a VF or of a scalable function: "pf0vf3" and "pf0sf88"
/// by their names, "3" if it has a switch id.
bool represents_function(const PortFacts& port);
/// Returns whether the interface is a representor of any kind. In addition to represents_function(): each
/// other port of a switch that is not an uplink, such as a representor of another host's PF ("c1pf0").
bool is_representor(const PortFacts& port);
/// Returns Netdev::port_flavour.
std::string_view port_flavour(std::string_view port_name, std::string_view switch_id);
/// The order of a function's ports: the uplink, then an interface without a port name, then other ports.
bool is_before(const PortFacts& a, const PortFacts& b);

}  // namespace sliced::hotplug
