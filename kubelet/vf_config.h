#pragma once
// VfConfig: what a claim or its class asks to be done with a device before a container gets it (opaque
// parameters, sriovnetwork.k8snetworkplumbingwg.io/v1alpha1). Strict: what is not understood prepares nothing.
// Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/claim.h"
#include "kubelet/native_network.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr std::string_view kVfioDriver = "vfio-pci";

/// Of one device, all that was said of it merged. "" is not said.
struct VfConfig {
  std::string driver;         // "" or "default": as it is; kVfioDriver
  std::string if_name;        // of the interface in the pod
  std::string nad_namespace;  // of the NetworkAttachmentDefinition; set where nad_name is
  std::string nad_name;
  bool adds_vhost = false;  // /dev/vhost-net and /dev/net/tun
  /// A DeviceClass names the definition, in a namespace that is not the claim's: its author is an administrator.
  bool is_nad_administrators = false;
  std::optional<NativeNetwork> network = {};  // in place of nad_name
  /// Of network->vf: what the claim sets and the DeviceClass does not. The policies of the device must allow it. No part of the checkpoint.
  hotplug::VfConfig vf_of_claim = {};
  bool is_mac_claims =
      false;  // network->mac is the claim's, not the DeviceClass's. No part of the checkpoint
  bool wants_vfio() const { return driver == kVfioDriver; }
  /// sliced attaches an interface of the device, or runs its definition.
  bool wants_interface() const { return !nad_name.empty() || network; }
  bool operator==(const VfConfig&) const = default;
};

/// Returns why an interface that CNI plugins make in a pod must not have this name, "" if it may: names of the pod's own interfaces, and
/// names that plugins read as those.
std::string why_not_pod_interface(std::string_view name);

/// What the configurations of a claim say to one driver.
class VfConfigs {
 public:
  /// Each that is the driver's must be understood, also where it is for none of the claim's devices.
  /// Errors: kInvalid with path, value and remedy.
  static Result<VfConfigs> decode(const Claim& claim, std::string_view driver);

  /// Classes' values, then the claim's, in their order. Of several classes' the last wins, and of several claims'. One without
  /// requests is for all; one that names a request is for its sub-requests, too. A claim names NetworkAttachmentDefinitions of
  /// its own namespace only, also where its class names another namespace.
  /// Errors: kInvalid: the claim sets a field to another value than its class; network beside a definition or vfio-pci; those of
  /// check_native_network().
  Result<VfConfig> of(const std::string& request) const;

 private:
  // As it was said, before merging: a field that was not said is "" or nullopt.
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
  // Field by field, the last one wins.
  static void merge(const One& one, One& out);
  One merged(const std::string& request, bool is_claims) const;

  std::string namespace_;  // the claim's
  std::vector<One> in_order_;
};

/// Returns whether opaque parameters for another driver may have been meant for `driver`: they are a VfConfig by kind or API group,
/// or their driver is nearly `driver`, or that of a known DRA driver for networks.
bool may_be_meant_for(std::string_view driver, std::string_view other_driver, const kube::Json& parameters);

/// The configurations of a claim that `driver` ignores although they may have been meant for it, as sentences with field, value and
/// remedy: none of the devices that one is for is of the driver that it names, one of them is of `driver`, and neither claim nor class
/// (whichever wrote it) has another configuration for that device. At most 8.
std::vector<std::string> ignored_configs(const Claim& claim, std::string_view driver);

}  // namespace sliced::kubelet
