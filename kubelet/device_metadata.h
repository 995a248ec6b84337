#pragma once
// What a container can read of the devices that it has been given (device metadata, KEP-5304;
// k8s.io/dynamic-resource-allocation/api/metadata): one file for each driver and request of a claim, mounted into
// it by CDI. Pure; kubelet/metadata_files.h keeps them on disk.
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

/// A device of a request. What is absent is not known to who writes it, and stays what the file says.
struct DeviceMetadata {
  std::string pool, device;
  kube::Json attributes;  // a map, as in a ResourceSlice; null not known
  std::optional<NetworkData> network;
  bool operator==(const DeviceMetadata&) const = default;
};

/// One file.
struct RequestMetadata {
  std::string driver, namespace_, claim, uid;
  std::string pod_claim_name;  // "" the claim was not made from a template
  std::string request;         // "name", or "name/subrequest"
  std::vector<DeviceMetadata> devices;
  bool operator==(const RequestMetadata&) const = default;
};

/// As the API has it (resource/v1, NetworkDeviceData): in these files, and in a claim's status.
kube::Json encode_network(const NetworkData& network);

/// Of each request of a claim, in the claim's order. Errors: kInvalid, where a name is none of the API's and
/// would lead out of a directory.
Result<std::vector<RequestMetadata>> metadata_of(const PreparedClaim& claim);

/// A file as it stands below "<plugins>/<driver>/dra-device-metadata": "<folder>/<request>/metadata.json".
struct MetadataFile {
  std::string driver, folder, request;
  std::string uid;  // of the claim that it is about; "" it cannot be understood
  auto operator<=>(const MetadataFile&) const = default;
};
MetadataFile file_of(const RequestMetadata& metadata);
/// All that belong to a claim; none where its names are not known.
std::vector<MetadataFile> metadata_files_of(const PreparedClaim& claim);

/// The file's text: the same content in each version of the API, the newest first.
/// Errors: kTooLarge.
Result<std::string> encode_metadata(const RequestMetadata& metadata, int64_t generation);

/// What is to stand in a file that has a text: nullopt that very text; else of the next generation, and what is not
/// known now as it was. A text that cannot be understood, or is another claim's, counts as none.
/// Errors: kTooLarge.
Result<std::optional<std::string>> update_metadata(std::string_view text, const RequestMetadata& metadata);

/// Whose file that is: the uid of its claim; "" it cannot be understood.
std::string metadata_uid(std::string_view text);

/// "<driver>/metadata", and which spec of that kind is for which request.
std::string metadata_kind(const std::string& driver);
std::string metadata_id(const MetadataFile& file);
/// Mounts the file at host_path where containers look for it.
cdi::Spec metadata_spec(const RequestMetadata& metadata, const std::string& host_path);

}  // namespace sliced::kubelet
