#include "kubectl/fleet/node_devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/why/free.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

// The first of these attributes that is a text, or a number.
std::string attribute_of(const kube::Device& device, std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    const auto found = device.attributes.find(name);
    if (found == device.attributes.end()) continue;
    if (const auto* text = std::get_if<std::string>(&found->second)) return *text;
    if (const auto* number = std::get_if<int64_t>(&found->second)) return std::to_string(*number);
  }
  return {};
}

std::string text_of(const kube::Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

void sort_lines(std::vector<DeviceLine>& lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const DeviceLine& a, const DeviceLine& b) {
    return std::tie(a.pci, a.entry, a.driver) < std::tie(b.pci, b.entry, b.driver);
  });
}

DeviceLine line_of(const kube::ResourceSlice& slice, const kube::Device& device, const Fleet& fleet,
                   const FleetDrivers& drivers) {
  const std::string sriov = drivers.sriov + "/", exposure = drivers.exposure + "/";
  DeviceLine out{.entry = device.name, .pool = slice.pool.name, .driver = slice.driver};
  out.pci = attribute_of(device,
                         {"resource.kubernetes.io/pciBusID", sriov + "pciAddress", exposure + "pciAddress"});
  out.pf = attribute_of(
      device, {sriov + "PFName", exposure + "pfName", sriov + "pfPciAddress", exposure + "pfPciAddress"});
  out.interface = attribute_of(device, {exposure + "ifName"});
  out.kernel_driver = attribute_of(device, {exposure + "driver"});
  out.claims = fleet.holders(slice.driver, slice.pool.name, device.name);
  for (const kube::Taint& taint : device.taints) out.taints.push_back(text_of(taint));
  if (!out.claims.empty())
    out.state = DeviceState::kAllocated;
  else if (std::any_of(device.taints.begin(), device.taints.end(), why::keeps_pods_away))
    out.state = DeviceState::kTainted;
  return out;
}

}  // namespace

std::string_view name_of(DeviceState state) {
  switch (state) {
    case DeviceState::kFree:
      return "free";
    case DeviceState::kTainted:
      return "tainted";
    case DeviceState::kAllocated:
      return "allocated";
    case DeviceState::kGone:
      return "gone";
    case DeviceState::kHidden:
      return "hidden";
    case DeviceState::kUsedUp:
      return "used-up";
    case DeviceState::kUnknown:
      return "unknown";
  }
  return "";
}

std::string detail_of(const DeviceLine& line) {
  std::vector<std::string> parts = line.claims;
  if (!line.taints.empty()) parts.push_back("taint " + join(line.taints, ", "));
  if (!line.why.empty()) parts.push_back(line.why);
  return join(parts, "; ");
}

namespace {

// Free devices that the pool's counters are not enough for.
void mark_used_up(const kube::ResourceSlice& slice, const kube::Device& device,
                  const why::CountersLeft& counters, const why::GroupsInUse& groups, DeviceLine& line) {
  if (line.state != DeviceState::kFree || device.consumes_counters.empty()) return;
  const why::Amounts asked = why::counter_amounts(device.consumes_counters);
  const std::string* counter = counters.short_of(asked);
  if (const kube::CounterConsumption* one =
          counter == nullptr ? groups.conflict(device.consumes_counters) : nullptr) {
    line.state = DeviceState::kUsedUp;
    line.why = "its compatibility groups of counter set " + one->counter_set + " of pool " + slice.pool.name +
               " are not those of the devices in use";
  }
  if (counter == nullptr) return;
  line.state = DeviceState::kUsedUp;
  line.why = "takes " + why::describe(asked.at(*counter)) + " of counter " + *counter + " of pool " +
             slice.pool.name + ", and " + why::describe(counters.left(*counter)) + " is left";
}

}  // namespace

std::vector<DeviceLine> device_lines(const std::string& node, const std::vector<kube::ResourceSlice>& slices,
                                     const Fleet& fleet, const FleetDrivers& drivers) {
  std::map<std::pair<std::string, std::string>, int64_t> newest;
  for (const auto& slice : slices) {
    auto& generation = newest[{slice.driver, slice.pool.name}];
    generation = std::max(generation, slice.pool.generation);
  }
  std::map<std::pair<std::string, std::string>, why::CountersLeft> counters;
  std::map<std::pair<std::string, std::string>, why::GroupsInUse> groups;
  for (const auto& slice : slices) {
    if (slice.pool.generation != newest[{slice.driver, slice.pool.name}]) continue;
    auto& left = counters[{slice.driver, slice.pool.name}];
    for (const kube::CounterSet& set : slice.shared_counters)
      left.supply(why::counter_amounts({set.name, set.counters}));
    for (const kube::DevicePtr& device : slice.devices)
      if (!fleet.holders(slice.driver, slice.pool.name, device->name).empty()) {
        left.draw(why::counter_amounts(device->consumes_counters));
        groups[{slice.driver, slice.pool.name}].add(device->consumes_counters);
      }
  }
  std::vector<DeviceLine> out;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> offered;
  for (const auto& slice : slices) {
    if (slice.driver != drivers.sriov && slice.driver != drivers.exposure) continue;
    auto& names = offered[{slice.driver, slice.pool.name}];
    if (slice.pool.generation != newest[{slice.driver, slice.pool.name}]) continue;
    for (const kube::DevicePtr& device : slice.devices) {
      out.push_back(line_of(slice, *device, fleet, drivers));
      mark_used_up(slice, *device, counters[{slice.driver, slice.pool.name}],
                   groups[{slice.driver, slice.pool.name}], out.back());
      names.insert(device->name);
    }
  }
  for (const auto& pool : fleet.held_pools_of(node)) offered[pool];
  for (const auto& [pool, names] : offered)
    for (const std::string& device : fleet.held_of(pool.first, pool.second))
      if (!names.contains(device))
        out.push_back({.entry = device,
                       .pool = pool.second,
                       .driver = pool.first,
                       .state = DeviceState::kGone,
                       .claims = fleet.holders(pool.first, pool.second, device)});
  sort_lines(out);
  return out;
}

