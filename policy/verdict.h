#pragma once
// The decision about a host device, as indices. explain.h creates its text on demand.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sliced::policy {

// OUTCOME(constant, name, description), one row for each reason that a device is or is not offered. The first
// rule that decides names it; gates come in the order of gates/gates.cpp. The names are an interface of logs,
// `explain -o json` and docs/concepts.md. A new outcome is one row here, a row in docs/concepts.md and
// docs/troubleshooting.md (./dev tidy checks them), and a policy kind or a gate that returns it.
#define SLICED_OUTCOMES(OUTCOME)                                                                             \
  OUTCOME(kOffered, "offered", "offers it")                                                                  \
  OUTCOME(kNotAVf, "not-a-vf", "does not select it any more") /* SriovResourcePolicies offer VFs only */     \
  OUTCOME(kNoPolicy, "no-policy", "does not select this node any more")                                      \
  OUTCOME(kNoMatch, "no-match", "does not select it any more")                                               \
  /* a preceding config depends on facts of its PF's interface, which is in another namespace */             \
  OUTCOME(kMatchUnknown, "match-unknown",                                                                    \
          "depends on facts that cannot be read while the interface is in another network namespace")        \
  OUTCOME(kHostUse, "in-use-by-host", "the host uses it")                                                    \
  OUTCOME(kBroken, "unreadable", "its identity cannot be read")                                              \
  OUTCOME(kRefused, "refused", "the API server refused its entry") /* or would refuse it */                  \
  OUTCOME(kSettling, "settling", "it has just appeared or changed")                                          \
  OUTCOME(kNotReady, "not-ready",                                                                            \
          "it is not configured as the policy requires") /* or not for long enough */                        \
  /* Of DeviceExposurePolicies: */                                                                           \
  OUTCOME(kExcluded, "excluded", "excludes it")                                                              \
  OUTCOME(kExcludeUnreadable, "exclude-unreadable", "is invalid and may exclude it") /* not published yet */ \
  OUTCOME(kExcludeUnknown, "exclude-unknown", "may exclude it: it depends on facts that cannot be read")     \
  /* a preceding policy of its suffix depends on unknown facts of its interface */                           \
  OUTCOME(kExposeUnknown, "expose-unknown",                                                                  \
          "depends on facts that cannot be read while the interface is in another network namespace")        \
  OUTCOME(kConflict, "conflict", "a SriovResourcePolicy offers the function or one of its VFs")              \
  /* it excludes another entry, which needs shared counters */                                               \
  OUTCOME(kNoCounters, "no-counters", "the API server does not support shared counters")                     \
  OUTCOME(kNoSharing, "no-sharing", "the API server does not support consumable capacity")                   \
  /* Of both kinds: */                                                                                       \
  OUTCOME(kHeldByOther, "held-by-other-driver", "a claim may still have it from the other driver")           \
  OUTCOME(kReserved, "reserved", "a claim may still have it as another entry")                               \
  OUTCOME(kUnconfigured, "unconfigured", "the node is not configured yet")                                   \
  OUTCOME(kNotReturned, "not-returned", "the node could not give it back from its last claim")               \
  /* a plugin of its entry moves the interface, which the kernel refuses */                                  \
  OUTCOME(kImmovable, "immovable", "its interface cannot be moved to another network namespace")

enum class Outcome : uint8_t {
#define SLICED_CONSTANT(constant, name, description) constant,
  SLICED_OUTCOMES(SLICED_CONSTANT)
#undef SLICED_CONSTANT
};
std::span<const Outcome> all_outcomes();
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
