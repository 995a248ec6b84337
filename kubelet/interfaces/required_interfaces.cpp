#include "kubelet/interfaces/required_interfaces.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "kubelet/cni/definition.h"
#include "kubelet/hardware.h"
#include "kubelet/plan.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr std::string_view kPodUid = "K8S_POD_UID";

bool is_of_pod(const PreparedClaim& claim, std::string_view pod_uid) {
  return std::any_of(claim.pods.begin(), claim.pods.end(),
                     [&](const ReservingPod& pod) { return pod.uid == pod_uid; });
}

constexpr int kInfiniband = 32;  // ARPHRD_INFINIBAND

bool is_infiniband(const PreparedDevice& device) {
  if (!device.held) return false;
  const auto& netdev = device.held->netdev;
  if (netdev && netdev->link_type) return *netdev->link_type == kInfiniband;
  return device.held->enforced && !device.held->enforced->node_guid.empty();
}

// Returns a locally administered unicast EUI-64, the same for the device and the claim after each restart.
std::string guid_of(const PreparedClaim& claim, const PreparedDevice& device) {
  constexpr uint64_t kLocal = 2;
  uint64_t rest = stable_hash(claim.uid + " " + device.pci);
  std::string out;
  char byte[4];
  for (int i = 0; i < 8; ++i, rest >>= 8) {
    const uint64_t value = rest & 0xff;
    std::snprintf(byte, sizeof byte, "%02x",
                  static_cast<unsigned>(i == 0 ? ((value & 0xfc) | kLocal) : value));
    out += (i == 0 ? "" : ":") + std::string(byte);
  }
  return out;
}

// Plugins that list the capabilities `mac` and `infinibandGUID` get these values.
kube::Json capabilities_of(const PreparedClaim& claim, const PreparedDevice& device) {
  kube::Json::Object out;
  if (!device.mac.empty()) out.emplace_back("mac", device.mac);
  if (device.holding.is_exclusive && device.share_id.empty() && !device.pci.empty() && is_infiniband(device))
    out.emplace_back("infinibandGUID", guid_of(claim, device));
  return out.empty() ? kube::Json() : kube::Json(std::move(out));
}

// The sandbox is not part of it: with shares of a device, several claims have an interface of it.
std::string owner_of(const RequiredInterface& wanted) {
  return wanted.claim_text + " (uid " + wanted.claim.second + "), device " + wanted.pool + "/" +
         wanted.device + (wanted.share_id.empty() ? "" : " " + wanted.share_id);
}

RequiredInterface wanted_of(const PreparedClaim& claim, const PreparedDevice& device) {
  return {.claim = key_of(claim),
          .claim_text = describe(request_of(claim)),
          .pool = device.pool,
          .device = device.device,
          .share_id = device.share_id,
          .interface = device.config.if_name,
          .network = device.config.nad_name,
          .users_definition = device.config.network
                                  ? "network in the VfConfig of " + describe(request_of(claim))
                              : device.config.is_nad_administrators
                                  ? ""
                                  : "NetworkAttachmentDefinition " + escaped(device.config.nad_namespace) +
                                        "/" + escaped(device.config.nad_name),
          .config = device.network,
          .pci = device.pci,
          .host_interface = device.vfio ? "" : device.interface,
          .hardware = device.vfio ? "" : hardware_of(device),
          .capabilities = capabilities_of(claim, device),
          .is_exclusive = device.holding.is_exclusive && device.share_id.empty(),
          .is_of_peer = device.is_of_peer,
          .refusal = device.network_refusal,
          .network_data = device.network_data};
}

// The policies and options that apply to it are unknown, so it counts as an administrator's definition.
Result<std::string> administrators_network(const PreparedDevice& device, const std::string& name) {
  return cni::canonical_definition(device.network, name, {.author = cni::Author::kAdministrator},
                                   cni::DefinitionDevice{.pci = device.pci,
                                                         .interface = device.interface,
                                                         .is_exclusive = true,
                                                         .is_on_vfio = device.vfio.has_value()});
}

}  // namespace

bool has_network(const PreparedDevice& device) { return !device.is_admin && !device.network.empty(); }

std::vector<RequiredInterface> interfaces_of(const PreparedClaim& claim) {
  std::vector<RequiredInterface> out;
  for (const PreparedDevice& device : claim.devices)
    if (has_network(device)) out.push_back(wanted_of(claim, device));
  return out;
}

std::vector<RequiredInterface> interfaces_of(const PreparedClaims& prepared, std::string_view pod_uid) {
  std::vector<const PreparedClaim*> claims;
  for (const auto& [key, claim] : prepared)
    if (claim.is_complete && !pod_uid.empty() && is_of_pod(claim, pod_uid)) claims.push_back(&claim);
  std::stable_sort(claims.begin(), claims.end(),
                   [](const PreparedClaim* a, const PreparedClaim* b) { return a->name < b->name; });
  std::vector<RequiredInterface> out;
  for (const PreparedClaim* claim : claims)
    for (RequiredInterface& one : interfaces_of(*claim)) out.push_back(std::move(one));
  return out;
}

