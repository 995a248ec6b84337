#pragma once
// CDI specifications as values: what a container runtime does to a container that is given a device
// (github.com/cncf-tags/container-device-interface SPEC.md). Only what is written here is read back.
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

/// A bind mount; options as mount(8) has them.
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

/// A runtime wants edits that edit something.
struct Device {
  std::string name;
  Edits edits;
  bool operator==(const Device&) const = default;
};

/// Decoding what was encoded gives the same value; what others have added to the file is not in it, and goes
/// when it is written again.
struct Spec {
  std::string kind;  // "vendor/class"
  std::vector<Device> devices;
  bool operator==(const Spec&) const = default;
};

/// The lowest version of the format that carries what is used.
/// 0.5.0 where there are device nodes (hostPath) or a device's name begins with a digit, else 0.3.0: an older
/// runtime refuses what is newer than it.
std::string_view version_of(const Spec& spec);

inline constexpr size_t kSpecBytesMax = size_t{1} << 20;

/// kInvalid with field, value and rule for what a runtime would refuse, and for a variable with a control character; kTooLarge beyond
/// kSpecBytesMax.
Result<std::string> encode_spec(const Spec& spec);
/// Of a text that encode_spec() has written, whoever has edited it since; fields unknown here are ignored.
Result<Spec> decode_spec(std::string_view text);

/// "vendor/class=device", as a kubelet hands it to a runtime.
std::string qualified_name(std::string_view kind, std::string_view device);

/// Name of the file of a spec that lasts as long as something with that id:
/// "vendor-class_id.yaml", the name that CDI's own library gives it. JSON is YAML.
std::string transient_file(std::string_view kind, std::string_view id);
/// "vendor_class_id.json", the name that Kubernetes' library for DRA drivers gives a spec that mounts device
/// metadata.
std::string metadata_file(std::string_view kind, std::string_view id);

/// Letters and digits at both ends, and "_-.:" between them.
bool is_device_name(std::string_view text);

}  // namespace sliced::cdi
