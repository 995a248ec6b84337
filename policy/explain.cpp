#include "policy/explain.h"

#include "policy/exposure/explain_exposure.h"
#include "policy/sriov/explain_sriov.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::policy {

std::string iommu_problem(const hotplug::HostDevice& device) {
  if (!device.iommu_group || device.iommu_partners.empty()) return "";
  constexpr size_t kShown = 8;
  std::string partners;
  size_t shown = 0;
  for (const hotplug::PciAddress& partner : device.iommu_partners) {
    if (shown == kShown) {
      partners += ", " + and_more(device.iommu_partners.size() - kShown, "function");
      break;
    }
    partners += (shown++ == 0 ? "" : ", ") + partner.text();
  }
  return "shares IOMMU group " + std::to_string(*device.iommu_group) + " with " + partners +
         ": a claim with driver vfio-pci is refused unless it has all of them; avoid the device by attribute iommuGroupShared";
}

Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max) {
  Explanation out{.device = device_id};
  const hotplug::HostDevice* device =
      decision.inputs == nullptr ? nullptr : decision.inputs->inventory->find(device_id);
  if (device == nullptr || !decision.verdicts.contains(device_id)) {
    out.outcome = "unknown";
    out.summary = "this host has no device " + escaped(device_id);
    return out;
  }
  out.iommu_problem = iommu_problem(*device);
  for (const std::string& note : device->unreadable) out.unreadable.push_back(escaped(note));
  explain_sriov(decision, *device, rules_max, out);
  explain_exposures(decision, *device, rules_max, out);
  return out;
}

}  // namespace sliced::policy
