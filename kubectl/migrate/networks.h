#pragma once
// NetworkAttachmentDefinitions that name an extended resource: how pods that ask for it got their interface under Multus.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// The annotation by which Multus finds the device of a definition.
inline constexpr const char* kNetworkResource = "k8s.v1.cni.cncf.io/resourceName";

struct Network {
  Place place;
  std::string namespace_, name;
  std::string resource;  // "intel.com/sriov_net"
  std::string text() const { return (namespace_.empty() ? "" : namespace_ + "/") + name; }
};

bool is_network(const kube::Json& object);
/// One without the annotation, or without a name, is a warning and nothing else.
void read_network(const kube::Json& object, const std::string& file, std::vector<Network>& out,
                  Complaints& complaints);

/// What a DeviceClass names so that pods with the resource get an interface of these definitions.
struct NamedNetwork {
  std::string name, namespace_;  // namespace_ "": the claim's; name "": none, or no single one
  std::vector<const Network*> candidates;
};
/// Definitions of one name in several namespaces are named without a namespace: each pod has that of its own.
NamedNetwork network_of(const std::vector<Network>& networks, const std::string& resource);

}  // namespace sliced::migrate
