#pragma once
// Work steps (arena.h) for comparing two values of a library, which may be long. For < and > of the library,
// and for == of values that contain them. IP addresses and networks are short, so the step of the call is
// sufficient.
#include <algorithm>

#include "cel/arena.h"
#include "cel/lib/cel_quantity.h"
#include "cel/lib/semver.h"
#include "cel/lib/url_text.h"

namespace sliced::cel {

/// Digits of the longer one: both are converted to one scale first.
inline void step_for_both(const CelQuantity& a, const CelQuantity& b, Arena& arena) {
  arena.step_for(std::max(a.digits(), b.digits()), kReadBytes);
}
/// The parts before the prerelease have a bounded length.
inline void step_for_both(const Semver& a, const Semver& b, Arena& arena) {
  arena.step_for(std::min(a.prerelease.size(), b.prerelease.size()), 4);
}
/// Each part is compared as a text, in blocks.
inline void step_for_both(const UrlText& a, const UrlText& b, Arena& arena) {
  for (const auto part : {&UrlText::opaque, &UrlText::user, &UrlText::host, &UrlText::escaped_path,
                          &UrlText::query, &UrlText::fragment})
    arena.step_for(std::min((a.*part).size(), (b.*part).size()), kBlockBytes);
}

}  // namespace sliced::cel
