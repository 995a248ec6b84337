#include "daemon/device_table.h"

#include <utility>

#include "kubelet/recall.h"
#include "policy/summary.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

std::string link_text(const HostDevice& device) {
  if (!device.netdev) return {};
  const hotplug::Netdev& netdev = *device.netdev;
  if (netdev.stale) return "away";
  const int64_t mbps = netdev.speed_mbps.value_or(0);
  if (mbps <= 0) return netdev.oper_state;
  return netdev.oper_state + " " +
         (mbps % 1'000 == 0 ? std::to_string(mbps / 1'000) + " Gb/s" : std::to_string(mbps) + " Mb/s");
}

std::string kind_text(const HostDevice& device) {
  const std::string type(name_of(device.type));
  if (device.type == DeviceType::kPf)
    return "PF, " + std::to_string(device.num_vfs) + " of " + std::to_string(device.total_vfs) + " VFs";
  if (device.type == DeviceType::kVf)
    return device.vf_index ? "VF " + std::to_string(*device.vf_index) : std::string("VF");
  if (device.type == DeviceType::kVlan && device.vlan_id)
    return "VLAN " + std::to_string(*device.vlan_id) + " of " + device.parent_name;
  if (device.type == DeviceType::kNic) return "NIC";
  return device.representor_of.empty() ? type : "representor of " + device.representor_of;
}

// Order: a PF, its VFs by number; then all others, functions before links.
std::pair<std::string, std::string> place_of(const HostDevice& device) {
  if (device.type == DeviceType::kPf) return {device.id.text, ""};
  if (device.type != DeviceType::kVf || !device.pf) return {"~", (device.pci ? "0" : "1") + device.id.text};
  const std::string number = std::to_string(device.vf_index.value_or(99'999));
  return {device.pf->text(), std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number};
}

std::string claim_of(const HostDevice& device, const PreparedFor& prepared) {
  const auto at = prepared.find(device.pci ? device.pci->text() : device.netdev ? device.netdev->name : "");
  return at == prepared.end() ? "" : at->second;
}

}  // namespace

PreparedFor prepared_for(const kubelet::PreparedClaims& claims) {
  PreparedFor out;
  for (const auto& [key, claim] : claims)
    for (const kubelet::PreparedDevice& device : claim.devices) {
      std::string& all = out[device.pci.empty() ? device.interface : device.pci];
      const std::string name = kubelet::short_name(claim);
      if (all.find(name) == std::string::npos) all += (all.empty() ? "" : ", ") + name;
    }
  return out;
}

std::vector<status::DeviceRow> device_rows(const VerdictSnapshot& snapshot, const PreparedFor& prepared) {
  std::vector<status::DeviceRow> out;
  for (const auto& [id, device] : snapshot.decision->inputs->inventory->devices) {
    if (!snapshot.decision->verdicts.contains(id)) continue;
    const auto [group, order] = place_of(device);
    out.push_back({.id = id,
                   .type = std::string(name_of(device.type)),
                   .kind = kind_text(device),
                   .interface = device.netdev ? device.netdev->name : "",
                   .link = link_text(device),
                   .driver = device.driver,
                   .disposition = std::string(name_of(policy::disposition_of(*snapshot.decision, id))),
                   .claim = claim_of(device, prepared),
                   .why = explain_as_published(snapshot, id, /*rules_max=*/0).summary,
                   .group = group,
                   .order = order});
  }
  status::sort_rows(out);
  return out;
}

}  // namespace sliced::daemon
