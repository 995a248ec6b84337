#pragma once
// Discovery from sysfs and proc: identity first, then facts. Pure over a HostView; blocks, so it runs on a
// worker.
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "hotplug/host_view.h"
#include "hotplug/readings.h"
#include "reactor/base/result.h"

namespace sliced::hotplug {

/// Reads everything but facts that take kernel locks (speed, operstate, phys_port_name, phys_switch_id): on a live host a
/// reader may hang in them, so they are read by read_slow_facts(), one job a device. Lists that cannot be read now stay as
/// they were before.
HostReadings read_host(const HostView& host, const HostReadings& before = {});

/// The first half of read_host(): which functions and interfaces there are (with their class links' targets),
/// and the lists that are single files. Who fears a reader that hangs reads the entries one by one, each on
/// its own worker.
struct HostListing {
  std::vector<std::pair<PciAddress, std::string>> functions;
  std::vector<std::pair<std::string, std::string>> netdevs;
  HostReadings lists;  // all but functions, netdevs and default routes (which want the netdevs)
};
HostListing list_host(const HostView& host, const HostReadings& before = {});

/// Reads again what stands below these functions and interfaces, in place: a function, its PF, the VFs that
/// its PF has gained or lost, and the interfaces with these names. What is gone is erased. VLANs, default
/// routes and RDMA devices are lists of their own and are read as a whole, for an interface or when they are
/// touched themselves.
struct Touched {
  std::set<PciAddress> functions;
  std::set<std::string> netdevs;
  bool lists = false;
  bool is_empty() const { return functions.empty() && netdevs.empty() && !lists; }
};
void reread(const HostView& host, const Touched& touched, HostReadings& readings);

/// Some interface is enslaved to, or stands on, one whose ifindex no interface of these readings has
/// (HostReadings::are_links_mixed). By the ifindex alone: what has none is a snapshot's.
bool has_unknown_links(const HostReadings& readings);

/// Returns the interface of a software RDMA device (rdma_rxe, siw): these are no child of a PCI function and name their
/// interface in sys/class/infiniband/NAME/parent or, without that file, in ports/1/gid_attrs/ndevs/0. nullopt: neither can be read.
std::optional<std::string> netdev_of_soft_rdma(const HostView& host, const std::string& rdma_device);

/// One device of /sys/bus/vdpa/devices.
VdpaDevice read_vdpa_device(const HostView& host, const std::string& name);
/// The vDPA device of a function ("0000:03:00.2") or scalable function (auxiliary_above()); without a name: there is none. Of several one that the
/// host uses, else one that has a node.
VdpaDevice find_vdpa_device(const HostView& host, const std::string& owner);

/// The locked facts of one interface. May hang: run it where that costs one worker and has a deadline.
SlowFacts read_slow_facts(const HostView& host, const std::string& netdev);

}  // namespace sliced::hotplug
