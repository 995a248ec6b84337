#pragma once
// The interfaces that a pod's sandbox requires, from the claims that are prepared for the pod. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/record.h"
#include "kubelet/nri/messages.h"
#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// One interface of one device.
struct RequiredInterface {
  PreparedKey claim;
  std::string claim_text;  // "ResourceClaim namespace/name"
  std::string pool, device, share_id;
  std::string interface;              // its name in the sandbox
  std::string network;                // name of the NetworkAttachmentDefinition
  std::string users_definition = {};  // see cni::Record::users_definition
  std::string config;                 // its text when the claim was prepared
  std::string pci;                    // "" for a link
  std::string host_interface = {};    // its name on the host when the claim was prepared; "" if none
  std::string hardware = {};          // hardware_of() it
  kube::Json capabilities;            // for `runtimeConfig`
  bool is_exclusive = true;           // no other claim has the device
  bool is_of_peer = false;            // see PreparedDevice::is_of_peer
  std::string refusal = {};           // see PreparedDevice::network_refusal
  std::optional<NetworkData> network_data = {};  // see PreparedDevice::network_data
};

/// Returns whether the device has a network to run. This includes a function on vfio-pci, whose VLAN, MAC and
/// trust its PF enforces.
bool has_network(const PreparedDevice& device);

/// Returns the interfaces of one claim, in the order of its devices.
std::vector<RequiredInterface> interfaces_of(const PreparedClaim& claim);

/// Returns the interfaces of completely prepared claims of the pod, sorted by claim, then in the order of the
/// devices.
std::vector<RequiredInterface> interfaces_of(const PreparedClaims& prepared, std::string_view pod_uid);

/// Returns the completely prepared claims whose devices a container gets, by their CDI names. A claim may be
/// reserved for another pod after it was prepared, which the kubelet does not report.
std::vector<PreparedKey> claims_used(const PreparedClaims& prepared,
                                     const std::vector<std::string>& cdi_devices);

/// Returns the record with the arguments for the network's plugins that Multus and dra-driver-sriov pass,
/// too.
cni::Record record_of(const RequiredInterface& wanted, const nri::PodSandbox& pod);
/// Returns whether both are of one device of one claim. Otherwise they only share a name, which is unique in
/// a sandbox. A record of an earlier version has no owner, and counts as of the same device.
bool are_of_one(const cni::Record& a, const cni::Record& b);
/// Applies the rules of an administrator's definition, which protect other claims' devices and the host's
/// interfaces.
PeerNetwork network_of_peer(const PreparedDevice& device, const std::string& driver);

/// Returns the record of an attachment that dra-driver-sriov made in a running sandbox, with its known
/// result. Without a container and without a result, ADD may only have started; then there is no result. Its
/// config is for DEL, without members that an administrator's definition may not have
/// (cni::reduced_definition()), so that the pod can end.
cni::Record record_of_peer(const RequiredInterface& wanted, const nri::PodSandbox& pod, bool has_container);
/// Returns the result's data about that interface, for the claim's status and the metadata files.
NetworkData pod_network_of(const std::string& interface, const cni::Attached& result);
/// Returns the value of one of its CNI_ARGS, such as K8S_POD_NAMESPACE; "" if missing.
std::string_view argument_of(const cni::Attachment& attachment, std::string_view name);
/// Returns the uid of the attachment's pod; "" if unknown.
std::string_view pod_uid_of(const cni::Attachment& attachment);

}  // namespace sliced::kubelet
