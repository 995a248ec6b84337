#pragma once
// Lets failed expectations show values as JSON instead of bytes.
#include <ostream>

#include "kube/objects/json.h"

namespace sliced::kube {
inline void PrintTo(const Json& value, std::ostream* out) { *out << encode_json(value); }
}  // namespace sliced::kube
