#pragma once
// From YAML or JSON to Readiness, for policies and for --readiness alike.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "policy/problem.h"
#include "policy/readiness/readiness.h"

namespace sliced::policy {

/// value: nullptr where there is none. path: "spec.readiness", as problems name it. What is wrong is a problem, and
/// the field is as if it were left out.
Readiness decode_readiness(const kube::Json* value, const std::string& path, Problems& problems);

/// Below the object of a policy, for the comparison with the served schema: "spec.readiness.require", ...
std::vector<std::string> readiness_fields();

}  // namespace sliced::policy
