#pragma once
// Debounces additions: removals are published immediately; additions and changes wait for a quiet period of their PF, so that
// `echo 64 > sriov_numvfs` results in a few writes and not in 64.
#include <string_view>

#include "hotplug/facts.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// Entries of settling devices that stay unchanged, during one decision.
class Settling {
 public:
  explicit Settling(const Inputs& inputs);  // must outlive this object
  bool is_in_motion(const hotplug::HostDevice& device) const;
  /// Whether an entry of a settling device was published before. If not, it waits.
  bool was_there(std::string_view pool, std::string_view entry) const;
  /// A published entry keeps its attributes while its device settles. Its counters are recomputed.
  kube::DevicePtr as_it_was(const hotplug::HostDevice& device, std::string_view pool,
                            kube::DevicePtr entry) const;

 private:
  const Inputs& in_;
};

}  // namespace sliced::policy
