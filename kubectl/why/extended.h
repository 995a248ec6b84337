#pragma once
// Extended resources of a DeviceClass (KEP-5004): a container requests "example.com/vf: 2" without a claim,
// and the scheduler creates one ResourceClaim for all such requests of the pod. Source:
// pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go of Kubernetes 1.37.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/claim.h"
#include "kubectl/why/node.h"

namespace sliced::why {

/// Every DeviceClass provides "deviceclass.resource.kubernetes.io/<its name>".
inline constexpr std::string_view kClassResourcePrefix = "deviceclass.resource.kubernetes.io/";

/// The class that provides an extended resource. Points into the classes, which outlive it.
class ResourceClasses {
 public:
  explicit ResourceClasses(const std::vector<DeviceClass>& classes);
  /// Returns the newest of several classes with one spec.extendedResourceName, of equally old ones the first
  /// by name; nullptr if there is none.
  const DeviceClass* find(const std::string& resource) const;

 private:
  std::map<std::string, const DeviceClass*> by_resource_;
};

/// Returns the counts that the pod requires at one time, by resource, as the scheduler computes them: the sum
/// of containers and sidecars, or an init container with the sidecars before it if that is larger. Without
/// native resources (cpu, hugepages-2Mi, names with kubernetes.io/), and without zero counts.
std::map<std::string, int64_t> extended_requests(const Pod& pod);

/// Returns the claim that the scheduler creates for these resources of the pod, "<pod>-extended-resources":
/// one request for each container and resource, sorted by name. Init containers that end use the devices of
/// later containers first. Has no requests if no class provides any of the resources.
Claim extended_claim(const Pod& pod, const std::set<std::string>& resources, const ResourceClasses& classes);

}  // namespace sliced::why
