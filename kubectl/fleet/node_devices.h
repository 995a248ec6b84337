#pragma once
// The devices of one node, from its slices and the cluster's claims. Pure.
#include <string>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "kubectl/fleet/fleet.h"

namespace sliced::kubectl {

/// State of a device.
enum class DeviceState {
  kFree,       // offered, not allocated, without a taint
  kTainted,    // offered, with a taint, not allocated
  kAllocated,  // offered and allocated
  kGone,       // allocated and no longer offered
  kHidden,     // not offered
  kUsedUp,     // offered, not allocated; allocated devices use up the counters that it shares
  kUnknown,    // offered, without a taint; claims may not be read
};
/// Returns "free", "tainted", "allocated", "gone", "hidden", "used-up", "unknown": an interface
/// (docs/command-line.md).
std::string_view name_of(DeviceState state);

/// One device. Unknown values are empty, because drivers publish different attributes. pci is
/// resource.kubernetes.io/pciBusID, otherwise sliced's own pciAddress; interface and kernel_driver are from
/// the exposure driver's attributes only.
struct DeviceLine {
  std::string entry = {}, pool = {}, driver = {};                     // names of entry, pool and DRA driver
  std::string pci = {}, pf = {}, interface = {}, kernel_driver = {};  // hardware
  DeviceState state = DeviceState::kFree;
  std::vector<std::string> claims = {};  // holders: "namespace/name (pod a)"
  std::vector<std::string> taints = {};  // "key=value:effect"
  std::string why = {};                  // for kHidden and kUsedUp
  bool operator==(const DeviceLine&) const = default;
};

/// Returns its holders, its taints, or the reason why it is hidden, as text.
std::string detail_of(const DeviceLine& line);

/// Returns the devices of the newest generation of each pool of the drivers, sorted by PCI address and name.
/// slices: of the node. fleet: contains the claims.
std::vector<DeviceLine> device_lines(const std::string& node, const std::vector<kube::ResourceSlice>& slices,
                                     const Fleet& fleet, const FleetDrivers& drivers);

/// Adds a line for each device that the report shows as hidden by a policy or a gate, and sorts again. Omits
/// devices without a policy, and devices that are offered in `lines`: the report may be older than the
/// slices.
void add_hidden(const reports::NodeReport& report, std::vector<DeviceLine>& lines);
/// Returns the policy or gate that hides the devices of a group and the reason, in the words of `explain`:
/// "DeviceExposurePolicy x excludes it".
std::string why_hidden(const reports::DeviceGroup& group);
bool is_hidden(const reports::DeviceGroup& group);
/// Returns whether a policy or a gate keeps devices from being offered. Devices that another policy offers
/// anyway are not hidden.
bool hides(const reports::PolicyVerdict& verdict);

}  // namespace sliced::kubectl