bool is_hidden(const reports::DeviceGroup& group) {
  return group.disposition == name_of(policy::Disposition::kHidden) ||
         group.disposition == name_of(policy::Disposition::kHeldBack);
}

bool hides(const reports::PolicyVerdict& verdict) {
  for (const policy::Outcome outcome : {policy::Outcome::kOffered, policy::Outcome::kNoMatch,
                                        policy::Outcome::kNotAVf, policy::Outcome::kNoPolicy})
    if (verdict.outcome == name_of(outcome)) return false;
  return true;
}

namespace {

// Returns the reason of a hidden device in the words of `explain`. "its entry is held back: ..." and other
// outcomes with a reason in the report stay unchanged.
std::string sentence_of(const reports::DeviceGroup& group, const reports::PolicyVerdict& verdict) {
  const auto is = [&](policy::Outcome outcome) { return verdict.outcome == name_of(outcome); };
  const std::string who = verdict.policy.kind.empty() ? "" : describe(verdict.policy);
  const std::string by = who.empty() ? "" : who + ": ";
  const std::string why = verdict.why.empty() ? "" : " (" + verdict.why + ")";
  if (is(policy::Outcome::kExcluded))
    return (who.empty() ? "a DeviceExposurePolicy" : who) + " excludes it" + why;
  if (is(policy::Outcome::kHostUse))
    return by + "the host uses it (" + (verdict.why.empty() ? group.host_use : verdict.why) + ")";
  if (is(policy::Outcome::kConflict)) {
    std::string others;
    for (const reports::PolicyVerdict& other : group.verdicts)
      if (other.outcome == name_of(policy::Outcome::kOffered) && !other.policy.kind.empty())
        others += (others.empty() ? " (" : ", ") + describe(other.policy);
    return by + "Conflict: " + (verdict.why.empty() ? "another policy offers it" : verdict.why) +
           (others.empty() ? "" : others + ")") + ", and one function is offered by one driver";
  }
  if (is(policy::Outcome::kNoSharing))
    return by +
           "it may be allocated several times, and this cluster cannot count that (DRAConsumableCapacity)";
  if (is(policy::Outcome::kNoCounters))
    return by +
           "it excludes another entry that is offered, and this cluster cannot count that "
           "(DRAPartitionableDevices, kube-scheduler 1.36.2)";
  if (is(policy::Outcome::kHeldByOther))
    return by +
           "it was offered through the other driver and may still be allocated there; it waits until the "
           "ResourceClaims show it free" +
           why;
  if (is(policy::Outcome::kReserved))
    return by +
           "its entry could be allocated in another way before and may still be; it waits until the "
           "ResourceClaims show it free" +
           why;
  if (is(policy::Outcome::kSettling))
    return by + "it has just appeared or changed, and will be offered in a moment" + why;
  if (is(policy::Outcome::kUnconfigured))
    return by + "no new device is offered before this node is configured" + why;
  if (is(policy::Outcome::kNotReturned) && !verdict.why.empty()) return by + verdict.why;
  for (const policy::Outcome outcome : policy::all_outcomes())
    if (is(outcome)) return by + std::string(policy::describe(outcome)) + why;
  return by + verdict.outcome + why;  // of a daemon of another release
}

}  // namespace

std::string why_hidden(const reports::DeviceGroup& group) {
  std::vector<std::string> parts;
  for (const reports::PolicyVerdict& verdict : group.verdicts)
    if (hides(verdict)) parts.push_back(sentence_of(group, verdict));
  if (parts.empty() && !group.host_use.empty()) parts.push_back("the host uses it (" + group.host_use + ")");
  return parts.empty() ? group.disposition : join(parts, "; ");
}

void add_hidden(const reports::NodeReport& report, std::vector<DeviceLine>& lines) {
  // The report is written after the slices. A device in the slices is not hidden, even if an older report
  // says so.
  std::set<std::string> offered;
  for (const DeviceLine& line : lines)
    if (line.state != DeviceState::kGone) offered.insert(line.pci.empty() ? line.interface : line.pci);
  offered.erase("");
  for (const reports::DeviceGroup& group : report.groups) {
    if (!is_hidden(group)) continue;
    for (const hotplug::HostDevice& device : reports::devices_of(group)) {
      const std::string interface = device.netdev ? device.netdev->name : "";
      if (offered.contains(device.pci ? device.pci->text() : interface)) continue;
      lines.push_back({.pci = device.pci ? device.pci->text() : "",
                       .pf = device.pf_name,
                       .interface = interface,
                       .kernel_driver = device.driver,
                       .state = DeviceState::kHidden,
                       .why = why_hidden(group)});
    }
  }
  sort_lines(lines);
}

}  // namespace sliced::kubectl
