#pragma once
// Each device of one node, as its slices and the cluster's claims have it. Pure.
#include <string>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kubectl/fleet/fleet.h"

namespace sliced::cli {

/// What becomes of a device.
enum class DeviceStands {
  kFree,       // offered, had by no claim, without a taint
  kTainted,    // offered, with a taint, had by no claim
  kAllocated,  // offered, and a claim has it
  kGone,       // a claim has it, and it is not offered any more
  kHidden,     // the node has it and does not offer it
  kUsedUp,  // offered, had by no claim; the counters that it shares with devices that claims have are used up
  kUnknown,  // offered, without a taint; claims may not be read
};
/// "free", "tainted", "allocated", "gone", "hidden", "used-up", "unknown": an interface (docs/command-line.md).
std::string_view name_of(DeviceStands stands);

/// One device. What is not known is empty: who publishes says how much it says. pci is
/// resource.kubernetes.io/pciBusID, else our own pciAddress; interface and kernel_driver are read of the
/// exposure driver's attributes alone.
struct DeviceLine {
  std::string entry = {}, pool = {}, driver = {};  // names in the pool, and under which DRA driver
  std::string pci = {}, pf = {}, interface = {}, kernel_driver = {};  // of the hardware
  DeviceStands stands = DeviceStands::kFree;
  std::vector<std::string> claims = {};  // that have it: "namespace/name (pod a)"
  std::vector<std::string> taints = {};  // "key=value:effect"
  std::string why = {};                  // of kHidden and kUsedUp
  bool operator==(const DeviceLine&) const = default;
};

/// Who has it, its taints, who hides it: in words.
std::string detail_of(const DeviceLine& line);

/// Of the newest generation of each pool of our drivers; in the order of PCI addresses and names.
/// slices: of the node. fleet: knows the claims.
std::vector<DeviceLine> device_lines(const std::string& node, const std::vector<kube::ResourceSlice>& slices,
                                     const Fleet& fleet, const FleetDrivers& drivers);

/// Adds a line for each device that the report says a policy or a gate hides, and sorts anew. Of those that no policy speaks of
/// there is none, nor of devices that `lines` has as offered: the report may be older than the slices.
void add_hidden(const reports::NodeReport& report, std::vector<DeviceLine>& lines);
/// Who hides the devices of a group and why, in the words of `explain`: "DeviceExposurePolicy x excludes it".
std::string why_hidden(const reports::DeviceGroup& group);
bool is_hidden(const reports::DeviceGroup& group);
/// A policy or a gate keeps devices from being offered. Devices that another policy offers nevertheless are not hidden.
bool hides(const reports::Said& said);

}  // namespace sliced::cli
