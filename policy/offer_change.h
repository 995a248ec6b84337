#pragma once
// The changes of offered entries by a decision, with the responsible policies, for `history` and the log.
// Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// Names of one driver's entries, each list sorted.
struct OfferDifference {
  std::vector<std::string> added, changed, removed;
};

/// Entries of one driver that changed in the same way and by the same policy.
struct OfferChange {
  /// kFound: part of the first decision of a process; it is unknown whether they were published before.
  enum class Kind : uint8_t { kFound, kOffered, kChanged, kWithdrawn };
  Kind kind = Kind::kOffered;
  std::string driver;
  std::vector<std::string> devices;  // entry names, at most kOfferChangeDevicesMax
  size_t left_out = 0;               // number of entries beyond that
  /// "policy ns/name", "DeviceExposurePolicy name": the policy that offers them. For withdrawn ones: the
  /// policy that withholds or excludes them, or else the one that offered them. "" if none.
  std::string policy;
  int64_t generation = 0;  // of that policy in the decision; 0 if unknown
  std::string manager;     // last writer of that policy (managedFields); "" if unknown
  std::string outcome;     // of withdrawn entries: the verdict (policy/verdict.h), or "gone" if the device
                           // disappeared
  std::string why;         // cause of the decision: "policy ns/p changed"
  bool operator==(const OfferChange&) const = default;
};
constexpr size_t kOfferChangeDevicesMax = 512;
std::string_view name_of(OfferChange::Kind kind);  // "found", "offered", "changed", "withdrawn"

/// Returns names for a line of the log, joined by commas, within the 4,096 bytes that journalctl prints of a
/// field.
std::string some_devices_of(const OfferChange& change);

/// Returns the changes in the order added, changed, removed, and by policy within each. before: the previous
/// decision; nullptr at the first one. is_sriov: the driver is that of SriovResourcePolicies.
std::vector<OfferChange> offer_changes_of(const Decision* before, const Decision& now, bool is_sriov,
                                          const std::string& driver, const OfferDifference& difference,
                                          const std::string& why);

/// The reason that a host device is not offered.
struct Withdrawer {
  /// "SriovResourcePolicy ns/name", "DeviceExposurePolicy name"; "" if no policy applies to the device any
  /// more.
  std::string policy = {};
  int64_t generation = 0;  // of that policy in the decision
  Outcome outcome = Outcome::kNoMatch;
  bool is_on_host = true;
  bool operator==(const Withdrawer&) const = default;
};
/// Requires: the decision does not offer the host device with this id.
Withdrawer withdrawer_of(const Decision& now, const std::string& device);

}  // namespace sliced::policy
