#pragma once
// Reads the configuration of sriov-network-device-plugin: a ConfigMap, or its JSON alone
// (k8snetworkplumbingwg/sriov-network-device-plugin, README.md, "Configurations"). Pure.
//
// The result gives pods the same devices under the policies of objects.h. Anything that would not is an error
// with a remedy: a selector on a fact that sliced does not have, a field that the plugin ignores, a value
// that the plugin compares as text and that never matches.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/plugin_resource.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// The device plugin's own default of --resource-prefix.
inline constexpr std::string_view kPluginsPrefix = "intel.com";

/// The lines of a file; index 0 is line 1.
using Lines = std::vector<std::string_view>;

/// Returns true if the document is the JSON of a configuration, and no Kubernetes object.
bool is_plugin_config(const kube::Json& document);
/// Returns true if the ConfigMap contains configurations.
bool is_plugin_config_map(const kube::Json& object);

/// Adds the configuration in the text of a file, for which is_plugin_config() is true. Its JSON is read as
/// strictly as by the plugin. A configuration has at most 1,000 resources, as many as DeviceExposurePolicies
/// have priorities.
void read_plugin_config(const std::string& file, std::string_view text, const PluginSettings& settings,
                        std::vector<Config>& out, Complaints& complaints);
/// Adds the configuration of each key of the ConfigMap (docs/config-file of the plugin):
/// - config.json, and a single key of any name, apply to every node;
/// - with several keys, each applies to the node of that name;
/// - a ConfigMap of the SR-IOV network operator has a key for each node, and resources of openshift.io.
/// lines: of the file. They give the lines inside a YAML block.
void read_plugin_config_map(const kube::Json& object, const std::string& file, const Lines& lines,
                            const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints);

/// A configuration inside an object of another kind or inside a chart's values: a text with its JSON, or a
/// map with resourceList. path: such as "spec.sriovDevicePlugin.config". value: points into the document.
struct Embedded {
  std::string path;
  const kube::Json* value;
};
std::vector<Embedded> embedded_configs(const kube::Json& value, const std::string& path = "", int depth = 0);
/// Adds the configuration for these nodes. name: the name of the new objects.
void read_embedded_config(const kube::Json& value, const std::string& file, const std::string& origin,
                          const std::string& name, const Nodes& nodes, const Lines& lines,
                          const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints);

/// Adds an error for each pair of configurations that select the same node: a node's plugin reads one.
void check_one_config_a_node(const std::vector<Config>& configs, Complaints& complaints);

}  // namespace sliced::migrate
