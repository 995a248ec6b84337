#pragma once
// Names of device entries: DNS labels that stay the same while the device is there.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hotplug/facts.h"

namespace sliced::policy {

/// The function whose dashed address a name begins with, as the names of all its entries do:
/// "0000-03-00-2-macvlan"; nullopt where none does.
std::optional<hotplug::PciAddress> function_named_by(std::string_view name);

/// A link's interface name made a DNS label: "eth0.100" becomes "eth0-100". Where anything else is lost, or
/// the label begins with what looks like a PCI address, a short hash of the name is appended.
std::string link_label(const std::string& interface);

/// Names without suffix for every device, by id; no two are the same, "" where there is none left. published:
/// interface by entry name, of what stands in our slices: of links whose names fall together the published
/// one keeps its name, the others get the hash.
std::map<std::string, std::string> base_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published);

/// Names of entries, each once: "<base><suffix>". Functions are to be named before links: theirs are never
/// another's.
class EntryNames {
 public:
  /// published: as for base_names(). A name that stands in our slices for a link that is still there stays
  /// that link's. Both must outlive this.
  EntryNames(const hotplug::Inventory& inventory, const std::map<std::string, std::string>& published)
      : inventory_(inventory), published_(published) {}
  /// "" when it does not make a DNS label, or is another entry's.
  std::string name(const hotplug::HostDevice& device, const std::string& base, const std::string& suffix);

 private:
  bool is_anothers(const std::string& name, const hotplug::HostDevice& link) const;

  const hotplug::Inventory& inventory_;
  const std::map<std::string, std::string>& published_;
  std::set<std::string> taken_;
};

}  // namespace sliced::policy
