#pragma once
// Claims as an API server stores them, put together field by field.
#include <string>

#include "kube/objects/json.h"
#include "kubelet/plan.h"

namespace sliced::kubelet::sample {

inline constexpr const char* kSriov = "sriovnetwork.k8snetworkplumbingwg.io";
inline constexpr const char* kExposure = "dra.networking";
inline constexpr const char* kVfConfigVersion = "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1";

inline kube::Json result(const std::string& request, const std::string& device,
                         const std::string& driver = kSriov, const std::string& pool = "node-a") {
  return kube::Json::Object{{"request", request}, {"driver", driver}, {"pool", pool}, {"device", device}};
}

/// parameters: members of a VfConfig.
inline kube::Json config(kube::Json::Object parameters, kube::Json::Array requests = {},
                         const std::string& source = "FromClaim", const std::string& driver = kSriov) {
  kube::Json::Object all{{"apiVersion", kVfConfigVersion}, {"kind", "VfConfig"}};
  all.insert(all.end(), parameters.begin(), parameters.end());
  return kube::Json::Object{
      {"source", source},
      {"requests", std::move(requests)},
      {"opaque", kube::Json::Object{{"driver", driver}, {"parameters", std::move(all)}}}};
}

struct ClaimText {
  kube::Json::Array results, configs;
  kube::Json::Array pods = {
      kube::Json::Object{{"resource", "pods"}, {"name", "pod-1"}, {"uid", "pod-uid-1"}}};
  std::string uid = "claim-uid-1", name = "claim-1", node = "node-a";
  kube::Json annotations = kube::Json::Object{};

  kube::Json object() const {
    const kube::Json selector = kube::Json::Object{
        {"nodeSelectorTerms",
         kube::Json::Array{kube::Json::Object{
             {"matchFields",
              kube::Json::Array{kube::Json::Object{
                  {"key", "metadata.name"}, {"operator", "In"}, {"values", kube::Json::Array{node}}}}}}}}};
    return kube::Json::Object{
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", "ResourceClaim"},
        {"metadata",
         kube::Json::Object{{"name", name}, {"namespace", "ns"}, {"uid", uid}, {"annotations", annotations}}},
        {"status", kube::Json::Object{
                       {"allocation", kube::Json::Object{{"devices", kube::Json::Object{{"results", results},
                                                                                        {"config", configs}}},
                                                         {"nodeSelector", selector}}},
                       {"reservedFor", pods}}}};
  }
  std::string text() const { return kube::encode_json(object()); }
  Claim decoded() const { return decode_claim(text()).value(); }
  PrepareRequest request() const { return {"ns", name, uid}; }
};

/// A VF of PF 0000:03:00.0 as the SR-IOV driver has it: "0000-03-00-2"; "0000-03-00-0": the PF.
inline KnownEntry vf(const std::string& entry) {
  KnownEntry out;
  hotplug::HostDevice& device = out.device;
  std::string pci = entry.substr(0, 12);
  pci[4] = pci[7] = ':';
  pci[10] = '.';
  device.id.text = pci;
  const bool is_pf = pci == "0000:03:00.0";
  device.type = is_pf ? hotplug::DeviceType::kPf : hotplug::DeviceType::kVf;
  device.pci = hotplug::PciAddress::decode(pci);
  if (!is_pf) device.pf = hotplug::PciAddress::decode("0000:03:00.0");
  device.vendor = "8086";
  device.product = is_pf ? "10c9" : "10ca";
  device.netdev = hotplug::Netdev{.name = "eth" + pci.substr(11)};
  out.pf = "0000:03:00.0";
  out.holding = {.entry = entry, .device = pci, .base = entry.substr(0, 12)};
  return out;
}

}  // namespace sliced::kubelet::sample
