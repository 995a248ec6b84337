#include "kubelet/vf_config.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "kube/objects/names.h"
#include "kubelet/native_vf.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kApiVersion = "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1";
constexpr std::string_view kKind = "VfConfig";
constexpr size_t kIfNameMax = 15;  // IFNAMSIZ without its NUL
const std::vector<std::string_view> kFields = {
    "apiVersion", "kind", "driver", "addVhostMount", "ifName", "netAttachDefName", "netAttachDefNamespace",
    "network"};

Error invalid(const std::string& path, std::string_view key, const std::string& what) {
  return {Errc::kInvalid, path + "." + std::string(key) + " " + what};
}

Result<Unit> only_known(const Json& value, const std::string& path) {
  for (const auto& [key, ignored] : *value.object()) {
    if (std::find(kFields.begin(), kFields.end(), key) != kFields.end()) continue;
    const std::string near = nearest(key, kFields);
    return invalid(
        path, escaped(key, 64),
        "is an unknown field; " + (near.empty() ? "known are driver, ifName, netAttachDefName, "
                                                  "netAttachDefNamespace, addVhostMount and network"
                                                : "did you mean " + near + "?"));
  }
  return Unit{};
}

Result<std::string> text(const Json& value, std::string_view key, const std::string& path) {
  const Json* at = value.find(key);
  if (at == nullptr || at->is_null()) return std::string();
  if (at->string() == nullptr)
    return invalid(path, key, "is a " + std::string(at->kind_name()) + ", expected a string");
  return *at->string();
}

// Stricter than the kernel (dev_valid_name in net/core/dev.c): an interface may return to the host under this
// name, where programs and scripts read it.
bool is_interface_name(std::string_view name) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kIfNameMax && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

Result<Unit> check_driver(const std::string& driver, const std::string& path) {
  if (driver.empty() || driver == "default" || driver == kVfioDriver) return Unit{};
  if (lower(driver).find("mdev") != std::string::npos)
    return invalid(
        path, "driver",
        "is " + in_quotes(driver, 64) + ": mediated devices are not prepared; use vfio-pci with a VF");
  return invalid(path, "driver", "is " + in_quotes(driver, 64) + ", expected default or vfio-pci");
}

// Returns the error for `network` together with a definition, or with vfio-pci.
Error why_not_network(const std::string& path, const std::string& nad_name) {
  return invalid(path, "network",
                 nad_name.empty()
                     ? "is set, and driver is vfio-pci, which leaves no interface: leave out one of them"
                     : "is set, and netAttachDefName is " + in_quotes(nad_name, 64) +
                           ": one of them gives the pod its interface; leave out the other");
}

// Drivers for which claim authors may have written configurations: sliced's two names, dra-driver-sriov (same
// name as the first), DRANET, and the CNI DRA driver.
constexpr std::array<std::string_view, 4> kNetworkDrivers = {
    "sriovnetwork.k8snetworkplumbingwg.io", "dra.networking", "dra.net", "cni.dra.networking.x-k8s.io"};
constexpr size_t kIgnoredMax = 8;

bool is_any_of(const std::vector<std::string>& requests, const std::string& request) {
  return requests.empty() || std::ranges::any_of(requests, [&](const std::string& name) {
           return name == request || name == main_request(request);
         });
}

}  // namespace

std::string why_not_pod_interface(std::string_view name) {
  if (name == "lo" || name == "eth0" || name == "all" || name == "default")
    return "which is the primary interface of the pod or means all interfaces: expected another name, such as net1";
  // The plugin tuning before 1.2.0 replaces the dots of net.ipv4.conf.IFNAME.forwarding: "all." becomes
  // conf/all//forwarding.
  if (name.starts_with('.') || name.ends_with('.') || name.find("..") != std::string_view::npos)
    return "which a CNI plugin may use as another interface: expected a name without \".\" at its ends and without "
           "\"..\", such as net1";
  if (name.find('%') != std::string_view::npos)
    return "which the kernel may take for a pattern (%d becomes a number): expected a name without \"%\", such as net1";
  return "";
}

