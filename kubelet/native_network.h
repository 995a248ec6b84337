#pragma once
// `network` of a VfConfig: the interface that sliced itself gives a pod, by netlink and without a CNI plugin. Strict, and judged by one
// function for a prepare, `validate` and the webhook. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// destination: "10.0.0.0/8", without host bits. gateway "": the destination is on the link. priority: the kernel's metric; 0 its default.
struct NativeRoute {
  std::string destination, gateway;
  int priority = 0;
  bool operator==(const NativeRoute&) const = default;
};

/// Texts are canonical (inet_ntop(3)). The interface's name is ifName of the VfConfig.
struct NativeNetwork {
  int mtu = 0;                         // 0: as on the host
  std::string mac;                     // "aa:bb:.."; "" as on the host
  std::vector<std::string> addresses;  // "10.0.0.5/24"
  std::vector<NativeRoute> routes;
  hotplug::VfConfig vf = {};  // kubelet/native_vf.h
  bool operator==(const NativeNetwork&) const = default;
};

inline constexpr size_t kNativeAddressesMax = 16;  // as many as resource/v1 NetworkDeviceData has
inline constexpr size_t kNativeRoutesMax = 64;

/// path: of the value, for error texts. Errors: kInvalid, kTooLarge; name field, value, what is expected, remedy.
Result<NativeNetwork> decode_native_network(const kube::Json& value, const std::string& path);
/// As decode_native_network() reads it.
kube::Json encode_native_network(const NativeNetwork& network);

/// A DeviceClass's and a claim's, field by field. Errors: kInvalid: the claim sets a field that the class sets to another value.
Result<NativeNetwork> merge_native_networks(const NativeNetwork& by_class, const NativeNetwork& by_claim,
                                            const std::string& claim_path);
/// What only all fields together show, as check_native_vf() too: a gateway must be on the subnet of one of the addresses, or be an IPv6 link-local address; two
/// routes must not have destination and priority in common. Errors: kInvalid.
Result<Unit> check_native_network(const NativeNetwork& network, const std::string& path);

/// The config of it in records, of plugin cni::kNativePlugin: addresses and routes as the plugin `static` has them. interface: the device's on
/// the host.
std::string native_config(const NativeNetwork& network, const std::string& interface);

}  // namespace sliced::kubelet
