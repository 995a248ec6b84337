#pragma once
// Reads NetworkAttachmentDefinitions that name an extended resource: with Multus, pods that request the
// resource get their interface from them.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Annotation by which Multus finds the resource of a definition.
inline constexpr const char* kNetworkResource = "k8s.v1.cni.cncf.io/resourceName";

struct Network {
  Place place;
  std::string namespace_, name;
  std::string resource;  // "intel.com/sriov_net"
  std::string text() const { return (namespace_.empty() ? "" : namespace_ + "/") + name; }
};

bool is_network(const kube::Json& object);
/// Adds the definition to `out`. A definition without the annotation or without a name is skipped with a
/// warning.
void read_network(const kube::Json& object, const std::string& file, std::vector<Network>& out,
                  Complaints& complaints);

/// The definition that a DeviceClass names, so that pods with the resource get an interface.
struct NamedNetwork {
  std::string name, namespace_;  // name "": none or several; namespace_ "": that of the claim
  std::vector<const Network*> candidates;
};
/// Definitions with the same name in several namespaces are named without a namespace: each pod uses the one
/// of its own namespace.
NamedNetwork network_of(const std::vector<Network>& networks, const std::string& resource);

}  // namespace sliced::migrate
