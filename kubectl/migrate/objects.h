#pragma once
// From configurations to objects of ours that give pods the same devices under the same resource names: policies,
// attributes, DeviceClasses, claim templates. Pure.
//
// As SriovResourcePolicies where these can say it, which offer VFs. Where a selector asks for RDMA, or may be for functions
// without a PF (PCI addresses without a PF, vendors and drivers of VMs), or on demand, as DeviceExposurePolicies, one a resource in falling
// priority, which can say everything and offer PFs and NICs too. Never both: a device belongs to the first resource that takes it, and
// between the two kinds there is no such order.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/networks.h"
#include "kubectl/migrate/pool.h"
#include "reactor/base/result.h"

namespace sliced::migrate {

/// As which kind of policy.
enum class Form { kAuto, kSriov, kExposure };

struct Target {
  Form form = Form::kAuto;
  std::string namespace_ = "dra-driver-sriov";
  std::string sriov_driver = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver = "dra.networking";
  std::vector<Network> networks;  // which the DeviceClasses of their resources name
  bool is_compared = false;       // with a host, which shows what the objects do not offer
};

/// An object, and what is said above it: where it comes from.
struct Made {
  std::vector<std::string> comments;
  kube::Json object;
};

/// In the order in which they are to be applied. Of a configuration with more resources than one SriovResourcePolicy
/// takes several are made, whose names are in the order in which they are asked. What cannot be made is among the
/// complaints, and so is what `validate` would say against an object: then none of them may be used.
std::vector<Made> objects_of(const std::vector<Config>& configs, const Target& target,
                             Complaints& complaints);

/// What `validate` says against the objects becomes errors, and so do two of one kind and name. place: of
/// those errors.
void check(const std::vector<Made>& objects, const Target& target, const Place& place,
           Complaints& complaints);

/// {"metadata": {"name": ...}} and the rest, without a spec.
kube::Json object_of(const std::string& api_version, const std::string& kind, const std::string& name,
                     const std::string& namespace_ = "");

/// The object's metadata without what belongs to the server (uid, resourceVersion, generation), without owners, finalizers and what
/// kubectl notes. Errors: those of kube::decode_object_meta().
Result<kube::Json> portable_metadata(const kube::Json& object);

}  // namespace sliced::migrate