Result<VfConfigs::One> VfConfigs::decode_one(const AllocatedConfig& config,
                                             const std::string& claim_namespace) {
  const std::string path = config.path + ".opaque.parameters";
  const Json& value = config.parameters;
  if (value.object() == nullptr)
    return Error{Errc::kInvalid, path + " is a " + std::string(value.kind_name()) + ", expected a VfConfig"};
  for (const auto& [key, wanted] :
       {std::pair(std::string_view("apiVersion"), kApiVersion), std::pair(std::string_view("kind"), kKind)})
    if (value.text(key) != wanted)
      return invalid(path, key, "is " + in_quotes(value.text(key), 64) + ", expected " + std::string(wanted));
  if (auto known = only_known(value, path); !known) return std::move(known.error());

  One out{.is_claims = config.is_claims, .path = path, .requests = config.requests};
  for (const auto& [key, field] : {std::pair("driver", &out.driver), std::pair("ifName", &out.if_name),
                                   std::pair("netAttachDefName", &out.nad_name),
                                   std::pair("netAttachDefNamespace", &out.nad_namespace)}) {
    auto found = text(value, key, path);
    if (!found) return std::move(found.error());
    *field = std::move(*found);
  }
  if (auto checked = check_driver(out.driver, path); !checked) return std::move(checked.error());
  if (const std::string why = why_not_pod_interface(out.if_name); !why.empty())
    return invalid(path, "ifName", "is " + in_quotes(out.if_name, 64) + ", " + why);
  if (!out.if_name.empty() && !is_interface_name(out.if_name))
    return invalid(
        path, "ifName",
        "is " + in_quotes(out.if_name, 64) +
            ", expected at most 15 letters, digits, \"-\", \"_\" and \".\", the first a letter or a "
            "digit, such as net1");
  if (!out.nad_name.empty() && !kube::is_dns_subdomain(out.nad_name))
    return invalid(path, "netAttachDefName",
                   "is " + in_quotes(out.nad_name, 64) + ", expected an object's name");
  if (!out.nad_namespace.empty() && !kube::is_dns_label(out.nad_namespace))
    return invalid(path, "netAttachDefNamespace",
                   "is " + in_quotes(out.nad_namespace, 64) + ", expected a namespace's name");
  if (out.is_claims && !out.nad_namespace.empty() && out.nad_namespace != claim_namespace)
    return invalid(path, "netAttachDefNamespace",
                   "is " + in_quotes(out.nad_namespace, 64) +
                       "; a claim names objects of its own namespace (" + claim_namespace +
                       "): leave it out, or have a DeviceClass name it");
  if (const Json* vhost = value.find("addVhostMount"); vhost != nullptr && !vhost->is_null()) {
    if (vhost->boolean() == nullptr)
      return invalid(path, "addVhostMount",
                     "is a " + std::string(vhost->kind_name()) + ", expected true or false");
    out.adds_vhost = *vhost->boolean();
  }
  if (const Json* network = value.find("network"); network != nullptr && !network->is_null()) {
    auto decoded =
        decode_native_network(*network, path + ".network",
                              out.is_claims ? cni::Author::kNamespaceUser : cni::Author::kAdministrator);
    if (!decoded) return std::move(decoded.error());
    out.network = *std::move(decoded);
    if (!out.nad_name.empty() || out.driver == kVfioDriver) return why_not_network(path, out.nad_name);
  }
  return out;
}

Result<VfConfigs> VfConfigs::decode(const Claim& claim, std::string_view driver) {
  VfConfigs out;
  out.namespace_ = claim.namespace_;
  for (const bool is_claims : {false, true})
    for (const AllocatedConfig& config : claim.configs) {
      if (config.is_claims != is_claims) continue;
      if (!config.has_opaque)
        return Error{Errc::kInvalid,
                     config.path + ".opaque is missing: only opaque parameters are understood"};
      if (config.driver != driver) continue;
      auto one = decode_one(config, claim.namespace_);
      if (!one) return std::move(one.error());
      out.in_order_.push_back(std::move(*one));
    }
  return out;
}

bool VfConfigs::One::is_for(const std::string& request) const { return is_any_of(requests, request); }

void VfConfigs::merge(const One& one, One& out) {
  out.path = one.path;
  if (!one.driver.empty()) out.driver = one.driver;
  if (!one.if_name.empty()) out.if_name = one.if_name;
  if (!one.nad_name.empty()) out.nad_name = one.nad_name;
  if (!one.nad_namespace.empty()) out.nad_namespace = one.nad_namespace;
  if (one.adds_vhost) out.adds_vhost = one.adds_vhost;
  if (one.network)
    out.network = out.network ? overlay_native_networks(*std::move(out.network), *one.network) : *one.network;
}

VfConfigs::One VfConfigs::merged(const std::string& request, bool is_claims) const {
  One out{.is_claims = is_claims};
  for (const One& one : in_order_)
    if (one.is_claims == is_claims && one.is_for(request)) merge(one, out);
  return out;
}

