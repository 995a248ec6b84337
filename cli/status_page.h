#pragma once
// What a daemon says of itself (daemon/status/report.h, as JSON), for people. Pure.
#include <string>
#include <string_view>

#include "kube/objects/json.h"

namespace sliced::cli {

/// A few lines: who, what is offered, what is watched, what is wrong. Whatever is missing is left out.
std::string status_text(const kube::Json& report);

/// The member is there and true.
bool is_so(const kube::Json& report, std::string_view key);

}  // namespace sliced::cli
