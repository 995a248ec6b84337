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

/// Reads everything except facts behind kernel locks (speed, operstate, phys_port_name, phys_switch_id):
/// these reads may hang on a live host, so read_slow_facts() reads them, one job per device. Lists that
/// cannot be read now keep their values from `before`.
HostReadings read_host(const HostView& host, const HostReadings& before = {});

/// The first half of read_host(): the existing functions and interfaces (with their class links' targets),
/// and the lists that are single files. The entries can then be read one by one on separate workers, in case
/// a read hangs.
struct HostListing {
  std::vector<std::pair<PciAddress, std::string>> functions;
  std::vector<std::pair<std::string, std::string>> netdevs;
  HostReadings lists;  // everything except functions, netdevs and default routes (which require the netdevs)
};
HostListing list_host(const HostView& host, const HostReadings& before = {});

/// Reads entries again, in place: these functions, their PFs, the VFs that the PFs gained or lost, and the
/// interfaces with these names. Removed entries are erased. VLANs, default routes and RDMA devices are read
/// as whole lists, for an interface or if `lists` is set.
struct Touched {
  std::set<PciAddress> functions;
  std::set<std::string> netdevs;
  bool lists = false;
  bool is_empty() const { return functions.empty() && netdevs.empty() && !lists; }
};
void reread(const HostView& host, const Touched& touched, HostReadings& readings);

/// Returns whether an interface is enslaved to, or stacked on, one whose ifindex is not in these readings
/// (HostReadings::are_links_mixed). Ignores interfaces without an ifindex, which are from a snapshot.
bool has_unknown_links(const HostReadings& readings);

/// Returns the interface of a software RDMA device (rdma_rxe, siw). These are not children of a PCI function,
/// and name their interface in sys/class/infiniband/NAME/parent or, without that file, in
/// ports/1/gid_attrs/ndevs/0. nullopt if neither can be read.
std::optional<std::string> netdev_of_soft_rdma(const HostView& host, const std::string& rdma_device);

/// Reads one device of /sys/bus/vdpa/devices.
VdpaDevice read_vdpa_device(const HostView& host, const std::string& name);
/// Returns the vDPA devices of a function ("0000:03:00.2") or scalable function (auxiliary_above()), sorted
/// by sorts_before().
std::vector<VdpaDevice> find_vdpa_devices(const HostView& host, const std::string& owner);

/// Reads the facts behind locks of one interface. May hang: call it on a worker with a deadline.
SlowFacts read_slow_facts(const HostView& host, const std::string& netdev);

}  // namespace sliced::hotplug
