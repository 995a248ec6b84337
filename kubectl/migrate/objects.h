#pragma once
// Converts configurations to objects for sliced that give pods the same devices under the same resource
// names: policies, DeviceAttributes, DeviceClasses, claim templates. Pure.
//
// SriovResourcePolicies are used if they can express all selectors; they offer VFs only.
// DeviceExposurePolicies, one for each resource in falling priority, are used on demand, and if a selector
// - requires RDMA, or
// - may match functions without a PF (PCI addresses without a PF, vendors and drivers of VMs).
// DeviceExposurePolicies can express everything and also offer PFs and NICs. Both kinds are never mixed: a
// device belongs to the first resource that matches it, and the two kinds have no common order.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/networks.h"
#include "kubectl/migrate/pool.h"
#include "reactor/base/result.h"

namespace sliced::migrate {

/// Kind of the policies.
enum class Form { kAuto, kSriov, kExposure };

struct Target {
  Form form = Form::kAuto;
  std::string namespace_ = "dra-driver-sriov";
  std::string sriov_driver = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver = "dra.networking";
  std::vector<Network> networks;  // the DeviceClasses of their resources name them
  bool is_compared = false;       // --check: the comparison with a host shows devices that are not offered
};

/// An object, and the comments above it, which name its source.
struct ConvertedObject {
  std::vector<std::string> comments;
  kube::Json object;
};

/// Returns the objects in the order in which they are applied. A configuration with more resources than one
/// SriovResourcePolicy can have becomes several policies, whose names sort in the order of evaluation.
/// Adds a complaint for each part that cannot be converted, and those of `validate` for each object. After an
/// error no object may be used.
std::vector<ConvertedObject> objects_of(const std::vector<Config>& configs, const Target& target,
                                        Complaints& complaints);

/// Adds an error for each problem that `validate` reports, and for two objects of the same kind and name.
/// place: the place of these errors.
void check(const std::vector<ConvertedObject>& objects, const Target& target, const Place& place,
           Complaints& complaints);

/// Returns an object with apiVersion, kind, metadata.name and, if given, metadata.namespace.
kube::Json object_of(const std::string& api_version, const std::string& kind, const std::string& name,
                     const std::string& namespace_ = "");

/// Returns the object's metadata without the fields of the server (uid, resourceVersion, generation), owners,
/// finalizers, and kubectl's last-applied annotation.
/// Errors: those of kube::decode_object_meta().
Result<kube::Json> portable_metadata(const kube::Json& object);

}  // namespace sliced::migrate
