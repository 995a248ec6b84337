#pragma once
// Names of device entries: DNS labels that stay the same while the device is there.
#include <map>
#include <set>
#include <string>

#include "hotplug/facts.h"

namespace sliced::policy {

/// A link's interface name made a DNS label: "eth0.100" becomes "eth0-100". Where anything else is lost, or
/// the label looks like a PCI address, a short hash of the name is appended.
std::string link_label(const std::string& interface);

/// Names without suffix for every device that can have one, by id. published: interface by entry name, of
/// what stands in our slices: of links whose names fall together the published one keeps its name, the others
/// get the hash.
std::map<std::string, std::string> base_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published);

/// Names of entries, each once: "<base><suffix>".
class EntryNames {
 public:
  /// "" when it does not make a DNS label.
  std::string name(const hotplug::HostDevice& device, const std::string& base, const std::string& suffix);

 private:
  std::set<std::string> taken_;
};

}  // namespace sliced::policy
