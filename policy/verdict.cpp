#include "policy/verdict.h"

namespace sliced::policy {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOffered:
      return "offered";
    case Outcome::kNotAVf:
      return "not-a-vf";
    case Outcome::kNoPolicy:
      return "no-policy";
    case Outcome::kMatchUnknown:
      return "match-unknown";
    case Outcome::kNoMatch:
      return "no-match";
    case Outcome::kHostUse:
      return "in-use-by-host";
    case Outcome::kBroken:
      return "unreadable";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kExcluded:
      return "excluded";
    case Outcome::kExcludeUnreadable:
      return "exclude-unreadable";
    case Outcome::kExcludeUnknown:
      return "exclude-unknown";
    case Outcome::kExposeUnknown:
      return "expose-unknown";
    case Outcome::kConflict:
      return "conflict";
    case Outcome::kNoCounters:
      return "no-counters";
    case Outcome::kNoSharing:
      return "no-sharing";
    case Outcome::kSettling:
      return "settling";
    case Outcome::kNotReady:
      return "not-ready";
    case Outcome::kHeldByOther:
      return "held-by-other-driver";
    case Outcome::kReserved:
      return "reserved";
    case Outcome::kUnconfigured:
      return "unconfigured";
    case Outcome::kNotReturned:
      return "not-returned";
    case Outcome::kImmovable:
      return "immovable";
  }
  return "";
}

std::string_view describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOffered:
      return "offers it";
    case Outcome::kNotAVf:
    case Outcome::kNoMatch:
      return "does not select it any more";
    case Outcome::kNoPolicy:
      return "does not select this node any more";
    case Outcome::kMatchUnknown:
    case Outcome::kExposeUnknown:
      return "depends on facts that cannot be read while the interface is in another network namespace";
    case Outcome::kHostUse:
      return "the host uses it";
    case Outcome::kBroken:
      return "its identity cannot be read";
    case Outcome::kRefused:
      return "the API server refused its entry";
    case Outcome::kExcluded:
      return "excludes it";
    case Outcome::kExcludeUnreadable:
      return "is invalid and may exclude it";
    case Outcome::kExcludeUnknown:
      return "may exclude it: it depends on facts that cannot be read";
    case Outcome::kConflict:
      return "a SriovResourcePolicy offers the function or one of its VFs";
    case Outcome::kNoCounters:
      return "the API server does not support shared counters";
    case Outcome::kNoSharing:
      return "the API server does not support consumable capacity";
    case Outcome::kSettling:
      return "it has just appeared or changed";
    case Outcome::kNotReady:
      return "it is not configured as the policy requires";
    case Outcome::kHeldByOther:
      return "a claim may still have it from the other driver";
    case Outcome::kReserved:
      return "a claim may still have it as another entry";
    case Outcome::kUnconfigured:
      return "the node is not configured yet";
    case Outcome::kNotReturned:
      return "the node could not give it back from its last claim";
    case Outcome::kImmovable:
      return "its interface cannot be moved to another network namespace";
  }
  return "";
}

}  // namespace sliced::policy
