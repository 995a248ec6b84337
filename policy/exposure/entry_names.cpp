#include "policy/exposure/entry_names.h"

#include <algorithm>
#include <vector>

#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

std::string with_hash(const std::string& label, const std::string& interface) {
  return label + "-" + hex(stable_hash(interface), 6);
}

bool looks_like_pci(const std::string& label) {
  const auto parts = split(label, '-');
  if (parts.size() != 4) return false;
  return hotplug::PciAddress::decode(std::string(parts[0]) + ":" + std::string(parts[1]) + ":" +
                                     std::string(parts[2]) + "." + std::string(parts[3]))
      .has_value();
}

// The label, and whether the name can be told from it.
std::pair<std::string, bool> plain_label(const std::string& interface) {
  std::string label;
  bool is_lossy = false;
  for (const char c : interface) {
    const bool is_good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    label += is_good ? c : '-';
    is_lossy |= !is_good && c != '.';
  }
  const size_t first = label.find_first_not_of('-');
  if (first == std::string::npos) return {"link", true};
  const size_t last = label.find_last_not_of('-');
  is_lossy |= first != 0 || last + 1 != label.size();
  return {label.substr(first, last - first + 1), is_lossy};
}

}  // namespace

std::string link_label(const std::string& interface) {
  const auto [label, is_lossy] = plain_label(interface);
  return is_lossy || looks_like_pci(label) ? with_hash(label, interface) : label;
}

std::map<std::string, std::string> base_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published) {
  std::map<std::string, std::string> out;
  std::map<std::string, std::vector<std::string>> links;  // by label
  for (const auto& [id, device] : inventory.devices) {
    if (device.pci)
      out[id] = device.pci->dashed();
    else
      links[link_label(id)].push_back(id);
  }
  for (const auto& [label, ids] : links) {
    // An entry of this label, with whatever suffix, tells whose it is.
    const auto is_published = [&](const std::string& id) {
      return std::any_of(published.begin(), published.end(), [&](const auto& entry) {
        return entry.second == id && entry.first.starts_with(label) &&
               !entry.first.starts_with(with_hash(label, id));
      });
    };
    auto owner = std::find_if(ids.begin(), ids.end(), is_published);
    if (owner == ids.end()) owner = ids.begin();
    for (const std::string& id : ids) out[id] = id == *owner ? label : with_hash(label, id);
  }
  return out;
}

std::string EntryNames::name(const hotplug::HostDevice& device, const std::string& base,
                             const std::string& suffix) {
  std::string name = base + suffix;
  if (taken_.contains(name) && !device.pci) name = with_hash(base, device.id.text) + suffix;
  if (!is_dns_label(name) || !taken_.insert(name).second) return "";
  return name;
}

}  // namespace sliced::policy
