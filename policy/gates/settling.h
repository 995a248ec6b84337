#pragma once
// Debounces additions. Removals are published immediately; new entries and changes wait for a quiet period of
// their PF, or of the device itself if it has none. So `echo 64 > sriov_numvfs` causes a few writes of slices
// instead of 64. daemon/quiet_windows.h measures the quiet periods.
#include <string_view>

#include "hotplug/facts.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// The settling devices of one decision, and the published form of their entries.
class SettlingDevices {
 public:
  explicit SettlingDevices(const Inputs& inputs);  // inputs must outlive this object
  /// Returns true if the device settles (Inputs::settling).
  bool is_settling(const hotplug::HostDevice& device) const;
  /// Returns true if the entry was published in this pool by the previous decision. Otherwise the gate
  /// settling withholds it. Unlike policy::was_published(), slices of an earlier process do not count: no
  /// device settles in the first decision.
  bool was_published(std::string_view pool, std::string_view entry) const;
  /// Returns the entry; while its device settles, with the attributes that were published. Counters are not
  /// kept, because they are recomputed.
  kube::DevicePtr as_published_before(const hotplug::HostDevice& device, std::string_view pool,
                                      kube::DevicePtr entry) const;

 private:
  const Inputs& in_;
};

}  // namespace sliced::policy
