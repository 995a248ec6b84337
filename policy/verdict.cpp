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
    case Outcome::kCharged:
      return "charged";
    case Outcome::kUnconfigured:
      return "unconfigured";
  }
  return "";
}

}  // namespace sliced::policy
