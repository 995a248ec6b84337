#pragma once
// A daemon's status (daemon/status/report.h, as JSON) as text. Pure.
#include <string>
#include <string_view>

#include "kube/objects/json.h"

namespace sliced::cli {

/// Returns a few lines: identity, offer, sources, problems. Missing members are omitted.
std::string status_text(const kube::Json& report);

/// Returns whether the member exists and is true.
bool is_so(const kube::Json& report, std::string_view key);

}  // namespace sliced::cli
