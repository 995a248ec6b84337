#include "policy/identity.h"

#include <algorithm>
#include <vector>

#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

std::string with_hash(const std::string& label, const std::string& interface) {
  return label + "-" + hex(stable_hash(interface), 6);
}

// Returns the label, and whether it identifies the name.
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

// Gives each link a unique name.
class LinkNames {
 public:
  LinkNames(const hotplug::Inventory& inventory, const std::map<std::string, std::string>& published) {
    for (const auto& [entry, link] : published) entries_[link].push_back(entry);
    for (const auto& [id, device] : inventory.devices)
      if (!device.pci) links_.push_back(id);
  }

  std::map<std::string, std::string> run() {
    for (const std::string& id : links_) {
      const std::string label = link_label(id), hashed = with_hash(label, id);
      if (has_entry(id, label, hashed)) take(id, {label});
      if (has_entry(id, hashed)) take(id, {hashed});
    }
    for (const std::string& id : links_) {
      const std::string label = link_label(id), hashed = with_hash(label, id);
      take(id, {label, hashed, with_hash(hashed, id)});
    }
    return std::move(names_);
  }

 private:
  // Returns true if a published entry of the link begins with this name.
  bool has_entry(const std::string& id, const std::string& name, const std::string& but = "-") const {
    const auto at = entries_.find(id);
    return at != entries_.end() && std::any_of(at->second.begin(), at->second.end(), [&](const auto& entry) {
             return entry.starts_with(name) && !entry.starts_with(but);
           });
  }
  // Takes the first free name, unless the link has one.
  void take(const std::string& id, const std::vector<std::string>& in_order) {
    if (names_.contains(id)) return;
    for (const std::string& name : in_order)
      if (used_names_.insert(name).second) {
        names_[id] = name;
        return;
      }
    if (in_order.size() > 1) names_[id] = "";
  }

  std::map<std::string_view, std::vector<std::string_view>> entries_;  // by link
  std::vector<std::string> links_;
  std::set<std::string> used_names_;
  std::map<std::string, std::string> names_;
};

constexpr size_t kHashDigits = 16;

// Returns the pool name. A long one is cut, and its hash identifies the node.
std::string pool_name(const std::string& node, const std::string& rest) {
  std::string name = node + "/" + rest;
  if (name.size() <= kPoolNameMax) return name;
  name.resize(kPoolNameMax - 2 - kHashDigits - rest.size());
  while (name.back() == '.' || name.back() == '-') name.pop_back();
  return name + "-" + hex(stable_hash(node), kHashDigits) + "/" + rest;
}

// Returns the PF of the device's pool; nullopt for the pool of links.
std::optional<hotplug::PciAddress> pf_of(const hotplug::HostDevice& device) {
  if (device.type == hotplug::DeviceType::kPf) return device.pci;
  const bool has_pf = device.type == hotplug::DeviceType::kVf || device.type == hotplug::DeviceType::kSf;
  return has_pf ? device.pf : std::nullopt;
}

}  // namespace

std::string function_name(const hotplug::PciAddress& function) { return function.dashed(); }

std::optional<hotplug::PciAddress> function_named_by(std::string_view name) {
  const auto parts = split(name, '-');
  if (parts.size() < 4 || parts[3].empty()) return std::nullopt;
  return hotplug::PciAddress::decode(std::string(parts[0]) + ":" + std::string(parts[1]) + ":" +
                                     std::string(parts[2]) + "." + parts[3].front());
}

std::string link_label(const std::string& interface) {
  const auto [label, is_lossy] = plain_label(interface);
  return is_lossy || function_named_by(label) ? with_hash(label, interface) : label;
}

std::vector<std::string> labels_of_link(const std::string& interface) {
  return {link_label(interface), plain_label(interface).first};
}

std::map<std::string, std::string> link_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published) {
  return LinkNames(inventory, published).run();
}

bool EntryNames::is_anothers(const std::string& name, const std::string& base,
                             const hotplug::HostDevice& link) {
  if (is_in_use(name)) return true;
  const auto at = published_.find(name);
  if (at != published_.end() && inventory_.find(at->second) != nullptr) return at->second != link.id.text;
  return is_ambiguous(name, base);
}

// Reads the name like unknown_holding() (policy/reserved/record.h): the longest label that is a prefix of it.
bool EntryNames::is_ambiguous(const std::string& name, const std::string& base) {
  if (!labels_) {
    labels_.emplace();
    for (const auto& [id, device] : inventory_.devices)
      if (!device.pci)
        for (std::string& label : labels_of_link(id)) labels_->insert(std::move(label));
  }
  for (size_t size = base.size() + 1; size <= name.size(); ++size)
    if (labels_->contains(name.substr(0, size))) return true;
  return false;
}

std::string EntryNames::name(const hotplug::HostDevice& device, const std::string& base,
                             const std::string& suffix) {
  if (base.empty()) return "";
  std::string name = base + suffix;
  if (!device.pci) {
    std::string hashed = with_hash(base, device.id.text) + suffix;
    const auto former = published_.find(hashed);
    const bool is_published = former != published_.end() && former->second == device.id.text;
    if (is_published || is_anothers(name, base, device)) name = std::move(hashed);
  }
  return kube::is_dns_label(name) && take(name) ? name : "";
}

bool EntryNames::is_in_use(const std::string& name) const {
  return std::binary_search(used_names_.begin(), used_names_.end(), name);
}

bool EntryNames::take(const std::string& name) {
  auto place = used_names_.end();
  if (!used_names_.empty() && name <= used_names_.back()) {
    place = std::lower_bound(used_names_.begin(), used_names_.end(), name);
    if (*place == name) return false;
  }
  used_names_.insert(place, name);
  return true;
}

std::string exposure_pool_name(const std::string& node, const hotplug::HostDevice& device) {
  const auto pf = pf_of(device);
  return pool_name(node, pf ? function_name(*pf) : "net");
}

PoolNames::PoolNames(std::string node) : node_(std::move(node)), net_(pool_name(node_, "net")) {}

const std::string& PoolNames::of(const hotplug::HostDevice& device) {
  const auto pf = pf_of(device);
  if (!pf) return net_;
  if (last_ != nullptr && last_->first == *pf) return last_->second;
  const auto [at, is_new] = names_.try_emplace(*pf);
  if (is_new) at->second = pool_name(node_, function_name(*pf));
  last_ = &*at;
  return at->second;
}

Result<std::string> find_device(const hotplug::Inventory& inventory, std::string_view name) {
  if (inventory.find(name) != nullptr) return std::string(name);
  std::vector<std::string> named, by_alternative;
  for (const auto& [id, device] : inventory.devices) {
    if (device.pci && function_name(*device.pci) == name) return id;
    if (!device.netdev) continue;
    const auto& others = device.netdev->alternative_names;
    if (device.netdev->name == name)
      named.push_back(id);
    else if (std::find(others.begin(), others.end(), name) != others.end())
      by_alternative.push_back(id);
  }
  const std::vector<std::string>& found = named.empty() ? by_alternative : named;
  if (found.size() == 1) return found.front();
  if (found.empty())
    return Error{Errc::kNotFound, "this host has no device " + in_quotes(name) +
                                      "; `sliced discover` lists them by address and interface name"};
  return Error{Errc::kInvalid, in_quotes(name) + " is " + (named.empty() ? "an alternative" : "the") +
                                   " interface name of several devices: " + join(found, ", ") +
                                   "; name one of these"};
}

}  // namespace sliced::policy
