#pragma once
// The DeviceExposurePolicies that apply to each device, before gates. exposure/resolve computes them from the
// answers of selectors; both kinds of policies read them, because excludes apply to both.
#include <cstdint>
#include <string>
#include <vector>

namespace sliced::policy {

/// The first matching policy of a suffix.
struct Winner {
  int32_t policy = -1;
  /// A policy of the same suffix that precedes it and may match the device: its selector depends on unknown
  /// facts, and it would offer the device differently. -1 if none.
  int32_t waits_for = -1;
  bool operator==(const Winner&) const = default;
};

/// The policies of one device. An exclude overrides every expose, independent of priorities. An exclude whose
/// selector fails on the device excludes it, too, because it might select it.
struct Resolution {
  int32_t excluded_by = -1;           // the first exclude that selects the device
  bool is_excluded_by_error = false;  // its selector failed on the device, which is excluded, too
  bool is_unknown = false;            // no exclude is known to select it, and one may
  std::vector<Winner> personas;       // by suffix
  bool operator==(const Resolution&) const = default;
};

/// The resolutions of all devices of one inventory.
struct Resolutions {
  std::vector<Resolution> devices;  // in the inventory's order
  /// The record of the excludes for entries of functions, for DesiredPool::excludes; for both kinds.
  std::string exclude_record;
};

}  // namespace sliced::policy
