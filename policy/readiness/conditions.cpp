#include "policy/readiness/conditions.h"

#include <array>

#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

constexpr int kInfiniband = 32;  // ARPHRD_INFINIBAND

Finding met() { return {}; }
Finding met_if(bool is_met, std::string why) {
  return is_met ? met() : Finding{Finding::Is::kNotMet, std::move(why)};
}
Finding not_met(std::string why) { return {Finding::Is::kNotMet, std::move(why)}; }
Finding does_not_apply(std::string why) { return {Finding::Is::kDoesNotApply, std::move(why)}; }

std::string named(const HostDevice& device) {
  if (device.type != DeviceType::kVf || !device.vf_index) return escaped(device.id.text);
  return "VF " + std::to_string(*device.vf_index) + " of " +
         escaped(device.pf_name.empty() && device.pf ? device.pf->text() : device.pf_name);
}

bool is_infiniband(const HostDevice& device) {
  if (device.netdev && device.netdev->link_type) return *device.netdev->link_type == kInfiniband;
  return device.pf_link_type == kInfiniband;
}

Finding driver_bound(const Subject& subject) {
  if (!subject.device.pci) return does_not_apply("it is not a function");
  return met_if(!subject.device.driver.empty(), "no driver is bound to " + named(subject.device));
}

Finding netdev(const Subject& subject) {
  const HostDevice& device = subject.device;
  if (device.netdev) return met();
  if (hotplug::is_handed_over(device))
    return does_not_apply("driver " + device.driver + " makes no interface");
  if (device.driver.empty())
    return not_met("no driver is bound to " + named(device) + " that would make one");
  return not_met("driver " + escaped(device.driver) + " of " + named(device) + " has made none here");
}

// Returns the kernel's error; "" if there is none.
std::string why_unread(const HostDevice& device) {
  const std::string note(hotplug::find_unreadable(device.unreadable, "settings"));
  return note.empty() ? "" : " (" + escaped(note) + ")";
}

// Returns the result for a VF to which admin MACs do not apply; nullopt if they apply.
std::optional<Finding> without_admin_mac(const Subject& subject) {
  const HostDevice& device = subject.device;
  if (device.type != DeviceType::kVf) return does_not_apply("it is not a VF");
  if (is_infiniband(device)) return does_not_apply("it is not Ethernet");
  if (hotplug::is_handed_over(device))
    return does_not_apply("bound to " + device.driver + " it has no interface");
  if (!subject.host.can_query_pfs) return does_not_apply("VF settings of a PF cannot be read from files");
  if (!device.enforced || device.enforced->mac.empty())
    return not_met("the PF has not reported the admin MAC of " + named(device) + why_unread(device));
  return std::nullopt;
}

Finding admin_mac(const Subject& subject) {
  if (auto without = without_admin_mac(subject)) return *without;
  const std::string& mac = subject.device.enforced->mac;
  return met_if(hotplug::is_address_set(mac), named(subject.device) + " has admin MAC " + mac);
}

Finding admin_mac_matches(const Subject& subject) {
  if (auto without = without_admin_mac(subject)) return *without;
  const HostDevice& device = subject.device;
  const std::string& mac = device.enforced->mac;
  if (!hotplug::is_address_set(mac)) return not_met(named(device) + " has admin MAC " + mac);
  if (!device.netdev || device.netdev->mac.empty())
    return not_met(named(device) + " has no interface on the host whose MAC address could be " + mac);
  return met_if(device.netdev->mac == mac, named(device) + " has admin MAC " + mac + ", and its interface " +
                                               escaped(device.netdev->name) + " has " + device.netdev->mac);
}

Finding guid(const Subject& subject) {
  const HostDevice& device = subject.device;
  if (device.type != DeviceType::kVf) return does_not_apply("it is not a VF");
  if (!is_infiniband(device)) return does_not_apply("it is not InfiniBand");
  if (!subject.host.can_query_pfs) return does_not_apply("VF settings of a PF cannot be read from files");
  if (!device.enforced || device.enforced->node_guid.empty() || device.enforced->port_guid.empty())
    return not_met("the PF has not reported the GUIDs of " + named(device) + why_unread(device));
  for (const auto& [which, guid] :
       {std::pair("node", &device.enforced->node_guid), {"port", &device.enforced->port_guid}})
    if (!hotplug::is_address_set(*guid)) return not_met(named(device) + " has " + which + " GUID " + *guid);
  return met();
}

// The property is unknown for a restored interface; it was initialized when it left.
Finding udev_initialized(const Subject& subject) {
  if (!subject.host.has_udevd) return does_not_apply("udevd does not run");
  const auto& netdev = subject.device.netdev;
  if (!netdev) return does_not_apply("it has no interface here");
  if (!netdev->is_initialized) return does_not_apply("its interface is elsewhere");
  return met_if(*netdev->is_initialized, "udevd has not finished with interface " + escaped(netdev->name));
}

