#pragma once
// Reading a DeviceExposurePolicy, and what is to be said of one that is read.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "policy/exposure/policy.h"
#include "policy/problem.h"

namespace sliced::policy {

/// Never fails: what is wrong becomes problems, and problems offer nothing. status is not read.
/// driver: the domain of keys without one.
/// meta: the object's, where somebody has decoded it already.
ExposurePolicy decode_exposure_policy(const kube::Json& object, const std::string& driver,
                                      const Result<kube::ObjectMeta>& meta);
inline ExposurePolicy decode_exposure_policy(const kube::Json& object,
                                             const std::string& driver = std::string(kExposureDriver)) {
  return decode_exposure_policy(object, driver, kube::decode_object_meta(object));
}

/// What `validate` says beyond errors: legal, and probably not meant.
Problems warnings_of(const ExposurePolicy& policy);

/// Paths of our fields below the object, for the comparison with the served schema ("spec.priority", ...).
std::vector<std::string> exposure_policy_fields();

}  // namespace sliced::policy
