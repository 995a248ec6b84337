#pragma once
// Decodes spec.exposure of a DeviceExposurePolicy, and validates it by the API server's rules for entries.
#include <string>
#include <vector>

#include "policy/exposure/policy.h"

namespace sliced::policy {

/// value: spec.exposure; nullptr if absent. policy_name: for remedies. Errors are added to problems; the
/// result must be used only if there are none.
Exposure decode_exposure(const kube::Json* value, const std::string& policy_name, const std::string& driver,
                         Problems& problems);

/// Returns the paths of its fields: "spec.exposure.capacity", "spec.exposure.supportedCNIPlugins[].name", ...
std::vector<std::string> exposure_fields();

}  // namespace sliced::policy
