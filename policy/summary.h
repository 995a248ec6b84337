#pragma once
// A decision in a few figures, for whoever asks how things stand: the service manager, `sliced status`, metrics.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "policy/decision.h"

namespace sliced::policy {

/// What becomes of a device, in a word: it is offered in one way at least; a policy excludes it; a policy would offer it and
/// a gate says no; no policy speaks of it.
enum class Disposition : uint8_t { kOffered, kHidden, kHeldBack, kUnmatched };
std::string_view name_of(
    Disposition disposition);  // "offered", "hidden", "held-back", "unmatched": an interface
/// device: host device id, of one with a verdict.
Disposition disposition_of(const Decision& decision, const std::string& device);

using OutcomeCounts = std::map<Outcome, size_t>;

/// Host devices, each counted once.
struct Summary {
  size_t devices = 0;    // of the host
  size_t offered = 0;    // in one way at least
  size_t held_back = 0;  // not offered: a policy would, and a gate says no
  size_t hidden = 0;     // excluded by a DeviceExposurePolicy; the rest is what no policy speaks of
  /// By kind of policies, as `explain` has it: of SriovResourcePolicies one outcome a device, of
  /// DeviceExposurePolicies one for each of its personas.
  OutcomeCounts sriov, exposure;
  bool operator==(const Summary&) const = default;
};
/// Linear in devices and personas: made when somebody asks, not with each decision.
Summary summarize(const Decision& decision);

/// "12 devices offered, 3 hidden, 1 held back, 4 matched by no policy"; without the last part where there are none.
std::string describe(const Summary& summary);

}  // namespace sliced::policy
