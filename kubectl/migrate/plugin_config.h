#pragma once
// The configuration of sriov-network-device-plugin: a ConfigMap with it, or its JSON alone
// (k8snetworkplumbingwg/sriov-network-device-plugin, README.md, "Configurations"). Pure.
//
// What is read gives pods the same devices under the policies of objects.h. Whatever would not is an error, with
// what to do: a selector that we have no fact for, a field that the plugin itself passes over, a value that it
// compares as text and that never matches.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/plugin_resource.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// Of a file, by number less one.
using Lines = std::vector<std::string_view>;

/// Whether the document is the JSON of a configuration, and no object of Kubernetes.
bool is_plugin_config(const kube::Json& document);
/// Whether the ConfigMap holds configurations.
bool is_plugin_config_map(const kube::Json& object);

/// Adds what the whole text of a file says, which is_plugin_config(). Its JSON is read as strictly as the plugin
/// does. At most 1,000 resources in one configuration, as many as there are priorities of DeviceExposurePolicies.
void read_plugin_config(const std::string& file, std::string_view text, const PluginSettings& settings,
                        std::vector<Config>& out, Complaints& complaints);
/// Adds what each key of the ConfigMap says. config.json, and the only key whatever its name, is for every node; of several
/// keys each is for the node of that name (docs/config-file of the plugin). A ConfigMap that the SR-IOV network operator
/// writes has a key for each node, and resources of openshift.io.
/// lines: of the file, which tell where those of a block stand.
void read_plugin_config_map(const kube::Json& object, const std::string& file, const Lines& lines,
                            const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints);

/// A configuration in an object of another kind, or in the values of a chart: a text with its JSON, or a map with
/// resourceList. path: "spec.sriovDevicePlugin.config". value: of the document.
struct Embedded {
  std::string path;
  const kube::Json* value;
};
std::vector<Embedded> embedded_configs(const kube::Json& value, const std::string& path = "", int depth = 0);
/// Adds it for these nodes. name: of the objects that are made of it.
void read_embedded_config(const kube::Json& value, const std::string& file, const std::string& origin,
                          const std::string& name, const Nodes& nodes, const Lines& lines,
                          const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints);

/// A node has one configuration of the plugin: two for the same are an error.
void check_one_config_a_node(const std::vector<Config>& configs, Complaints& complaints);

}  // namespace sliced::migrate
