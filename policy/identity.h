#pragma once
// Names of host devices in slices: entry names, which are DNS labels that stay the same while the device
// exists, and pool names. All conversions between addresses and names are here.
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// Returns the entry name of a function without suffix, for both drivers: "0000-03-00-2".
std::string function_name(const hotplug::PciAddress& function);

/// Returns the id of the device that a user names: "0000:3b:00.2", "0000-3b-00-2", an interface name or an
/// alternative name, which counts only if no interface has it as its name.
/// Errors: kNotFound if no device has it; kInvalid if several have it, with their ids.
Result<std::string> find_device(const hotplug::Inventory& inventory, std::string_view name);

/// Returns the function whose dashed address is a prefix of the name, as in "0000-03-00-2-macvlan"; nullopt
/// if none is.
std::optional<hotplug::PciAddress> function_named_by(std::string_view name);

/// Returns the DNS label of a link's interface name: "eth0.100" becomes "eth0-100". A short hash of the name
/// is appended if other characters are lost, or if the label begins like a PCI address.
std::string link_label(const std::string& interface);

/// Returns the present label and the one without a hash: possible prefixes of this link's entry names.
std::vector<std::string> labels_of_link(const std::string& interface);

/// Returns the names without suffix of all links, by id: unique, "" if none is free, and different from all
/// functions' names. published: interface by entry name, from our slices. If labels of links are equal, the
/// published link keeps its name and the others get the hash.
std::map<std::string, std::string> link_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published);

/// Allocates unique entry names "<base><suffix>". Functions must be named before links, whose names yield.
class EntryNames {
 public:
  /// published: as for link_names(). A name that is published for an existing link stays that link's.
  /// Requires: both arguments outlive this object.
  EntryNames(const hotplug::Inventory& inventory, const std::map<std::string, std::string>& published)
      : inventory_(inventory), published_(published) {}
  /// Returns "" if the name is not a DNS label or is another entry's. A name that reads as another link's
  /// with another suffix ("br" and "-data" beside "br-data") gets a hash, because a record identifies the
  /// link by the name alone.
  std::string name(const hotplug::HostDevice& device, const std::string& base, const std::string& suffix);

 private:
  bool is_anothers(const std::string& name, const std::string& base, const hotplug::HostDevice& link);
  bool is_ambiguous(const std::string& name, const std::string& base);
  bool is_in_use(const std::string& name) const;
  // Returns false if it is taken.
  bool take(const std::string& name);

  const hotplug::Inventory& inventory_;
  const std::map<std::string, std::string>& published_;
  std::vector<std::string> used_names_;          // ascending, which names mostly come in
  std::optional<std::set<std::string>> labels_;  // of all links; computed on first use
};

/// Returns "<node>/<PF's dashed address>" for a PF and its VFs, "<node>/net" for all others. A name of more
/// than 253 bytes has a shortened node part that ends in a hash of the whole.
std::string exposure_pool_name(const std::string& node, const hotplug::HostDevice& device);
inline constexpr size_t kPoolNameMax = 253;  // segments and slashes together (API: PoolNameMaxLength)

/// The same, with each name computed once.
class PoolNames {
 public:
  explicit PoolNames(std::string node);
  /// The reference is valid as long as this object.
  const std::string& of(const hotplug::HostDevice& device);
  const std::string& net() const { return net_; }  // pool of devices without a PF
  bool are_shortened() const { return net_ != node_ + "/net"; }

 private:
  const std::string node_, net_;
  std::map<hotplug::PciAddress, std::string> names_;                         // by PF
  const std::pair<const hotplug::PciAddress, std::string>* last_ = nullptr;  // last result
};

}  // namespace sliced::policy
