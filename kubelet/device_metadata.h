#pragma once
// Device metadata for containers (KEP-5304; k8s.io/dynamic-resource-allocation/api/metadata): one file for
// each driver and request of a claim, which CDI mounts into the containers. Pure; kubelet/metadata_files.h
// stores the files.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubelet/cdi/spec.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr size_t kMetadataBytesMax = size_t{2} << 20;

/// One device of a request. Empty members are unknown; an existing file keeps its values for them.
struct DeviceMetadata {
  std::string pool, device;
  kube::Json attributes;  // a map, as in a ResourceSlice; null if unknown
  std::optional<NetworkData> network;
  bool operator==(const DeviceMetadata&) const = default;
};

struct RequestMetadata {
  std::string driver, namespace_, claim, uid;
  std::string pod_claim_name;  // "" if the claim was not created from a template
  std::string request;         // "name", or "name/subrequest"
  std::vector<DeviceMetadata> devices;
  bool operator==(const RequestMetadata&) const = default;
};

/// Encodes NetworkDeviceData (resource/v1), for these files and for a claim's status.
kube::Json encode_network(const NetworkData& network);

/// Returns one element for each request of the claim, in the claim's order. Errors: kInvalid if a name is not
/// valid in the API and could lead out of a directory.
Result<std::vector<RequestMetadata>> metadata_of(const PreparedClaim& claim);

/// Path of a file below "<plugins>/<driver>/dra-device-metadata": "<folder>/<request>/metadata.json".
struct MetadataFile {
  std::string driver, folder, request;
  std::string uid;  // uid of the file's claim; "" if the file cannot be decoded
  auto operator<=>(const MetadataFile&) const = default;
};
MetadataFile file_of(const RequestMetadata& metadata);
/// Returns all files of a claim; empty if its names are unknown.
std::vector<MetadataFile> metadata_files_of(const PreparedClaim& claim);

/// Returns the file's text: the same content in each version of the API, the newest first. Errors: kTooLarge.
Result<std::string> encode_metadata(const RequestMetadata& metadata, int64_t generation);

/// Returns the new text of a file that contains `text`; nullopt if it stays unchanged. A new text has the
/// next generation and keeps values that are now unknown. A text that cannot be decoded, or is of another
/// claim, is ignored. Errors: kTooLarge.
Result<std::optional<std::string>> update_metadata(std::string_view text, const RequestMetadata& metadata);

/// Returns the uid of the claim of a file; "" if the text cannot be decoded.
std::string metadata_uid(std::string_view text);

/// Returns the kind "<driver>/metadata", and the id of the spec of a request.
std::string metadata_kind(const std::string& driver);
std::string metadata_id(const MetadataFile& file);
/// Returns a spec that mounts the file at host_path to the path where containers expect it.
cdi::Spec metadata_spec(const RequestMetadata& metadata, const std::string& host_path);

}  // namespace sliced::kubelet
