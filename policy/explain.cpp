#include "policy/explain.h"

#include "policy/exposure/explain_exposure.h"
#include "policy/sriov/explain_sriov.h"
#include "reactor/base/text.h"

namespace sliced::policy {

Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max) {
  Explanation out{.device = device_id};
  const hotplug::HostDevice* device =
      decision.inputs == nullptr ? nullptr : decision.inputs->inventory->find(device_id);
  if (device == nullptr || !decision.verdicts.contains(device_id)) {
    out.outcome = "unknown";
    out.summary = "this host has no device " + escaped(device_id);
    return out;
  }
  for (const std::string& note : device->unreadable) out.unreadable.push_back(escaped(note));
  explain_sriov(decision, *device, rules_max, out);
  explain_exposures(decision, *device, rules_max, out);
  return out;
}

}  // namespace sliced::policy
