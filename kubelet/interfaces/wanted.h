#pragma once
// Which interfaces a pod's sandbox is to have, by what is prepared for the pod. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/record.h"
#include "kubelet/nri/messages.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// One interface of one device.
struct WantedInterface {
  PreparedKey claim;
  std::string claim_text;  // "ResourceClaim namespace/name"
  std::string pool, device, share_id;
  std::string interface;                 // its name in the sandbox
  std::string network;                   // name of the NetworkAttachmentDefinition
  std::string users_definition = {};     // cni::Record::users_definition
  std::string config;                    // its text, as it was when the claim was prepared
  std::string pci;                       // "" of a link
  std::string host_interface = {};       // its name on the host; "" none
  kube::Json capabilities;               // for `runtimeConfig`
  bool is_exclusive = true;              // nobody else has the device
  bool is_of_peer = false;               // PreparedDevice::is_of_peer
  std::string refusal = {};              // PreparedDevice::network_refusal
  std::optional<NetworkData> told = {};  // PreparedDevice::network_data
};

/// A device whose network is run: a function on vfio-pci as well, whose VLAN, MAC and trust its PF enforces.
bool has_network(const PreparedDevice& device);

/// Of one claim, as the devices stand in it.
std::vector<WantedInterface> interfaces_of(const PreparedClaim& claim);

/// Of claims that are prepared whole, by the claims' names, then as the devices stand in them.
std::vector<WantedInterface> interfaces_of(const PreparedClaims& prepared, std::string_view pod_uid);

/// Of claims that are prepared whole, those whose devices a container is given, by their CDI names.
/// A claim may be reserved for another pod after it was prepared, and no kubelet says so.
std::vector<PreparedKey> claims_used(const PreparedClaims& prepared,
                                     const std::vector<std::string>& cdi_devices);

/// What is told of it to the network's plugins: the arguments that Multus and dra-driver-sriov pass.
cni::Record record_of(const WantedInterface& wanted, const nri::PodSandbox& pod);
/// Whether both are one claim's, of one device: else they only have a name in common, which a sandbox has once. Records of
/// before this was written down may be anybody's.
bool are_of_one(const cni::Record& a, const cni::Record& b);
/// By the rules of an administrator's definition: they protect other claims' devices and the host's interfaces.
PeerNetwork network_of_peer(const PreparedDevice& device, const std::string& driver);

/// What dra-driver-sriov has made of it in a sandbox that stands: with what it said, as far as that is known. Without a
/// container and without a word of it, it may have begun; then there is no result. Its config is for DEL: what an administrator's
/// definition may not say is left out (cni::reduced_definition()), so that the pod can end.
cni::Record record_of_peer(const WantedInterface& wanted, const nri::PodSandbox& pod, bool has_container);
/// What the result says of that very interface, for the claim's status and the files that containers read alike.
NetworkData pod_network_of(const std::string& interface, const cni::Attached& result);
/// The value of one of its CNI_ARGS, such as K8S_POD_NAMESPACE; "" it has none of that name.
std::string_view argument_of(const cni::Attachment& attachment, std::string_view name);
/// The pod that an attachment was made for; "" not said.
std::string_view pod_uid_of(const cni::Attachment& attachment);

}  // namespace sliced::kubelet
