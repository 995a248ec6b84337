#pragma once
// Reading spec.exposure of a DeviceExposurePolicy, and judging it as the API server will judge the entries.
#include <string>
#include <vector>

#include "policy/exposure/policy.h"

namespace sliced::policy {

/// value: of spec.exposure, nullptr when absent. policy_name: for remedies. What is wrong is added to
/// problems; the result is to be used only if there are none.
Exposure decode_exposure(const kube::Json* value, const std::string& policy_name, const std::string& driver,
                         Problems& problems);

}  // namespace sliced::policy
