#include "policy/configure/missing_mac.h"

#include <algorithm>
#include <cctype>

#include "policy/readiness/readiness.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;
using hotplug::Netdev;

constexpr int kEthernet = 1;  // ARPHRD_ETHER
constexpr std::string_view kSyncInProgress = "InProgress";

const Netdev* netdev_on_host(const HostDevice& device) {
  return device.netdev && !device.netdev->stale && device.netdev->ifindex > 0 ? &*device.netdev : nullptr;
}

// Returns true for a unicast address that is not all zeros.
bool is_stations(const std::string& mac) {
  const auto first = mac.size() == 17 ? parse_hex(std::string_view(mac).substr(0, 2)) : std::nullopt;
  return first && (*first & 1) == 0 && hotplug::is_address_set(mac);
}

bool is_missing(const HostDevice& vf) {
  return vf.enforced && !vf.enforced->mac.empty() && !hotplug::is_address_set(vf.enforced->mac);
}

bool has_interface_to_keep(const HostDevice& vf, bool has_udevd) {
  const Netdev* netdev = netdev_on_host(vf);
  return netdev != nullptr && netdev->link_type == kEthernet &&
         (!has_udevd || netdev->is_initialized.value_or(true)) && is_stations(netdev->mac);
}

bool is_at_rest(const HostDevice& vf, const Inputs& in) {
  return vf.broken.empty() && !in.settling.contains(vf.id.text);
}

// ---- requests

bool sets_admin_mac(const Readiness& readiness, const Inputs& in) {
  return demand_of(readiness, in.settings.readiness).set_admin_mac;
}

// The policy offers it, or would offer it if it were ready.
bool is_wanted(Outcome outcome) { return outcome == Outcome::kOffered || outcome == Outcome::kNotReady; }

std::string requesting_policy(const std::string& id, const Decision& decision) {
  const Inputs& in = *decision.inputs;
  const auto verdict = decision.verdicts.find(id);
  if (verdict != decision.verdicts.end() && is_wanted(verdict->second.outcome) &&
      verdict->second.policy >= 0) {
    const SriovPolicy& policy = *in.policies->sriov[static_cast<size_t>(verdict->second.policy)];
    if (sets_admin_mac(policy.readiness, in)) return "policy " + text_of(policy.id);
  }
  const auto personas = decision.personas.find(id);
  if (personas == decision.personas.end()) return "";
  for (const PersonaVerdict& persona : personas->second) {
    if (!is_wanted(persona.outcome) || persona.policy < 0) continue;
    const ExposurePolicy& policy = *in.policies->exposures[static_cast<size_t>(persona.policy)];
    if (sets_admin_mac(policy.readiness, in)) return "DeviceExposurePolicy " + text_of(policy.id);
  }
  return "";
}

bool is_excluded(const std::string& id, const Decision& decision) {
  const auto verdict = decision.verdicts.find(id);
  if (verdict == decision.verdicts.end()) return true;  // not decided yet
  const Outcome outcome = verdict->second.outcome;
  return outcome == Outcome::kExcluded || outcome == Outcome::kExcludeUnreadable ||
         outcome == Outcome::kExcludeUnknown;
}

// While the operator synchronizes it sets the addresses itself.
std::string requesting_node_state(const HostDevice& vf, const MissingMacRequest& request) {
  const SriovNodeState* state = request.node_state.object.get();
  if (state == nullptr || state->is_spec_unknown || state->sync_status == kSyncInProgress) return "";
  if (!vf.host_use.empty() || is_excluded(vf.id.text, request.decision)) return "";
  for (const SriovNodeState::Wanted& wanted : state->wanted) {
    if (wanted.pci != vf.pf) continue;
    const auto* group = wanted.group_of(*vf.vf_index);
    const bool asks = wanted.problems.empty() && wanted.externally_managed && group != nullptr &&
                      (group->device_type.empty() || group->device_type == "netdevice");
    return asks ? "SriovNetworkNodeState " + state->namespace_ + "/" + state->name : "";
  }
  return "";
}

}  // namespace

std::vector<MissingMac> missing_macs(const MissingMacRequest& request) {
  std::vector<MissingMac> out;
  const Inputs& in = *request.decision.inputs;
  if (in.unconfigured.holds()) return out;
  for (const auto& [id, vf] : request.host.devices) {
    if (vf.type != hotplug::DeviceType::kVf || !vf.pf || !vf.vf_index || !is_missing(vf)) continue;
    if (!has_interface_to_keep(vf, request.host.has_udevd) || !is_at_rest(vf, in) || request.is_in_use(id))
      continue;
    const HostDevice* pf = request.host.find(vf.pf->text());
    const Netdev* port = pf == nullptr ? nullptr : netdev_on_host(*pf);
    if (port == nullptr) continue;
    std::string asked_by = requesting_policy(id, request.decision);
    if (asked_by.empty()) asked_by = requesting_node_state(vf, request);
    if (asked_by.empty()) continue;
    out.push_back({.vf = id,
                   .pf = *vf.pf,
                   .pf_name = port->kernel_name.empty() ? port->name : port->kernel_name,
                   .pf_ifindex = port->ifindex,
                   .index = *vf.vf_index,
                   .interface = vf.netdev->kernel_name.empty() ? vf.netdev->name : vf.netdev->kernel_name,
                   .ifindex = vf.netdev->ifindex,
                   .mac = vf.netdev->mac,
                   .asked_by = std::move(asked_by)});
  }
  return out;
}

}  // namespace sliced::policy
