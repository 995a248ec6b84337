// What readiness asks of a machine: the admin MACs that PFs enforce, and whether udevd has finished with an interface.
#include <algorithm>
#include <utility>

#include "t/sim/machine.h"

namespace sliced::sim {

void Machine::set_mac(const std::string& address, bool on, bool is_told) {
  Function* vf = find(address);
  if (vf == nullptr || vf->pf.empty() || vf->has_mac == on) return;
  vf->has_mac = on;
  const Interface* above = interface_of(vf->pf);
  if (is_told && above != nullptr && above->is_here) say_link(*above);
  changed(address);
}

std::optional<std::map<int, hotplug::VfConfig>> Machine::vf_configs(int ifindex) const {
  const auto at = interfaces_.find(ifindex);
  if (at == interfaces_.end() || !at->second.is_here) return std::nullopt;
  std::map<int, hotplug::VfConfig> out;
  for (const auto& [address, vf] : functions_)
    if (!vf.pf.empty() && vf.pf == at->second.function && vf.is_linked)
      out[vf.index].mac = vf.has_mac ? "02:00:00:00:00:01" : "00:00:00:00:00:00";
  return out;
}

std::string Machine::finish(int ifindex) {
  Interface* netdev = find(ifindex);
  if (netdev == nullptr || !netdev->is_here) return "";
  if (!std::exchange(netdev->is_finished, true)) netdev->finished_at = now();
  return netdev->name;
}

bool Machine::is_unfinished(const std::string& id) const {
  return has_udevd && std::any_of(interfaces_.begin(), interfaces_.end(), [&](const auto& entry) {
           const Interface& one = entry.second;
           return (one.is_here ? !one.is_finished : one.has_left_unfinished) &&
                  (one.function.empty() ? one.name : one.function) == id;
         });
}

}  // namespace sliced::sim
