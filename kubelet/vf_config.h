#pragma once
// VfConfig: the configuration of a device from a claim or its DeviceClass (opaque parameters,
// sriovnetwork.k8snetworkplumbingwg.io/v1alpha1). Decoding is strict: a claim with an unknown field is not
// prepared. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/claim.h"
#include "kubelet/native_network.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr std::string_view kVfioDriver = "vfio-pci";

/// The merged configuration of one device. "" if not set.
struct VfConfig {
  std::string driver;         // "" or "default": unchanged; kVfioDriver
  std::string if_name;        // of the interface in the pod
  std::string nad_namespace;  // of the NetworkAttachmentDefinition; set if nad_name is
  std::string nad_name;
  bool adds_vhost = false;  // /dev/vhost-net and /dev/net/tun
  /// A DeviceClass names the definition in a namespace other than the claim's, so its author is an
  /// administrator.
  bool is_nad_administrators = false;
  std::optional<NativeNetwork> network = {};  // instead of nad_name
  /// The part of network->vf that the claim sets and the DeviceClass does not. The device's policies must
  /// allow it. Not in the checkpoint.
  hotplug::VfConfig vf_of_claim = {};
  bool is_mac_claims =
      false;  // network->mac is from the claim, not from the DeviceClass. Not in the checkpoint
  /// No DeviceClass sets network->ipam, so its author may be a namespace user. Not in the checkpoint.
  bool is_ipam_claims = true;
  bool requires_vfio() const { return driver == kVfioDriver; }
  /// Returns whether sliced attaches an interface of the device, or runs its definition.
  bool requires_interface() const { return !nad_name.empty() || network; }
  bool operator==(const VfConfig&) const = default;
};

/// Returns why an interface that CNI plugins create in a pod must not have this name; "" if it may. Refuses
/// names of the pod's own interfaces, and names that plugins interpret as those.
std::string why_not_pod_interface(std::string_view name);

/// The configurations of a claim for one driver.
class VfConfigs {
 public:
  /// Every configuration of the driver must be valid, even one that applies to none of the claim's devices.
  /// Errors: kInvalid with path, value and remedy.
  static Result<VfConfigs> decode(const Claim& claim, std::string_view driver);

  /// Merges the values of the classes, then those of the claim, in their order; later ones override earlier
  /// ones of the same kind. A configuration without requests applies to all; one for a request also applies
  /// to its subrequests. A claim names NetworkAttachmentDefinitions only in its own namespace, even if its
  /// class names another namespace.
  /// Errors: kInvalid if the claim sets a field to another value than its class, or for `network` together
  /// with a definition or vfio-pci; those of check_native_network().
  Result<VfConfig> of(const std::string& request) const;

 private:
  // One configuration before merging: a field that is not set is "" or nullopt.
  struct One {
    bool is_claims = false;
    std::string path;  // of the parameters, for error texts
    std::vector<std::string> requests;
    std::string driver, if_name, nad_namespace, nad_name;
    std::optional<bool> adds_vhost;
    std::optional<NativeNetwork> network;
    bool is_for(const std::string& request) const;
  };
  static Result<One> decode_one(const AllocatedConfig& config, const std::string& claim_namespace);
  // Merges field by field; the last value wins.
  static void merge(const One& one, One& out);
  One merged(const std::string& request, bool is_claims) const;

  std::string namespace_;  // the claim's
  std::vector<One> in_order_;
};

/// Returns whether opaque parameters for another driver may have been meant for `driver`: they have the kind
/// or API group of VfConfig, or their driver's name is similar to `driver`, or is that of a known DRA driver
/// for networks.
bool may_be_meant_for(std::string_view driver, std::string_view other_driver, const kube::Json& parameters);

/// Returns the configurations of a claim that `driver` ignores although they may have been meant for it, as
/// sentences with field, value and remedy. None of the devices of such a configuration is of the driver that
/// it names, one is of `driver`, and its author (claim or class) has no other configuration for that device.
/// At most 8.
std::vector<std::string> ignored_configs(const Claim& claim, std::string_view driver);

}  // namespace sliced::kubelet
