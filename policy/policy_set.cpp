#include "policy/policy_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sliced::policy {

PolicySet make_policy_set(std::vector<SriovPolicy> sriov, std::vector<DeviceAttributes> attributes,
                          std::vector<ExposurePolicy> exposures) {
  std::sort(sriov.begin(), sriov.end(), [](const SriovPolicy& a, const SriovPolicy& b) {
    return std::tuple(-a.priority, a.id.name, a.id.namespace_) <
           std::tuple(-b.priority, b.id.name, b.id.namespace_);
  });
  std::sort(attributes.begin(), attributes.end(), [](const DeviceAttributes& a, const DeviceAttributes& b) {
    return std::tie(a.id.name, a.id.namespace_) < std::tie(b.id.name, b.id.namespace_);
  });
  std::sort(exposures.begin(), exposures.end(), [](const ExposurePolicy& a, const ExposurePolicy& b) {
    return std::tuple(-a.priority, a.id.name) < std::tuple(-b.priority, b.id.name);
  });
  return {std::move(sriov), std::move(attributes), std::move(exposures)};
}

}  // namespace sliced::policy