cni::Record record_of(const RequiredInterface& wanted, const nri::PodSandbox& pod) {
  return {.config = wanted.config,
          .network = wanted.network,
          .attachment = {.container_id = pod.id,
                         .network_namespace = pod.network_namespace,
                         .interface = wanted.interface,
                         .arguments = {{"IgnoreUnknown", "true"},
                                       {"K8S_POD_NAMESPACE", pod.namespace_name},
                                       {"K8S_POD_NAME", pod.name},
                                       {"K8S_POD_INFRA_CONTAINER_ID", pod.id},
                                       {std::string(kPodUid), pod.uid}},
                         .device = wanted.is_exclusive ? wanted.pci : "",
                         .capabilities = wanted.capabilities},
          .result = std::nullopt,
          .owner = owner_of(wanted),
          .users_definition = wanted.users_definition,
          .host_interface = wanted.is_exclusive && !wanted.host_interface.empty()
                                ? std::optional(cni::HostInterface{.name = wanted.host_interface})
                                : std::nullopt,
          .hardware = wanted.hardware};
}

bool are_of_one(const cni::Record& a, const cni::Record& b) {
  return a.owner.empty() || b.owner.empty() || a.owner == b.owner;
}

std::vector<PreparedKey> claims_used(const PreparedClaims& prepared,
                                     const std::vector<std::string>& cdi_devices) {
  // The name of a device begins with its claim's uid and '-' (plan.cpp, device_name()). A runtime reports
  // thousands of containers in one turn of the loop, so claims are looked up by uid instead of searched.
  std::vector<std::string> drivers;
  for (auto at = prepared.begin(); at != prepared.end();
       at = prepared.lower_bound({drivers.back() + '\0', ""}))
    drivers.push_back(at->first.first);
  std::set<PreparedKey> near;
  for (const std::string_view cdi_device : cdi_devices) {
    const size_t kind = cdi_device.find('=');
    if (kind == std::string_view::npos) continue;
    const std::string_view name = cdi_device.substr(kind + 1);
    for (size_t end = name.find('-'); end != std::string_view::npos; end = name.find('-', end + 1))
      for (const std::string& driver : drivers)
        if (PreparedKey key{driver, name.substr(0, end)}; prepared.contains(key)) near.insert(std::move(key));
  }
  std::vector<PreparedKey> out;
  for (const PreparedKey& key : near) {
    const PreparedClaim& claim = prepared.at(key);
    if (!claim.is_complete) continue;
    const PrepareAnswer answer = answer_of(claim, false);
    if (std::any_of(answer.devices.begin(), answer.devices.end(), [&](const auto& device) {
          return std::find(cdi_devices.begin(), cdi_devices.end(), device.cdi_ids.front()) !=
                 cdi_devices.end();
        }))
      out.push_back(key);
  }
  return out;
}

PeerNetwork network_of_peer(const PreparedDevice& device, const std::string& driver) {
  if (!cni::decode_network(device.network, driver)) return {};
  auto good = administrators_network(device, driver);
  if (good) return {.config = *std::move(good)};
  return {
      .config = device.network,
      .refusal = "the network that dra-driver-sriov had read for it is not run again: " + good.error().what +
                 "; delete the pod, so that its NetworkAttachmentDefinition is read again"};
}

// dra-driver-sriov gave its own name to a network without one.
cni::Record record_of_peer(const RequiredInterface& wanted, const nri::PodSandbox& pod, bool has_container) {
  cni::Record record = record_of(wanted, pod);
  record.network = wanted.claim.first;
  if (auto reduced = cni::reduced_definition(record.config, record.network))
    record.config = *std::move(reduced);
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || (!wanted.network_data && !has_container)) return record;
  const NetworkData network_data = wanted.network_data.value_or(NetworkData{});
  cni::Attached result{
      .cni_version = network->cni_version,
      .interfaces = {{.name = wanted.interface, .mac = network_data.mac, .sandbox = pod.network_namespace}}};
  const cni::Attached without_addresses = result;
  for (const std::string& ip : network_data.ips) result.ips.push_back({.interface = 0, .address = ip});
  // With an invalid address, the record could not be read again.
  const bool is_good = cni::decode_result(kube::encode_json(cni::encode_result(result)), "").ok();
  if (is_good)
    record.result = std::move(result);
  else
    record.result = without_addresses;
  return record;
}

// Interfaces on the host's side have no sandbox.
NetworkData pod_network_of(const std::string& interface, const cni::Attached& result) {
  constexpr size_t kIpsMax = 16;  // resource/v1, NetworkDeviceData, whose elements are unique
  NetworkData out{.interface = interface};
  for (size_t i = 0; i < result.interfaces.size(); ++i) {
    const cni::Interface& one = result.interfaces[i];
    if (one.sandbox.empty() || one.name != interface) continue;
    out.mac = one.mac;
    for (const cni::Ip& ip : result.ips)
      if (ip.interface.value_or(static_cast<int64_t>(i)) == static_cast<int64_t>(i) &&
          out.ips.size() < kIpsMax && std::find(out.ips.begin(), out.ips.end(), ip.address) == out.ips.end())
        out.ips.push_back(ip.address);
  }
  return out;
}

std::string_view argument_of(const cni::Attachment& attachment, std::string_view name) {
  for (const auto& [key, value] : attachment.arguments)
    if (key == name) return value;
  return "";
}

std::string_view pod_uid_of(const cni::Attachment& attachment) { return argument_of(attachment, kPodUid); }

}  // namespace sliced::kubelet
