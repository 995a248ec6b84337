#pragma once
// Extended resources that a DeviceClass provides (KEP-5004): a container asks for "example.com/vf: 2" without a claim, and the
// scheduler makes one ResourceClaim of all such requests of the pod.
//
// Source: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go of Kubernetes 1.37.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubectl/why/claim.h"
#include "kubectl/why/node.h"

namespace sliced::allocation {

/// Every DeviceClass provides "deviceclass.resource.kubernetes.io/<its name>".
inline constexpr std::string_view kClassResourcePrefix = "deviceclass.resource.kubernetes.io/";

/// Which class provides an extended resource. Points into the classes, which outlive it.
class ResourceClasses {
 public:
  explicit ResourceClasses(const std::vector<DeviceClass>& classes);
  /// Of several classes with one spec.extendedResourceName the newest; of equally old ones the first by name.
  /// nullptr: none.
  const DeviceClass* find(const std::string& resource) const;

 private:
  std::map<std::string, const DeviceClass*> by_resource_;
};

/// Resource -> count that the pod needs at one moment, as the scheduler adds it up: containers and sidecars together,
/// or an init container with the sidecars before it where that is more. Without native resources (cpu,
/// hugepages-2Mi, what has kubernetes.io/ in its name), and without counts of zero.
std::map<std::string, int64_t> extended_requests(const Pod& pod);

/// The claim that the scheduler makes of these resources of the pod, "<pod>-extended-resources": one request for each
/// container and resource, in the order of their names. Init containers that end use the devices of later containers
/// first. Without any request where no class provides any of the resources.
Claim extended_claim(const Pod& pod, const std::set<std::string>& resources, const ResourceClasses& classes);

}  // namespace sliced::allocation