Finding node_state(const Subject& subject) {
  const HostDevice& device = subject.device;
  if (device.type != DeviceType::kPf && device.type != DeviceType::kVf)
    return does_not_apply("it is neither a PF nor a VF");
  if (!subject.node_state.is_known) return not_met(subject.node_state.why);
  const auto& out_of_sync = subject.node_state.out_of_sync;
  const std::string pf = device.pf ? device.pf->text() : device.id.text;
  const auto at = out_of_sync.find(pf);
  if (at == out_of_sync.end()) return {Finding::Is::kMet, subject.node_state.status};
  // A reason that all PFs share has one text, so that it is reported once.
  return not_met(at->second == subject.node_state.unsettled ? at->second
                                                            : "PF " + pf + " is not in sync: " + at->second);
}

Finding carrier(const Subject& subject) {
  const HostDevice& device = subject.device;
  if (device.type == DeviceType::kBridge || device.type == DeviceType::kVirtual)
    return does_not_apply("it has no link of its own");
  const HostDevice* owner = link_owner(subject);
  if (owner == nullptr) return not_met("the PF of " + named(device) + " is not on this host");
  if (!owner->netdev && hotplug::is_handed_over(*owner))
    return does_not_apply("bound to " + owner->driver + " " + escaped(owner->id.text) + " has no interface");
  if (!owner->netdev)
    return not_met(escaped(owner->id.text) + " has no interface on the host whose link could be read");
  const hotplug::Netdev& netdev = *owner->netdev;
  const std::string interface =
      "interface " + escaped(netdev.name) + (owner == &device ? "" : ", the PF of " + named(device) + ",");
  if (netdev.oper_state.empty()) return not_met("the link state of " + interface + " is not known");
  // Drivers without carrier detection leave "unknown"; an interface that is set down reads "down"
  // (net/core/net-sysfs.c).
  if (netdev.oper_state == "up" || netdev.oper_state == "unknown") return met();
  if (netdev.is_up == false)
    return not_met(interface + " is set down (ip link set " + escaped(netdev.name) + " up)");
  return not_met(interface + " has no carrier: operstate " + escaped(netdev.oper_state));
}

using NeedsPfQuery = ConditionKind::NeedsPfQuery;

constexpr std::array<ConditionKind, kConditionCount - 1> kTable = {{
    {Condition::kDriverBound, "the function's driver link", NeedsPfQuery::kNo, driver_bound},
    {Condition::kNetdev, "the function's interface, or its driver", NeedsPfQuery::kNo, netdev},
    {Condition::kAdminMac, "the PF's word of the VF's MAC address (IFLA_VF_MAC)", NeedsPfQuery::kYes,
     admin_mac},
    {Condition::kAdminMacMatches, "that, and the address of the VF's interface", NeedsPfQuery::kYes,
     admin_mac_matches},
    {Condition::kGuid, "the PF's word of the VF's GUIDs (IFLA_VF_IB_NODE_GUID, IFLA_VF_IB_PORT_GUID)",
     NeedsPfQuery::kYes, guid},
    {Condition::kUdevInitialized, "udevd's record of the interface", NeedsPfQuery::kNo, udev_initialized},
    {Condition::kNodeState, "the node's SriovNetworkNodeState, compared with the host",
     NeedsPfQuery::kPerhaps, node_state},
    {Condition::kCarrier, "operstate of the interface; of a VF that of its PF", NeedsPfQuery::kNo, carrier},
}};

}  // namespace

const hotplug::HostDevice* link_owner(const Subject& subject) {
  if (subject.device.type != hotplug::DeviceType::kVf) return &subject.device;
  return subject.device.pf ? subject.host.find(subject.device.pf->text()) : nullptr;
}

std::span<const ConditionKind> condition_table() { return kTable; }

ConditionSet conditions_of_pfs(bool perhaps) {
  ConditionSet out;
  for (const ConditionKind& kind : condition_table())
    out.set(static_cast<size_t>(kind.condition),
            kind.of_pf == ConditionKind::NeedsPfQuery::kYes ||
                (perhaps && kind.of_pf == ConditionKind::NeedsPfQuery::kPerhaps));
  return out;
}

Finding find_mtu(const Subject& subject, int mtu_at_least) {
  const HostDevice& device = subject.device;
  if (!device.netdev && hotplug::is_handed_over(device))
    return does_not_apply("bound to " + device.driver + " it has no interface");
  if (!device.netdev || !device.netdev->mtu) return not_met("the MTU of " + named(device) + " is not known");
  return met_if(*device.netdev->mtu >= mtu_at_least, "interface " + escaped(device.netdev->name) +
                                                         " has MTU " + std::to_string(*device.netdev->mtu) +
                                                         ", expected " + std::to_string(mtu_at_least));
}

Finding find_condition(Condition condition, const Subject& subject, int mtu_at_least) {
  if (condition == Condition::kMtuAtLeast) return find_mtu(subject, mtu_at_least);
  return condition_table()[static_cast<size_t>(condition)].find(subject);
}

}  // namespace sliced::policy
