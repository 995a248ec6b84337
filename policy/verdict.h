#pragma once
// The decision about a host device, as indices. explain.h creates its text on demand.
#include <cstdint>
#include <string>
#include <string_view>

namespace sliced::policy {

/// The reason that a device is or is not offered. The first rule that decides names it; gates come in the
/// order of gates/gates.cpp. The names are an interface of logs, `explain -o json` and docs/concepts.md.
/// A new outcome needs a name, a row in docs/concepts.md (./dev tidy checks it), and a policy kind or a gate
/// that returns it.
enum class Outcome : uint8_t {
  kOffered,
  kNotAVf,        // SriovResourcePolicy offers VFs only
  kNoPolicy,      // no policy selects this node
  kNoMatch,       // no filter of any policy matches
  kMatchUnknown,  // a preceding config depends on facts of its PF's interface, which is in another namespace
  kHostUse,       // a policy matches, and the host uses it
  kBroken,        // its identity is uncertain
  kRefused,       // a policy matches, and the API server would refuse or has refused the entry
  kSettling,      // it has just appeared or changed, and more changes may follow
  kNotReady,      // a readiness condition of its policy is not met, or not for long enough
  // Of DeviceExposurePolicies:
  kExcluded,           // a policy excludes it
  kExcludeUnreadable,  // an invalid exclude may select it, and it is not published yet
  kExcludeUnknown,     // an exclude depends on facts of its interface, which is in another namespace, or on
                       // unreadable ones
  kExposeUnknown,      // a preceding policy of its suffix depends on unknown facts of its interface
  kConflict,           // a SriovResourcePolicy offers the function, or one of its VFs
  kNoCounters,         // it excludes another entry, and the cluster has no counters
  kNoSharing,          // it may be allocated several times, and the cluster cannot count that
  // Of both kinds: a former entry may still be allocated.
  kHeldByOther,   // an entry of the other driver
  kReserved,      // an entry of the same driver, in another way
  kUnconfigured,  // the signal that this node's hardware is configured is missing
  kNotReturned,   // the node still holds it for a deleted claim
  kImmovable,     // a plugin of its entry moves the interface, which the kernel refuses
};
/// The text is static.
std::string_view name_of(Outcome outcome);  // "offered", "not-a-vf", ..., "in-use-by-host"
/// Returns the outcome in plain words, for messages: "the host uses it". If a policy is the subject, a
/// predicate without subject ("excludes it"), otherwise a whole clause.
std::string_view describe(Outcome outcome);

/// The result of SriovResourcePolicies for a device, and of excludes, which apply to both kinds. One for each
/// device of the inventory. The indices are valid with the PolicySet of the decision (Decision::inputs).
struct Verdict {
  Outcome outcome = Outcome::kNoMatch;
  int32_t policy = -1;  // index into PolicySet::sriov of the policy that offers it or would; -1 if none
  int32_t config = -1;  // index into the configs of `policy`, or of may_offer
  int32_t filter = -1;  // index into the config's filters; -1: the config has none and matches every VF
  /// Index into PolicySet::exposures, of kExcluded, kExcludeUnreadable and kExcludeUnknown; -1 if none.
  int32_t exposure = -1;
  /// Index into PolicySet::sriov, of kMatchUnknown: the preceding policy that may offer it; -1 if none. Its
  /// settings do not apply to the VF.
  int32_t may_offer = -1;
  bool operator==(const Verdict&) const = default;
};

/// The result of one DeviceExposurePolicy for a device. A device has one for each name suffix under which a
/// policy offers it.
struct PersonaVerdict {
  int32_t policy = -1;  // index into PolicySet::exposures
  Outcome outcome = Outcome::kOffered;
  std::string entry;  // name of the device entry; "" if it has none
  std::string why;    // details if the outcome alone does not explain it; of kExposeUnknown the policy
  bool operator==(const PersonaVerdict&) const = default;
};

}  // namespace sliced::policy
