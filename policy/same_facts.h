#pragma once
// Which host devices are what they were for the decision before: of those, what was made of them then is made
// of them now.
#include <set>

#include "hotplug/facts.h"

namespace sliced::policy {

/// Cost: linear in the inventories, and almost nothing for devices that both share in memory.
class SameFacts {
 public:
  /// before: nullptr when there was none; then nothing is the same. Both outlive this.
  SameFacts(const hotplug::Inventory& now, const hotplug::Inventory* before);
  /// Its own facts, those of its PF that it shows, and the kind of what it is enslaved to. device: of `now`.
  bool has(const hotplug::HostDevice& device) const {
    return is_any_ && (changed_.empty() || !changed_.contains(&device));
  }
  /// Every device, and no other.
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
