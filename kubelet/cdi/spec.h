#pragma once
// CDI specifications as values: the container runtime's changes to a container with a device
// (github.com/cncf-tags/container-device-interface SPEC.md). Only the fields that sliced writes are decoded.
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cdi {

/// A character device of the host, under a path in the container.
struct DeviceNode {
  std::string path;
  std::string host_path;
  bool operator==(const DeviceNode&) const = default;
};

/// A bind mount with options of mount(8).
struct Mount {
  std::string host_path, container_path;
  std::vector<std::string> options;
  bool operator==(const Mount&) const = default;
};

struct Edits {
  std::vector<std::string> env;  // "NAME=value"
  std::vector<DeviceNode> nodes;
  std::vector<Mount> mounts;
  bool operator==(const Edits&) const = default;
};

/// Requires: edits are not empty, because a runtime refuses a device without edits.
struct Device {
  std::string name;
  Edits edits;
  bool operator==(const Device&) const = default;
};

/// Decoding an encoded value gives the same value. Additions by other programs are not decoded, and are lost
/// at the next write.
struct Spec {
  std::string kind;  // "vendor/class"
  std::vector<Device> devices;
  bool operator==(const Spec&) const = default;
};

/// Returns the lowest version of the format that has all used features: 0.5.0 with device nodes (hostPath) or
/// a device name that begins with a digit, otherwise 0.3.0. An older runtime refuses a newer version.
std::string_view version_of(const Spec& spec);

inline constexpr size_t kSpecBytesMax = size_t{1} << 20;

/// Errors: kInvalid with field, value and rule for values that a runtime would refuse, and for a variable
/// with a control character; kTooLarge beyond kSpecBytesMax.
Result<std::string> encode_spec(const Spec& spec);
/// Decodes a text that encode_spec() wrote and that may have been edited since. Unknown fields are ignored.
Result<Spec> decode_spec(std::string_view text);

/// Returns "vendor/class=device", as the kubelet passes it to a runtime.
std::string qualified_name(std::string_view kind, std::string_view device);

/// Returns the file name of a spec that exists as long as the object with that id: "vendor-class_id.yaml", as
/// in CDI's own library. JSON is valid YAML.
std::string transient_file(std::string_view kind, std::string_view id);
/// Returns "vendor_class_id.json", the name that Kubernetes' library for DRA drivers uses for a spec that
/// mounts device metadata.
std::string metadata_file(std::string_view kind, std::string_view id);

/// Returns whether the text begins and ends with a letter or digit, with "_-.:" allowed in between.
bool is_device_name(std::string_view text);

}  // namespace sliced::cdi
