#pragma once
// `network` of a VfConfig: the interface that sliced itself sets up in a pod by netlink, without a CNI
// plugin. Decoding is strict, and is the same for a prepare, `validate` and the webhook. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kubelet/cni/network.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/native_sysctls.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// destination: "10.0.0.0/8", without host bits. gateway "": the destination is on the link. priority: the
/// kernel's metric; 0: its default. table: 0: the main table.
struct NativeRoute {
  std::string destination, gateway;
  int priority = 0;
  int table = 0;
  bool operator==(const NativeRoute&) const = default;
};

/// Selects the table for packets from source to destination ("10.0.0.0/8", "" any; at least one is set)
/// (ip-rule(8)).
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
  std::string mac;                     // "aa:bb:.."; "": as on the host
  std::vector<std::string> addresses;  // "10.0.0.5/24"
  std::vector<NativeRoute> routes;
  hotplug::VfConfig vf = {};  // kubelet/native_vf.h
  std::vector<NativeRule> rules = {};
  std::vector<NativeNeighbor> neighbors = {};
  std::vector<NativeSysctl> sysctls = {};
  /// duplicateAddressDetection: "off" (an IPv6 address is usable immediately) or "wait" (the pod starts after
  /// detection ends); "": "off".
  std::string dad = {};
  /// "passthrough" (the device's interface moves), "macvlan", "ipvlan", "vlan", "bridgePort" (a new interface
  /// on top of it); "": passthrough.
  std::string type = {};
  std::string mode = {};  // macvlan: "bridge", "private", "vepa"; "": bridge
  std::string rdma = {};  // "move": the RDMA device moves with the interface; "": it stays
  /// Canonical JSON of `ipam`, whose plugin assigns the addresses; "": none. Excludes addresses.
  std::string ipam = {};
  bool creates_link() const { return !type.empty() && type != "passthrough"; }
  bool waits_for_dad() const { return dad == "wait"; }
  /// Returns whether the addresses are unknown until the IPAM plugin has run.
  bool runs_ipam() const { return !ipam.empty(); }
  bool operator==(const NativeNetwork&) const = default;
};

inline constexpr size_t kNativeAddressesMax = 16;  // limit of resource/v1 NetworkDeviceData
inline constexpr size_t kNativeRoutesMax = 64, kNativeRulesMax = 32, kNativeNeighborsMax = 32;

/// path: of the value, for error texts. author: of its `ipam`, which the tables for definitions check.
/// Errors: kInvalid, kTooLarge; each names field, value, expected value and remedy.
Result<NativeNetwork> decode_native_network(const kube::Json& value, const std::string& path,
                                            cni::Author author = cni::Author::kAdministrator);
/// Encodes a value that decode_native_network() accepts.
kube::Json encode_native_network(const NativeNetwork& network);

/// Returns `network` with the fields that `later` sets. For two configurations of one author.
NativeNetwork overlay_native_networks(NativeNetwork network, const NativeNetwork& later);
/// Merges the network of a DeviceClass and that of a claim, field by field. Errors: kInvalid if the claim
/// sets a field that the class sets to another value.
Result<NativeNetwork> merge_native_networks(const NativeNetwork& by_class, const NativeNetwork& by_claim,
                                            const std::string& claim_path);
/// Checks rules between fields, including those of check_native_vf(): a gateway outside the subnets of all
/// addresses, two routes with the same destination, table and priority. Errors: kInvalid.
Result<Unit> check_native_network(const NativeNetwork& network, const std::string& path);
/// Returns the network with the addresses and routes of an IPAM plugin's result instead of ipam, checked as
/// if the VfConfig had them. A route without a gateway gets that of the first address of its family, as in
/// the plugins of the CNI project. Errors: those of decode_native_network() and check_native_network();
/// kInvalid if the result has no address.
Result<NativeNetwork> with_ipam_result(NativeNetwork network, const cni::Attached& result);

/// Returns the config of plugin cni::kNativePlugin for a record: addresses and routes as in the plugin
/// `static`, all other fields in `network`. With an IPAM plugin, which `ipamPlugin` names: its own `ipam`,
/// and all other fields in `network`. interface: the device's on the host. pci: its PCI address if an
/// interface is created on it; "" for a link. rdma_device: moves with the interface. scalable_function:
/// "0000:03:00.0/sf88"; "" for another device.
std::string native_config(const NativeNetwork& network, const std::string& interface,
                          const std::string& pci = "", const std::string& rdma_device = "",
                          const std::string& scalable_function = "");
/// Returns a record's config with the present names of the device's interface on the host and of its RDMA
/// device, in each field that names one. interface, rdma_device: "" leaves the field as it is.
/// names_interface: set to whether a CNI plugin of the config is given the interface by its name.
std::string with_host_names(const std::string& config, const std::string& interface,
                            const std::string& rdma_device, bool* names_interface = nullptr);
/// Returns the CNI plugin that creates such an interface, as policies and --cni-plugins-shared name it:
/// "macvlan", "ipvlan", "vlan", "bridge"; "" for passthrough.
std::string_view plugin_of_type(std::string_view type);
/// The same for a plugin in a record's config: plugin_of_type() for a network that creates an interface,
/// otherwise the plugin's type.
std::string_view made_by_plugin(const kube::Json& plugin);
/// Returns the network of the IPAM plugin that runs for such a config, as a chain of one plugin; nullopt if
/// none does. No value is checked: DEL must not depend on today's rules.
std::optional<cni::Network> ipam_network_of(const cni::Network& network);
/// Returns the network in such a config. Errors: as decode_native_network().
Result<NativeNetwork> network_of_config(const kube::Json& config);

}  // namespace sliced::kubelet
