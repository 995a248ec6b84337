#pragma once
// `network` of a VfConfig: the interface that sliced itself gives a pod, by netlink and without a CNI plugin. Strict, and judged by one
// function for a prepare, `validate` and the webhook. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kubelet/native_sysctls.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// destination: "10.0.0.0/8", without host bits. gateway "": the destination is on the link. priority: the kernel's metric; 0 its default.
/// table: 0 the main one.
struct NativeRoute {
  std::string destination, gateway;
  int priority = 0;
  int table = 0;
  bool operator==(const NativeRoute&) const = default;
};

/// Packets from source to destination ("10.0.0.0/8", "" any; one of them is set) use the table (ip-rule(8)).
struct NativeRule {
  std::string source, destination;
  int table = 0, priority = 0;
  bool operator==(const NativeRule&) const = default;
};

/// A permanent entry of the neighbor table.
struct NativeNeighbor {
  std::string address, mac;
  bool operator==(const NativeNeighbor&) const = default;
};

/// Texts are canonical (inet_ntop(3)). The interface's name is ifName of the VfConfig.
struct NativeNetwork {
  int mtu = 0;                         // 0: as on the host
  std::string mac;                     // "aa:bb:.."; "" as on the host
  std::vector<std::string> addresses;  // "10.0.0.5/24"
  std::vector<NativeRoute> routes;
  hotplug::VfConfig vf = {};  // kubelet/native_vf.h
  std::vector<NativeRule> rules = {};
  std::vector<NativeNeighbor> neighbors = {};
  std::vector<NativeSysctl> sysctls = {};
  /// duplicateAddressDetection "off" (an IPv6 address is usable immediately), "wait" (the pod starts when it has ended); "" as "off".
  std::string dad = {};
  /// "passthrough" (the device's interface moves), "macvlan", "ipvlan", "vlan", "bridgePort" (an interface is made on it); "": passthrough.
  std::string type = {};
  std::string mode = {};  // of a macvlan: "bridge", "private", "vepa"; "": bridge
  std::string rdma = {};  // "move": the RDMA device moves with the interface; "": it stays
  bool makes_link() const { return !type.empty() && type != "passthrough"; }
  bool waits_for_dad() const { return dad == "wait"; }
  bool operator==(const NativeNetwork&) const = default;
};

inline constexpr size_t kNativeAddressesMax = 16;  // as many as resource/v1 NetworkDeviceData has
inline constexpr size_t kNativeRoutesMax = 64, kNativeRulesMax = 32, kNativeNeighborsMax = 32;

/// path: of the value, for error texts. Errors: kInvalid, kTooLarge; name field, value, what is expected, remedy.
Result<NativeNetwork> decode_native_network(const kube::Json& value, const std::string& path);
/// As decode_native_network() reads it.
kube::Json encode_native_network(const NativeNetwork& network);

/// Of two configurations of one author: each field of the later one that sets it.
NativeNetwork overlay_native_networks(NativeNetwork network, const NativeNetwork& later);
/// A DeviceClass's and a claim's, field by field. Errors: kInvalid: the claim sets a field that the class sets to another value.
Result<NativeNetwork> merge_native_networks(const NativeNetwork& by_class, const NativeNetwork& by_claim,
                                            const std::string& claim_path);
/// What only all fields together show, as check_native_vf() too, such as a gateway that is on the subnet of none of the addresses, or two routes with the same destination,
/// table and priority. Errors: kInvalid.
Result<Unit> check_native_network(const NativeNetwork& network, const std::string& path);

/// The config of it in records, of plugin cni::kNativePlugin: addresses and routes as the plugin `static` has them, all else in `network`.
/// interface: the device's on the host. pci: its PCI address where an interface is made on it; "" of a link. rdma_device: which moves with it.
std::string native_config(const NativeNetwork& network, const std::string& interface,
                          const std::string& pci = "", const std::string& rdma_device = "");
/// The CNI plugin that makes such an interface, as policies and --cni-plugins-shared list it: "macvlan", "ipvlan", "vlan", "bridge"; "" of
/// passthrough.
std::string_view plugin_of_type(std::string_view type);
/// The same of a plugin in a record's config: plugin_of_type() of a network of a VfConfig that makes an interface, else the plugin's type.
std::string_view made_by_plugin(const kube::Json& plugin);
/// The network in such a config. Errors: as decode_native_network().
Result<NativeNetwork> network_of_config(const kube::Json& config);

}  // namespace sliced::kubelet
