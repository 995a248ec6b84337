#pragma once
// Readings -> host devices: which netdev is a function's own, which is whose representor, what the host
// itself uses. Pure; the same readings always give the same devices.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// What is remembered of a function's netdev over its absence (design: sticky facts).
struct StickyNetdev {
  Netdev last;  // with the name that selectors see
  std::string rdma_device;
  std::vector<std::string> pkeys;   // of that
  std::string driver;               // under which it was seen: another driver's function has no such netdev
  bool is_away = false;             // it left our namespace while its function stayed
  bool keeps_name = false;          // it is back under another name, and nobody here has renamed it yet
  bool is_unexplained = false;      // with either: it was not seen to leave; the next readings decide
  std::vector<Netdev> other_ports;  // of its other ports; those that are away are stale
  bool operator==(const StickyNetdev&) const = default;
};
using StickyNetdevs = std::map<PciAddress, StickyNetdev>;

/// Sorted by id. With `sticky`, a function whose netdev is away shows its last one, marked stale.
std::vector<HostDevice> resolve(const HostReadings& readings, const StickyNetdevs& sticky = {});

/// The same of these functions alone: their devices, of those that are there. `former` are the devices of all, and
/// those that are not asked for would be the same again; no interface has a switch id.
std::vector<HostDevice> resolve_some(const HostReadings& readings, const StickyNetdevs& sticky,
                                     const std::set<PciAddress>& functions, const Inventory& former);

/// What its VFs are told of the PF is the same: nullptr where there is none.
bool is_same_for_vfs(const HostDevice* before, const HostDevice* now);

/// The interfaces of our namespace that are functions' own, by function: one for each of its ports, in the
/// order of the ports (dev_port, then port name, then age); representors of other functions are none of them.
/// No list is empty; what is in them are the readings' own.
using FunctionPorts = std::map<PciAddress, std::vector<const NetdevReading*>>;
/// only: of these functions; nullptr all.
FunctionPorts ports_of_functions(const HostReadings& readings, const std::set<PciAddress>* only = nullptr);
/// The first one: what stands for the function; nullptr when it has none here.
const NetdevReading* own_netdev(const FunctionPorts& ports, const PciAddress& function);

/// Names of the interfaces that are stacked on each one: its master, VLANs on it, and all that name it as a lower interface. An
/// interface is found by ifindex where the reading has one, because the ifindex outlives a name.
std::map<std::string, std::set<std::string>> upper_links(const HostReadings& readings);

/// The facts of an interface beside what is concluded of it.
Netdev facts_of(const NetdevReading& reading);
/// Both are interfaces of one function, and certainly of different ports of it.
bool are_different_ports(const Netdev& a, const Netdev& b);
/// In the order of ports_of_functions(), of different ports.
bool is_port_before(const Netdev& a, const Netdev& b);

/// phys_port_name as the kernel's devlink writes it.
struct PortName {
  enum class Kind {
    kUplink,  // "p0", "p0s1"
    kVf,      // "pf0vf3", "c0pf0vf3" or "3"
    kSf,      // "pf0sf88", "c0pf0sf88"
    kOther,
  } kind = Kind::kOther;
  int pf = -1, vf = -1;  // pf is -1 where the name does not say; vf: of kSf the sfnum
  bool operator==(const PortName&) const = default;
};
/// kOther for what no driver writes so.
PortName decode_port_name(std::string_view text);

}  // namespace sliced::hotplug
