#pragma once
// What is decided of a host device, as indices; its text is made when somebody reads it (explain.h).
#include <cstdint>
#include <string>
#include <string_view>

namespace sliced::policy {

/// Why a device is offered, or is not. Of a device about which several rules speak it is the first that
/// decides; the gates among them are asked in the order of gates/gates.cpp. The names are an interface: logs,
/// `explain -o json` and docs/concepts.md have them.
/// A new one needs its name, its row in docs/concepts.md (./dev tidy looks for it), and who says it : a kind
/// of
/// policies, or a gate.
enum class Outcome : uint8_t {
  kOffered,
  kNotAVf,        // SriovResourcePolicy offers VFs only
  kNoPolicy,      // none selects this node
  kNoMatch,       // every filter of every policy said no
  kMatchUnknown,  // a config that comes first asks for facts of its PF's interface, which is elsewhere
  kHostUse,       // matched, but the host uses it
  kBroken,        // its identity cannot be trusted
  kRefused,       // matched, but the API server would refuse or has refused the entry
  kSettling,      // it has just appeared or changed, and more may follow
  kNotReady,      // it is not configured yet as its policy wants it, or not for long enough
  // Of DeviceExposurePolicies.
  kExcluded,           // a policy excludes it
  kExcludeUnreadable,  // an exclude that cannot be understood may mean it, and it is not offered yet
  kExcludeUnknown,  // an exclude asks for facts of its interface, which is elsewhere, or for unreadable ones
  kExposeUnknown,   // a policy of its suffix that comes first asks for facts of its interface
  kConflict,        // a SriovResourcePolicy offers the function, or one of its VFs
  kNoCounters,      // it excludes another entry, and the cluster cannot count that
  kNoSharing,       // it may be allocated several times, and the cluster cannot count that
  // Of both: a former entry may still be allocated.
  kHeldByOther,   // the other driver's
  kReserved,      // the same, when it could be allocated in another way
  kUnconfigured,  // whoever configures this node's hardware is not done
  kNotReturned,   // the node still holds it for a claim that is gone
  kImmovable,     // a plugin of its entry moves the interface, and the kernel does not
};
/// Lasts as long as the process.
std::string_view name_of(Outcome outcome);  // "offered", "not-a-vf", ..., "in-use-by-host"
/// The outcome in plain words, for messages: "the host uses it". A sentence without subject or full stop where a policy is the
/// subject ("excludes it"), else a whole clause.
std::string_view describe(Outcome outcome);

/// What SriovResourcePolicies make of a device, and an exclude, which is for both kinds. One for each device of
/// the inventory.
/// Indices are good with the PolicySet of the decision alone: whoever keeps a verdict keeps Decision::inputs.
struct Verdict {
  Outcome outcome = Outcome::kNoMatch;
  int32_t policy = -1;  // index into PolicySet::sriov: which offers it, or would; -1 none
  int32_t config = -1;  // of its configs; of may_offer's, where that is one
  int32_t filter = -1;  // of the config's filters; -1: the config has none and takes every VF
  /// Index into PolicySet::exposures, of kExcluded, kExcludeUnreadable and kExcludeUnknown; -1 none.
  int32_t exposure = -1;
  /// Index into PolicySet::sriov, of kMatchUnknown: which comes first and may offer it; -1 none. It is no policy of the
  /// VF's: nothing that it allows or asks for is of any concern to the VF.
  int32_t may_offer = -1;
  bool operator==(const Verdict&) const = default;
};

/// What one DeviceExposurePolicy makes of a device.
/// A device has one for each name suffix under which a policy offers it.
struct PersonaVerdict {
  int32_t policy = -1;  // index into PolicySet::exposures
  Outcome outcome = Outcome::kOffered;
  std::string entry;  // name of the device entry, "" when it has none
  std::string why;    // where the outcome alone does not say it; of kExposeUnknown the policy
  bool operator==(const PersonaVerdict&) const = default;
};

}  // namespace sliced::policy
