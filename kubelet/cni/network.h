#pragma once
// A network of a NetworkAttachmentDefinition (k8s.cni.cncf.io/v1) as a chain of CNI plugins, and what each
// plugin of it is told (CNI specification 1.1.0, sections 1 and 3; libcni's buildOneConfig).
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

/// A chain. Everything in it was checked.
struct Network {
  std::string name, cni_version;
  bool is_check_disabled = false;
  std::vector<PluginConfig> plugins;  // at least one
  bool operator==(const Network&) const = default;
};

/// config: the JSON of spec.config, of one plugin or of a list of them. name: what a config without one is
/// called (the definition's own name, as Multus does). Of `cniVersions` the newest that is known is taken; of
/// none at all, 0.3.1.
/// Errors: kInvalid, kTooLarge; name the field, the value and the remedy.
/// Bounds: 256 KiB, 24 levels, 20,000 values, 16 plugins.
Result<Network> decode_network(std::string_view config, std::string_view name);

/// spec.config of a NetworkAttachmentDefinition. Errors: kInvalid (another kind; no config: one that names a
/// file of the node's is not read).
Result<std::string> config_of_definition(const kube::Json& object);

/// The `type` of the only plugin in the config of a network that sliced attaches by itself. No program has it, and no definition may name it
/// (canonical_definition()).
inline constexpr std::string_view kNativePlugin = "sliced-native";
inline bool is_native(const Network& network) { return network.plugins.front().type == kNativePlugin; }

/// An interface in a sandbox that a network makes or has made.
struct Attachment {
  std::string container_id;                                    // the sandbox's
  std::string network_namespace;                               // path of its file; for DEL it may be "": gone
  std::string interface;                                       // its name in there
  std::vector<std::pair<std::string, std::string>> arguments;  // CNI_ARGS
  std::string device;       // PCI address: `deviceID` and `pciBusID` of every plugin; "" none
  kube::Json capabilities;  // a map of `runtimeConfig`; a plugin gets those that it lists in `capabilities`
  bool operator==(const Attachment&) const = default;
};

/// What libcni refuses, and what would lead out of an argument or a file name. Errors: kInvalid.
Result<Unit> check(const Attachment& attachment);

enum class Command { kAdd, kCheck, kDel };
std::string_view name_of(Command command);  // "ADD"

/// Standard input of the plugin at `index`.
/// The plugin's own configuration with name, cniVersion, prevResult, the device and `runtimeConfig` set: what
/// it has of these itself is replaced.
std::string input_for(const Network& network, size_t index, const Attachment& attachment,
                      const std::optional<Attached>& previous);
/// Its environment: ours, with CNI_* of this call.
std::vector<std::string> environment_for(Command command, const Attachment& attachment,
                                         const std::vector<std::string>& directories,
                                         const std::vector<std::string>& ours);

}  // namespace sliced::cni
