#include "kubelet/peer_checkpoint.h"

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/json_scanner.h"
#include "kubelet/checkpoint.h"
#include "kubelet/recall.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kDriver = "sriovnetwork.k8snetworkplumbingwg.io";
constexpr kube::JsonLimits kPeerLimits{
    .size_max = kCheckpointBytesMax, .depth_max = 32, .nodes_max = 4'000'000};

Error peer_error(const std::string& what) {
  return {Errc::kInvalid, "checkpoint of dra-driver-sriov: " + what};
}

template <class Visit>
void each(const Json* list, const Visit& visit) {
  if (list == nullptr || list->array() == nullptr) return;
  for (const Json& one : *list->array()) visit(one);
}

cdi::Edits edits_in(const Json* value) {
  cdi::Edits out;
  if (value == nullptr) return out;
  each(value->find("env"), [&](const Json& one) {
    if (one.string() != nullptr) out.env.push_back(*one.string());
  });
  each(value->find("deviceNodes"), [&](const Json& one) {
    const std::string path(one.text("path")), host(one.text("hostPath"));
    out.nodes.push_back({path, host.empty() ? path : host});
  });
  return out;
}

VfConfig config_in(const Json* value) {
  VfConfig out;
  if (value == nullptr) return out;
  out.driver = value->text("driver");
  out.if_name = value->text("ifName");
  out.nad_name = value->text("netAttachDefName");
  out.nad_namespace = value->text("netAttachDefNamespace");
  const Json* vhost = value->find("addVhostMount");
  out.adds_vhost = vhost != nullptr && *vhost == Json(true);
  return out;
}

// Returns the part of ADD's result that this checkpoint contains.
std::optional<NetworkData> network_data_in(const Json* value) {
  if (value == nullptr || value->object() == nullptr) return std::nullopt;
  NetworkData out{.interface = std::string(value->text("interfaceName")),
                  .mac = std::string(value->text("hardwareAddress"))};
  each(value->find("ips"), [&](const Json& ip) {
    if (ip.string() != nullptr) out.ips.push_back(*ip.string());
  });
  return out;
}

std::optional<PreparedDevice> device_in(const Json& one) {
  const Json* device = one.find("Device");
  if (device == nullptr) return std::nullopt;
  PreparedDevice out{.pool = std::string(device->text("pool_name")),
                     .device = std::string(device->text("device_name")),
                     .pci = std::string(one.text("PciAddress")),
                     .multus_resource = std::string(one.text("MultusResourceName"))};
  each(device->find("request_names"), [&](const Json& name) {
    if (out.request.empty() && name.string() != nullptr) out.request = *name.string();
  });
  if (out.device.empty() || !hotplug::PciAddress::decode(out.pci)) return std::nullopt;
  out.holding = {.entry = out.device, .device = out.pci, .base = out.device};
  out.config = config_in(one.find("Config"));
  if (out.config.if_name.empty()) out.config.if_name = one.text("IfName");
  out.edits = edits_in(one.find("ContainerEdits"));
  const std::string_view network = one.text("NetAttachDefConfig");
  if (!network.empty() && network.size() <= kNetworkBytesMax) {
    out.network = std::string(network);
    out.is_of_peer = true;
    out.network_data = network_data_in(one.find("NetworkDeviceData"));
  }
  if (out.config.requires_vfio())
    out.vfio = VfioBinding{.original_driver = std::string(one.text("OriginalDriver")),
                           .group = vfio_nodes_in(out.edits).group,
                           .cdev = vfio_nodes_in(out.edits).cdev};
  return out;
}

Result<PreparedClaim> claim_in(const std::string& pod, const std::string& uid, const Json& devices) {
  PreparedClaim out{.driver = std::string(kDriver),
                    .uid = uid,
                    .pods = {{"", pod}},
                    .is_complete = true,
                    .cdi_pod_id = pod};
  if (devices.array() == nullptr)
    return peer_error("claim " + in_quotes(uid, 64) + " is not a list of devices");
  for (const Json& one : *devices.array()) {
    auto device = device_in(one);
    if (!device)
      return peer_error("claim " + in_quotes(uid, 64) + " has a device without name or PCI address");
    if (const Json* who = one.find("ClaimNamespacedName"); who != nullptr) {
      out.namespace_ = who->text("Namespace");
      out.name = who->text("Name");
    }
    out.devices.push_back(std::move(*device));
  }
  if (out.namespace_.empty() || out.name.empty())
    return peer_error("claim " + in_quotes(uid, 64) + " has no ClaimNamespacedName");
  return out;
}

// The checksum covers all bytes except its own value.
Result<Unit> check_sum(std::string_view text) {
  const auto sum = kube::find_raw(text, {"checksum"});
  if (!sum || sum->empty()) return peer_error("it is cut short, or no checkpoint");
  std::string summed(text.substr(0, static_cast<size_t>(sum->data() - text.data())));
  summed += "0";
  summed += text.substr(static_cast<size_t>(sum->data() - text.data()) + sum->size());
  if (parse_int(*sum) != int64_t{peer_checksum(summed)})
    return peer_error("its checksum does not fit: it was cut short or edited");
  return Unit{};
}

}  // namespace

uint32_t peer_checksum(std::string_view bytes) {
  uint32_t hash = 2166136261u;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  };
  add("([]uint8)[");
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) add(" ");
    add(std::to_string(static_cast<uint8_t>(bytes[i])));
  }
  add("]");
  return hash;
}

Result<PreparedClaims> decode_peer_checkpoint(std::string_view text) {
  text = trim(text);
  if (text.size() > kCheckpointBytesMax)
    return Error{Errc::kTooLarge,
                 "checkpoint of dra-driver-sriov: it has " + std::to_string(text.size()) + " bytes"};
  if (auto checked = check_sum(text); !checked) return std::move(checked.error());
  const auto value = kube::decode_json(text, kPeerLimits);
  if (!value) return Error(value.error()).in("checkpoint of dra-driver-sriov");
  PreparedClaims out;
  const Json* pods = value->find({"v1", "preparedClaimsByPodUID"});
  if (pods == nullptr || pods->is_null()) return out;
  if (pods->object() == nullptr) return peer_error("v1.preparedClaimsByPodUID is not a map");
  for (const auto& [pod, claims] : *pods->object()) {
    if (claims.object() == nullptr)
      return peer_error("pod " + in_quotes(pod, 64) + " is not a map of claims");
    for (const auto& [uid, devices] : *claims.object()) {
      if (devices.is_null() || (devices.array() != nullptr && devices.array()->empty())) continue;
      auto claim = claim_in(pod, uid, devices);
      if (!claim) return std::move(claim.error());
      const PreparedKey key = key_of(*claim);
      if (!out.emplace(key, std::move(*claim)).second)
        return peer_error("claim " + in_quotes(uid, 64) + " is in it twice");
      if (out.size() > kCheckpointClaimsMax) return peer_error("it has too many claims");
    }
  }
  return out;
}

}  // namespace sliced::kubelet
