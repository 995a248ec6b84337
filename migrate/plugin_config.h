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

#include "kube/json.h"
#include "migrate/plugin_resource.h"
#include "migrate/pool.h"

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
/// Adds what each key of the ConfigMap says: config.json is for every node, any other key for the node of that
/// name (docs/config-file of the plugin). lines: of the file, which tell where those of a block stand.
void read_plugin_config_map(const kube::Json& object, const std::string& file, const Lines& lines,
                            const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints);

/// A node has one configuration of the plugin: two for the same are an error.
void check_one_config_a_node(const std::vector<Config>& configs, Complaints& complaints);

}  // namespace sliced::migrate
