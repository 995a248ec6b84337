#pragma once
// Decodes Readiness from YAML or JSON, for policies and for --readiness.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "policy/problem.h"
#include "policy/readiness/readiness.h"

namespace sliced::policy {

/// value: nullptr if absent. path: "spec.readiness", as in problems. An invalid field becomes a problem and
/// counts as absent.
Readiness decode_readiness(const kube::Json* value, const std::string& path, Problems& problems);

/// Returns paths below the policy object, for the comparison with the served schema:
/// "spec.readiness.require", ...
std::vector<std::string> readiness_fields();

}  // namespace sliced::policy
