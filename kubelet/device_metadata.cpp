#include "kubelet/device_metadata.h"

#include <algorithm>
#include <array>

#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {

kube::Json encode_network(const NetworkData& network) {
  kube::Json::Object out;
  if (!network.interface.empty()) out.emplace_back("interfaceName", network.interface);
  if (!network.ips.empty())
    out.emplace_back("ips", kube::Json::Array(network.ips.begin(), network.ips.end()));
  if (!network.mac.empty()) out.emplace_back("hardwareAddress", network.mac);
  return out;
}

namespace {

using kube::Json;

// Readers use the first version that they support.
constexpr std::array<std::string_view, 2> kVersions = {"metadata.resource.k8s.io/v1beta1",
                                                       "metadata.resource.k8s.io/v1alpha1"};
constexpr std::string_view kInContainer = "/var/run/kubernetes.io/dra-device-attributes/";
constexpr size_t kFileNameMax = 255;
constexpr kube::JsonLimits kMetadataLimits{
    .size_max = kMetadataBytesMax, .depth_max = 16, .nodes_max = 100'000};

std::string base_of(const RequestMetadata& metadata) { return main_request(metadata.request); }

Result<Unit> check(const RequestMetadata& metadata) {
  const auto invalid = [](const char* what, const std::string& name) {
    return Error{Errc::kInvalid, "device metadata: " + std::string(what) + " is " + in_quotes(name, 64) +
                                     ", which is not a name of Kubernetes' and no part of a path"};
  };
  if (!kube::is_dns_label(metadata.namespace_)) return invalid("the namespace", metadata.namespace_);
  if (!kube::is_dns_subdomain(metadata.claim)) return invalid("the claim's name", metadata.claim);
  if (!cdi::is_device_name(metadata.uid)) return invalid("the claim's uid", metadata.uid);
  if (!kube::is_dns_label(base_of(metadata))) return invalid("the request", metadata.request);
  if (!metadata.pod_claim_name.empty() && !kube::is_dns_label(metadata.pod_claim_name))
    return invalid("the pod's name of the claim", metadata.pod_claim_name);
  return Unit{};
}

Json encode(const DeviceMetadata& device, const std::string& driver) {
  Json::Object out{{"driver", driver}, {"pool", device.pool}, {"name", device.device}};
  if (device.attributes.object() != nullptr && !device.attributes.object()->empty())
    out.emplace_back("attributes", device.attributes);
  if (device.network) out.emplace_back("networkData", encode_network(*device.network));
  return out;
}

Json encode(const RequestMetadata& metadata, std::string_view version, int64_t generation) {
  Json::Array devices;
  for (const DeviceMetadata& device : metadata.devices) devices.push_back(encode(device, metadata.driver));
  Json::Object out{{"kind", "DeviceMetadata"},
                   {"apiVersion", version},
                   {"metadata", Json::Object{{"name", metadata.claim},
                                             {"namespace", metadata.namespace_},
                                             {"uid", metadata.uid},
                                             {"generation", generation}}}};
  if (!metadata.pod_claim_name.empty()) out.emplace_back("podClaimName", metadata.pod_claim_name);
  out.emplace_back("requests",
                   Json::Array{Json::Object{{"name", metadata.request}, {"devices", std::move(devices)}}});
  return out;
}

// Returns the first document of a file that sliced wrote; null for other texts.
Json first_document(std::string_view text) {
  auto value = kube::decode_json(text.substr(0, text.find('\n')), kMetadataLimits);
  return value && value->text("apiVersion") == kVersions.front() ? std::move(*value) : Json();
}

std::string_view uid_of(const Json& document) {
  const Json* uid = document.find({"metadata", "uid"});
  return uid == nullptr || uid->string() == nullptr ? std::string_view() : *uid->string();
}

NetworkData decode_network(const Json& value) {
  NetworkData out{.interface = std::string(value.text("interfaceName")),
                  .ips = {},
                  .mac = std::string(value.text("hardwareAddress"))};
  if (const Json* ips = value.find("ips"); ips != nullptr && ips->array() != nullptr)
    for (const Json& ip : *ips->array())
      if (ip.string() != nullptr) out.ips.push_back(*ip.string());
  return out;
}

// Keeps the file's values for the devices of the request that have no newer ones.
void keep_what_it_says(const Json& document, RequestMetadata& metadata) {
  const Json* requests = document.find("requests");
  if (requests == nullptr || requests->array() == nullptr || requests->array()->size() != 1) return;
  const Json* devices = requests->array()->front().find("devices");
  if (devices == nullptr || devices->array() == nullptr ||
      devices->array()->size() != metadata.devices.size())
    return;
  for (size_t i = 0; i < metadata.devices.size(); ++i) {
    DeviceMetadata& device = metadata.devices[i];
    const Json& was = (*devices->array())[i];
    if (was.text("pool") != device.pool || was.text("name") != device.device) continue;
    if (const Json* attributes = was.find("attributes"); attributes != nullptr && device.attributes.is_null())
      device.attributes = *attributes;
    if (const Json* network = was.find("networkData"); network != nullptr && !device.network)
      device.network = decode_network(*network);
  }
}

int64_t generation_of(const Json& document) {
  const Json* generation = document.find({"metadata", "generation"});
  return generation == nullptr || generation->integer() == nullptr ? 0 : *generation->integer();
}

}  // namespace

Result<std::vector<RequestMetadata>> metadata_of(const PreparedClaim& claim) {
  std::vector<RequestMetadata> out;
  for (const PreparedDevice& device : claim.devices) {
    auto at = std::find_if(out.begin(), out.end(), [&](const RequestMetadata& one) {
      return main_request(one.request) == main_request(device.request);
    });
    if (at == out.end()) {
      RequestMetadata one{.driver = claim.driver,
                          .namespace_ = claim.namespace_,
                          .claim = claim.name,
                          .uid = claim.uid,
                          .pod_claim_name = claim.pod_claim_name,
                          .request = device.request};
      if (auto checked = check(one); !checked) return std::move(checked.error());
      at = out.insert(out.end(), std::move(one));
    }
    at->devices.push_back({device.pool, device.device, device.attributes, device.network_data});
  }
  return out;
}

// A claim and its namespace may have longer names together than a folder.
MetadataFile file_of(const RequestMetadata& metadata) {
  std::string folder = metadata.namespace_ + "_" + metadata.claim;
  if (folder.size() > kFileNameMax) folder = metadata.uid;
  return {metadata.driver, std::move(folder), base_of(metadata), metadata.uid};
}

std::vector<MetadataFile> metadata_files_of(const PreparedClaim& claim) {
  std::vector<MetadataFile> out;
  if (const auto all = metadata_of(claim); all)
    for (const RequestMetadata& one : *all) out.push_back(file_of(one));
  return out;
}

Result<std::string> encode_metadata(const RequestMetadata& metadata, int64_t generation) {
  std::string text;
  for (const std::string_view version : kVersions)
    text += kube::encode_json(encode(metadata, version, generation)) + "\n";
  if (text.size() <= kMetadataBytesMax) return text;
  return Error{Errc::kTooLarge, "device metadata of request " + in_quotes(metadata.request, 64) + " has " +
                                    std::to_string(text.size()) + " bytes, at most " +
                                    std::to_string(kMetadataBytesMax) +
                                    " are written: use fewer devices per request"};
}

Result<std::optional<std::string>> update_metadata(std::string_view text, const RequestMetadata& metadata) {
  const Json before = first_document(text);
  RequestMetadata now = metadata;
  int64_t generation = 0;
  if (uid_of(before) == metadata.uid) {
    keep_what_it_says(before, now);
    generation = generation_of(before);
    auto same = encode_metadata(now, generation);
    if (same && *same == text) return std::optional<std::string>();
  }
  auto next = encode_metadata(now, generation + 1);
  if (!next) return std::move(next.error());
  return std::optional(std::move(*next));
}

std::string metadata_uid(std::string_view text) { return std::string(uid_of(first_document(text))); }

std::string metadata_kind(const std::string& driver) { return driver + "/metadata"; }

std::string metadata_id(const MetadataFile& file) { return file.uid + "_" + file.request; }

cdi::Spec metadata_spec(const RequestMetadata& metadata, const std::string& host_path) {
  const std::string folder = metadata.pod_claim_name.empty()
                                 ? "resourceclaims/" + metadata.claim
                                 : "resourceclaimtemplates/" + metadata.pod_claim_name;
  const std::string inside =
      std::string(kInContainer) + folder + "/" + base_of(metadata) + "/" + metadata.driver + "-metadata.json";
  return {.kind = metadata_kind(metadata.driver),
          .devices = {{metadata_id(file_of(metadata)), {.mounts = {{host_path, inside, {"ro", "bind"}}}}}}};
}

}  // namespace sliced::kubelet
