#pragma once
// Finds the host devices whose facts are those of the previous decision, whose entries can be reused.
#include <set>

#include "hotplug/facts.h"

namespace sliced::policy {

/// Cost: linear in the inventories, and close to nothing for devices that both share in memory.
class SameFacts {
 public:
  /// before: nullptr if there is none; then no device is the same. Requires: both outlive this object.
  SameFacts(const hotplug::Inventory& now, const hotplug::Inventory* before);
  /// Returns true if its own facts, the facts of its PF that it shows, and the type of its master are
  /// unchanged. Requires: device is in `now`.
  bool has(const hotplug::HostDevice& device) const {
    return is_any_ && (changed_.empty() || !changed_.contains(&device));
  }
  /// Returns true if all devices are the same and none disappeared.
  bool are_all() const { return is_any_ && changed_.empty() && !is_any_gone_; }

 private:
  void compare(const hotplug::Inventory& now, const hotplug::Inventory& before);
  void note_dependants(const hotplug::Inventory& now, const hotplug::Inventory& before);
  void note_other_names(const hotplug::Inventory& now, const hotplug::Inventory& before);

  const bool is_any_;
  bool is_any_gone_ = false;
  std::set<const hotplug::HostDevice*> changed_;
};

}  // namespace sliced::policy
