#pragma once
// A network of a NetworkAttachmentDefinition (k8s.cni.cncf.io/v1) as a chain of CNI plugins, and the input of
// each plugin (CNI specification 1.1.0, sections 1 and 3; libcni's buildOneConfig).
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/json.h"
#include "kubelet/cni/names.h"
#include "kubelet/cni/result.h"
#include "reactor/base/result.h"

namespace sliced::cni {

inline constexpr size_t kConfigBytesMax = 256u << 10;  // of spec.config
inline constexpr size_t kPluginsMax = 16;

/// One plugin of a chain.
struct PluginConfig {
  std::string type;  // a bare file name, looked up in the plugin directories
  kube::Json config;
  bool operator==(const PluginConfig&) const = default;
};

/// A validated chain.
struct Network {
  std::string name, cni_version;
  bool is_check_disabled = false;
  std::vector<PluginConfig> plugins;  // at least one
  bool operator==(const Network&) const = default;
};

/// Decodes spec.config, the JSON of one plugin or of a list. name: of a config without one (the definition's
/// own name, as Multus does). The newest known version of `cniVersions` is used; without any, 0.3.1.
/// Errors: kInvalid, kTooLarge; each names the field, the value and the remedy. Bounds: 256 KiB, 24 levels,
/// 20,000 values, 16 plugins.
Result<Network> decode_network(std::string_view config, std::string_view name);

/// Returns spec.config of a NetworkAttachmentDefinition. Errors: kInvalid for another kind, or without a
/// config: a config that refers to a file on the node is not read.
Result<std::string> config_of_definition(const kube::Json& object);

/// The `type` of the only plugin in the config of a network that sliced attaches itself. No program has it,
/// and no definition may contain it (canonical_definition()).
inline constexpr std::string_view kNativePlugin = "sliced-native";
inline bool is_native(const Network& network) { return network.plugins.front().type == kNativePlugin; }

/// The interface of a network in a sandbox.
struct Attachment {
  std::string container_id;  // the sandbox's
  // path of its file; for DEL "" if it no longer exists
  std::string network_namespace;
  std::string interface;                                       // its name in the sandbox
  std::vector<std::pair<std::string, std::string>> arguments;  // CNI_ARGS
  std::string device;       // PCI address: `deviceID` and `pciBusID` of every plugin; "" if none
  kube::Json capabilities;  // a map for `runtimeConfig`; a plugin gets those that it lists in `capabilities`
  bool operator==(const Attachment&) const = default;
};

/// Refuses values that libcni refuses, and values that could lead out of an argument or a file name. Errors:
/// kInvalid.
Result<Unit> check(const Attachment& attachment);

enum class Command { kAdd, kCheck, kDel };
std::string_view name_of(Command command);  // "ADD"

/// Returns the standard input of the plugin at `index`: its configuration with name, cniVersion, prevResult,
/// the device and `runtimeConfig`, which replace values of its own.
std::string input_for(const Network& network, size_t index, const Attachment& attachment,
                      const std::optional<Attached>& previous);
/// Returns the plugin's environment: `ours` with CNI_* of this call.
std::vector<std::string> environment_for(Command command, const Attachment& attachment,
                                         const std::vector<std::string>& directories,
                                         const std::vector<std::string>& ours);

}  // namespace sliced::cni