Result<VfConfig> VfConfigs::of(const std::string& request) const {
  One by_class = merged(request, false), by_claim = merged(request, true);
  // A claim refers to a definition in its own namespace. A class without a namespace refers to the claim's.
  if (!by_claim.nad_name.empty()) by_claim.nad_namespace = namespace_;
  if (!by_class.nad_name.empty() && by_class.nad_namespace.empty()) by_class.nad_namespace = namespace_;
  const auto differs = [&](const char* field, const std::string& ours, const std::string& theirs) {
    return Error{Errc::kInvalid, by_claim.path + "." + field + " is " + in_quotes(theirs, 64) +
                                     ", and the DeviceClass sets " + in_quotes(ours, 64) +
                                     ", which a claim cannot change: leave it out"};
  };
  for (const auto& [field, ours, theirs] :
       {std::tuple("driver", &by_class.driver, &by_claim.driver),
        std::tuple("ifName", &by_class.if_name, &by_claim.if_name),
        std::tuple("netAttachDefName", &by_class.nad_name, &by_claim.nad_name),
        std::tuple("netAttachDefNamespace", &by_class.nad_namespace, &by_claim.nad_namespace)})
    if (!ours->empty() && !theirs->empty() && *ours != *theirs) return differs(field, *ours, *theirs);
  if (by_class.adds_vhost && by_claim.adds_vhost && *by_class.adds_vhost != *by_claim.adds_vhost)
    return differs("addVhostMount", *by_class.adds_vhost ? "true" : "false",
                   *by_claim.adds_vhost ? "true" : "false");
  const bool is_by_class = !by_class.nad_name.empty();
  std::optional<NativeNetwork> network = by_class.network ? by_class.network : by_claim.network;
  const std::string network_path = (by_claim.network ? by_claim : by_class).path + ".network";
  if (by_class.network && by_claim.network) {
    auto merged = merge_native_networks(*by_class.network, *by_claim.network, network_path);
    if (!merged) return std::move(merged.error());
    network = *std::move(merged);
  }
  const hotplug::VfConfig vf_of_claim =
      by_claim.network ? fields_of_claim_only(by_claim.network->vf,
                                              by_class.network ? by_class.network->vf : hotplug::VfConfig{})
                       : hotplug::VfConfig{};
  const bool is_mac_claims = by_claim.network && !by_claim.network->mac.empty() &&
                             (!by_class.network || by_class.network->mac.empty());
  const bool is_ipam_claims = !by_class.network || !by_class.network->runs_ipam();
  merge(by_claim, by_class);
  if (network && (!by_class.nad_name.empty() || by_class.driver == kVfioDriver))
    return why_not_network(by_class.path, by_class.nad_name);
  if (network)
    if (auto good = check_native_network(*network, network_path); !good) return std::move(good.error());
  VfConfig out{.driver = by_class.driver,
               .if_name = by_class.if_name,
               .nad_namespace = by_class.nad_name.empty() ? "" : by_class.nad_namespace,
               .nad_name = by_class.nad_name,
               .adds_vhost = by_class.adds_vhost.value_or(false)};
  out.network = std::move(network);
  out.vf_of_claim = vf_of_claim;
  out.is_mac_claims = is_mac_claims;
  out.is_ipam_claims = is_ipam_claims;
  // Users of the claim's namespace can write the definitions that are there.
  out.is_nad_administrators = is_by_class && out.nad_namespace != namespace_;
  return out;
}

bool may_be_meant_for(std::string_view driver, std::string_view other_driver, const kube::Json& parameters) {
  const std::string_view api_version = parameters.text("apiVersion");
  const bool is_vf_config =
      lower(std::string(parameters.text("kind"))) == lower(std::string(kKind)) ||
      api_version.substr(0, api_version.find('/')) == kApiVersion.substr(0, kApiVersion.find('/'));
  return is_vf_config || !nearest(other_driver, {driver}).empty() ||
         std::ranges::find(kNetworkDrivers, other_driver) != kNetworkDrivers.end();
}

std::vector<std::string> ignored_configs(const Claim& claim, std::string_view driver) {
  std::vector<std::string> out;
  for (const AllocatedConfig& config : claim.configs) {
    if (!config.has_opaque || config.driver == driver || out.size() == kIgnoredMax) continue;
    if (!may_be_meant_for(driver, config.driver, config.parameters)) continue;
    const AllocatedDevice* ours = nullptr;
    bool is_others = false;
    for (const AllocatedDevice& device : claim.devices) {
      if (!is_any_of(config.requests, device.request)) continue;
      is_others |= device.driver == config.driver;
      if (device.driver != driver || ours != nullptr) continue;
      const bool has_another = std::ranges::any_of(claim.configs, [&](const AllocatedConfig& one) {
        return one.is_claims == config.is_claims && one.driver == driver &&
               is_any_of(one.requests, device.request);
      });
      if (!has_another) ours = &device;
    }
    if (ours == nullptr || is_others) continue;
    out.push_back(
        config.path + ".opaque.driver is " + in_quotes(config.driver, 64) + ", and request " +
        escaped(ours->request, 64) + " has a device of driver " + std::string(driver) +
        ": the configuration is ignored, so the pod gets no interface or binding by it; write driver: " +
        std::string(driver) + " in the " + (config.is_claims ? "claim" : "DeviceClass") +
        ", or remove the configuration");
  }
  return out;
}

}  // namespace sliced::kubelet
