#pragma once
// What a decision changed of what is offered, and by whom, as data: what `history` keeps and the log says. Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// Of one driver's entries, by name, each list in order.
struct OfferDifference {
  std::vector<std::string> added, changed, removed;
};

/// Entries of one driver that changed in the same way and by the same policy.
struct OfferChange {
  /// kFound: they are in the first decision of a process; whether they were published before nobody says here.
  enum class Kind : uint8_t { kFound, kOffered, kChanged, kWithdrawn };
  Kind kind = Kind::kOffered;
  std::string driver;
  std::vector<std::string> devices;  // names of entries, at most kDevicesMax
  size_t left_out = 0;               // beyond those
  /// The policy that offers them; of what is withdrawn the one that holds them back or excludes them, else the one
  /// that offered them. "policy ns/name", "DeviceExposurePolicy name"; "" nobody.
  std::string policy;
  int64_t generation = 0;  // of the policy as it was decided from; 0 unknown
  std::string manager;     // who wrote it last (managedFields); "" unknown
  std::string outcome;     // of what is withdrawn: the verdict (policy/verdict.h), or "gone" with its device
  std::string why;         // what the decision was made for: "policy ns/p changed"
  bool operator==(const OfferChange&) const = default;
};
constexpr size_t kOfferChangeDevicesMax = 512;
std::string_view name_of(OfferChange::Kind kind);  // "found", "offered", "changed", "withdrawn"

/// Names for a line of the log, joined by commas: as many as journalctl prints of one field (4,096 bytes).
std::string some_devices_of(const OfferChange& change);

/// before: the decision that stood; nullptr at the first one. is_sriov: of which kind of policies the driver is.
/// In the order added, changed, removed, and of each by policy.
std::vector<OfferChange> offer_changes_of(const Decision* before, const Decision& now, bool is_sriov,
                                          const std::string& driver, const OfferDifference& difference,
                                          const std::string& why);

/// What keeps a host device from being offered.
struct Withdrawer {
  /// "SriovResourcePolicy ns/name", "DeviceExposurePolicy name"; "" no policy speaks of the device any more.
  std::string policy = {};
  int64_t generation = 0;  // of that policy as it was decided from
  Outcome outcome = Outcome::kNoMatch;
  bool is_on_host = true;
  bool operator==(const Withdrawer&) const = default;
};
/// device: id of a host device that the decision does not offer in any way.
Withdrawer withdrawer_of(const Decision& now, const std::string& device);

}  // namespace sliced::policy
