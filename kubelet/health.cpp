#include "kubelet/health.h"

#include "kubelet/hardware.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// Drivers without carrier detection report "unknown" (RFC 2863, the kernel's operstates).
bool is_down(const HostDevice& device) {
  if (!device.netdev || device.netdev->stale) return false;
  const std::string& state = device.netdev->oper_state;
  return state == "down" || state == "lowerlayerdown" || state == "notpresent";
}

// A bridge without ports is down, and works as soon as it has one.
bool has_link(DeviceType type) { return type != DeviceType::kBridge && type != DeviceType::kVirtual; }

std::string recreated_text(const std::string& id) {
  return id + " was removed and is there again, but not in its pod: delete the pod";
}

std::string made_again_text(const std::string& id, const std::string& interface) {
  return id + " has a new interface on the host, " + escaped(interface) +
         ", and none in its pod, since its driver was bound again or has reset it: delete the pod";
}

// The id begins the entry's name, "sf88-0000-03-00-0" or "sf88-0000-03-00-0-macvlan".
std::string scalable_function_named_by(const std::string& name) {
  for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('-', end - 1))
    if (!hardware_of_sf_id(name.substr(0, end)).empty()) return name.substr(0, end);
  return "";
}

std::string id_of(const kube::Device& entry, const std::string& interface_key) {
  if (const std::string sf = scalable_function_named_by(entry.name); !sf.empty()) return sf;
  if (const auto function = policy::function_named_by(entry.name)) return function->text();
  const auto interface = entry.attributes.find(interface_key);
  const std::string* name =
      interface == entry.attributes.end() ? nullptr : std::get_if<std::string>(&interface->second);
  return name == nullptr ? "" : *name;
}

}  // namespace

std::string trouble_of(const HostDevice& device, const hotplug::Inventory& inventory, bool had_driver) {
  const std::string& id = device.id.text;
  if (!device.broken.empty()) return id + " cannot be relied on: " + device.broken;
  if (had_driver && device.driver.empty()) return id + " has lost its driver";
  if (device.type == DeviceType::kVf) {
    const HostDevice* pf = device.pf ? inventory.find(device.pf->text()) : nullptr;
    if (pf == nullptr) return "the PF of " + id + " no longer exists on the host";
    return is_down(*pf) ? "the link of " + pf->netdev->name + ", the PF of " + id + ", is down" : "";
  }
  return has_link(device.type) && is_down(device) ? "the link of " + device.netdev->name + " is down" : "";
}

std::vector<DeviceHealth> HealthBook::judge(const std::vector<policy::DesiredPool>& offered,
                                            const hotplug::Inventory& inventory, const ClaimsOf& claims_of,
                                            const MayBeInPod& may_be_in_pod, const IsMoved& is_moved) {
  learn(offered, inventory);
  std::vector<DeviceHealth> all;
  all.reserve(known_.size());
  for (auto& [name, known] : known_) {
    const HostDevice* device = inventory.find(known.id);
    // A link that is missing may be in its pod.
    const bool is_hardware = hotplug::PciAddress::decode(known.id) || !hardware_of_sf_id(known.id).empty();
    const bool is_missing = device == nullptr && is_hardware;
    const bool is_in_pod =
        device == nullptr && !is_hardware && may_be_in_pod && may_be_in_pod(name.first, name.second);
    if (is_missing || !known.missed_by.empty()) {
      std::set<std::string> claims = claims_of(name.first, name.second);
      if (!is_missing)
        std::erase_if(claims, [&](const std::string& uid) { return !known.missed_by.contains(uid); });
      known.missed_by = std::move(claims);
    }
    std::string trouble = is_in_pod           ? ""
                          : device == nullptr ? known.id + " no longer exists on the host"
                                              : trouble_of(*device, inventory, known.had_driver);
    if (trouble.empty() && !known.missed_by.empty()) trouble = recreated_text(known.id);
    const bool is_away = device == nullptr || !device->netdev || device->netdev->stale;
    // is_moved() searches all claims and attachments, so it is asked only about interfaces that are or were away.
    known.was_seen_away = device != nullptr && is_hardware && (known.was_seen_away || is_away) && is_moved &&
                          is_moved(name.first, name.second);
    if (trouble.empty() && known.was_seen_away && !is_away)
      trouble = made_again_text(known.id, device->netdev->kernel_name);
    all.push_back({name.first, name.second, std::move(trouble)});
  }
  return all;
}

std::string trouble_of_recreated(const PreparedClaims& prepared, const std::string& driver,
                                 const std::string& pool, const std::string& device) {
  for (const auto& [key, claim] : prepared)
    for (const PreparedDevice& one : claim.devices)
      if (claim.driver == driver && one.was_recreated && one.pool == pool && one.device == device)
        return recreated_text(hardware_of(one));
  return "";
}

void HealthBook::learn(const std::vector<policy::DesiredPool>& offered, const hotplug::Inventory& inventory) {
  for (auto& [name, known] : known_) known.is_offered = false;
  for (const policy::DesiredPool& pool : offered)
    for (const kube::DevicePtr& entry : pool.devices) {
      const std::pair name{pool.name, entry->name};
      if (!known_.contains(name)) {
        make_room();
        if (known_.size() >= kHealthEntriesMax) continue;
        const std::string id = id_of(*entry, interface_key_);
        const HostDevice* device = inventory.find(id);
        known_[name] = {.id = id, .had_driver = device != nullptr && !device->driver.empty()};
      }
      known_[name].is_offered = true;
    }
}

// The kubelet reports devices that are missing from the list as unknown.
void HealthBook::make_room() {
  if (known_.size() < kHealthEntriesMax) return;
  std::erase_if(known_, [](const auto& entry) { return !entry.second.is_offered; });
}

}  // namespace sliced::kubelet
