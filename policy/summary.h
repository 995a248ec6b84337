#pragma once
// A decision in a few figures, for the service manager, `sliced status` and metrics.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "policy/decision.h"

namespace sliced::policy {

/// kOffered: offered in at least one way. kHidden: excluded by a policy. kHeldBack: a policy would offer it,
/// and a gate withholds it. kUnmatched: no policy applies.
enum class Disposition : uint8_t { kOffered, kHidden, kHeldBack, kUnmatched };
std::string_view name_of(
    Disposition disposition);  // "offered", "hidden", "held-back", "unmatched": an interface
/// device: id of a host device with a verdict.
Disposition disposition_of(const Decision& decision, const std::string& device);

using OutcomeCounts = std::map<Outcome, size_t>;

/// Numbers of host devices, each counted once.
struct Summary {
  size_t devices = 0;    // devices of the host
  size_t offered = 0;    // in at least one way
  size_t held_back = 0;  // a policy would offer it, and a gate withholds it
  size_t hidden = 0;     // excluded by a DeviceExposurePolicy; no policy applies to the rest
  /// By kind of policy, as in `explain`: one outcome for each device by SriovResourcePolicies, one for each
  /// persona by DeviceExposurePolicies.
  OutcomeCounts sriov, exposure;
  bool operator==(const Summary&) const = default;
};
/// Linear in devices and personas; computed on demand.
Summary summarize(const Decision& decision);

/// Returns "12 devices offered, 3 hidden, 1 held back, 4 matched by no policy", without a last part of 0.
std::string describe(const Summary& summary);

}  // namespace sliced::policy
