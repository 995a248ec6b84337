#pragma once
// Removals at once, additions debounced: a removal goes out at once, while what the host adds or changes
// waits for a quiet window per PF, so that `echo 64 > sriov_numvfs` is a few writes and not 64.
#include <string_view>

#include "hotplug/facts.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// What of the entries of devices in motion stays as it was, for one decision.
class Settling {
 public:
  explicit Settling(const Inputs& inputs);  // which outlives it
  bool is_in_motion(const hotplug::HostDevice& device) const;
  /// Whether an entry of a device in motion was to be published before: if not, it waits.
  bool was_there(std::string_view pool, std::string_view entry) const;
  /// What was there keeps the attributes that it had while its device is in motion; what it takes is of now.
  kube::DevicePtr as_it_was(const hotplug::HostDevice& device, std::string_view pool,
                            kube::DevicePtr entry) const;

 private:
  const Inputs& in_;
};

}  // namespace sliced::policy
