#pragma once
// Who a host device is in slices: the names of its entries, DNS labels that stay the same while the device is
// there, and the pools that they stand in. Addresses are written and read as names here and nowhere else.
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

/// The name of a function's entry without suffix, of either driver: "0000-03-00-2".
std::string function_name(const hotplug::PciAddress& function);

/// Id of the device that a user names: "0000:3b:00.2", "0000-3b-00-2", an interface name or an alternative one, which counts where no
/// interface has it as its name. Errors: kNotFound where no device has it; kInvalid where several have it, with their ids.
Result<std::string> find_device(const hotplug::Inventory& inventory, std::string_view name);

/// The function whose dashed address a name begins with, as the names of all its entries do:
/// "0000-03-00-2-macvlan"; nullopt where none does.
std::optional<hotplug::PciAddress> function_named_by(std::string_view name);

/// A link's interface name made a DNS label: "eth0.100" becomes "eth0-100". Where anything else is lost, or
/// the label begins with what looks like a PCI address, a short hash of the name is appended.
std::string link_label(const std::string& interface);

/// Its label of today, and the one without a hash: what the name of an entry of this link may begin with.
std::vector<std::string> labels_of_link(const std::string& interface);

/// Names without suffix of all links, by id; no two are the same, "" where there is none left. None is a
/// function's. published: interface by entry name, of what stands in our slices: of links whose names fall
/// together the published one keeps its name, the others get the hash.
std::map<std::string, std::string> link_names(const hotplug::Inventory& inventory,
                                              const std::map<std::string, std::string>& published);

/// Names of entries, each once: "<base><suffix>". Functions are to be named before links: theirs are never
/// another's.
class EntryNames {
 public:
  /// published: as for link_names(). A name that stands in our slices for a link that is still there stays
  /// that link's. Both must outlive this.
  EntryNames(const hotplug::Inventory& inventory, const std::map<std::string, std::string>& published)
      : inventory_(inventory), published_(published) {}
  /// "" when it does not make a DNS label, or is another entry's. A name that reads as another link's with another
  /// suffix ("br" and "-data" beside "br-data") gets the hash of its own: whoever has it is told by it alone.
  std::string name(const hotplug::HostDevice& device, const std::string& base, const std::string& suffix);

 private:
  bool is_anothers(const std::string& name, const std::string& base, const hotplug::HostDevice& link);
  bool reads_as_anothers(const std::string& name, const std::string& base);

  const hotplug::Inventory& inventory_;
  const std::map<std::string, std::string>& published_;
  std::set<std::string> taken_;
  std::optional<std::set<std::string>> labels_;  // of all links, once they were asked for
};

/// "<node>/<PF's address dashed>" for a PF and its VFs, "<node>/net" for all others. Where that exceeds the
/// 253 bytes of a pool name, the node's part is cut and ends in a hash of the whole: the same at any time.
std::string exposure_pool_name(const std::string& node, const hotplug::HostDevice& device);
inline constexpr size_t kPoolNameMax = 253;  // segments and slashes together (API: PoolNameMaxLength)

/// The same, each name made once.
class PoolNames {
 public:
  explicit PoolNames(std::string node);
  /// Valid as long as this.
  const std::string& of(const hotplug::HostDevice& device);
  const std::string& net() const { return net_; }  // of what belongs to no PF
  bool are_shortened() const { return net_ != node_ + "/net"; }

 private:
  const std::string node_, net_;
  std::map<hotplug::PciAddress, std::string> names_;                         // by PF
  const std::pair<const hotplug::PciAddress, std::string>* last_ = nullptr;  // that was asked for
};

}  // namespace sliced::policy
