#pragma once
// Decodes a DeviceExposurePolicy, and returns warnings about it.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "policy/exposure/policy.h"
#include "policy/problem.h"

namespace sliced::policy {

/// Never fails: errors become problems, and a policy with problems offers nothing. Ignores status. driver:
/// the domain of keys without one. meta: the decoded metadata of the object.
ExposurePolicy decode_exposure_policy(const kube::Json& object, const std::string& driver,
                                      const Result<kube::ObjectMeta>& meta);
inline ExposurePolicy decode_exposure_policy(const kube::Json& object,
                                             const std::string& driver = std::string(kExposureDriver)) {
  return decode_exposure_policy(object, driver, kube::decode_object_meta(object));
}

/// Returns the warnings of `validate`: valid fields that are probably mistakes.
Problems warnings_of(const ExposurePolicy& policy);

/// Returns the paths of our fields below the object, for the comparison with the served schema
/// ("spec.priority", ...).
std::vector<std::string> exposure_policy_fields();

}  // namespace sliced::policy
