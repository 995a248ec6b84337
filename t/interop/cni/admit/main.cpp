// What of a NetworkAttachmentDefinition reaches CNI plugins, for the Go test above it. Each line of standard input is a case:
//   {"config": "...", "pci": "0000:3b:01.0", "interface": "ens1f0v0", "exclusive": true, "plugins": ["sriov"]}
// config: spec.config. plugins: supportedCNIPlugins of the device's policy. The answer is one line:
//   {"refused": "why"}  or  {"network": "...", "inputs": ["...", ...]}
// network: the text that is kept with the prepared claim. inputs: what each plugin of the chain reads at ADD.
#include <iostream>
#include <optional>
#include <string>

#include "kube/objects/json.h"
#include "kubelet/cni/network.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/interfaces/networks.h"

using namespace sliced;
using kube::Json;

namespace {

std::string text_of(const Json& from, std::string_view key) { return std::string(from.text(key)); }

bool is_set(const Json& from, std::string_view key) {
  const Json* value = from.find(key);
  return value != nullptr && value->boolean() != nullptr && *value->boolean();
}

// The fields of each plugin's table.
Json tables() {
  Json::Object out;
  for (const auto& plugins : {cni::all_plugins(), cni::all_ipam_plugins()})
    for (const cni::PluginFields& plugin : plugins) {
      Json::Array names;
      for (const cni::Field& field : plugin.fields) names.emplace_back(field.name);
      out.emplace_back(plugin.type, std::move(names));
    }
  return Json(std::move(out));
}

Json answer(const Json& from) {
  if (is_set(from, "tables")) return tables();
  kubelet::PreparedDevice device{.request = "vf",
                                 .device = "dev",
                                 .pci = text_of(from, "pci"),
                                 .interface = text_of(from, "interface"),
                                 .config = {.nad_namespace = "ns", .nad_name = "nad"}};
  device.holding.is_exclusive = is_set(from, "exclusive");
  if (!device.holding.is_exclusive) device.share_id = "share";
  kubelet::KnownEntry known;
  known.device.type = hotplug::DeviceType::kBridge;  // any plugin may stand on one
  if (const Json* plugins = from.find("plugins"); plugins != nullptr && plugins->array() != nullptr) {
    known.cni_plugins.emplace();
    for (const Json& plugin : *plugins->array()) known.cni_plugins->push_back(*plugin.string());
  }
  const auto network = kubelet::network_for(device, known, from.text("config"));
  if (!network) return Json::Object{{"refused", network.error().what}};
  const auto chain = cni::decode_network(*network, "nad");
  if (!chain) return Json::Object{{"refused", "kept and not readable: " + chain.error().what}};
  const cni::Attachment attachment{.container_id = "c0",
                                   .network_namespace = "/run/netns/pod",
                                   .interface = "net1",
                                   .device = device.holding.is_exclusive ? device.pci : ""};
  Json::Array inputs;
  for (size_t i = 0; i < chain->plugins.size(); ++i)
    inputs.emplace_back(cni::input_for(*chain, i, attachment, std::nullopt));
  return Json::Object{{"network", *network}, {"inputs", std::move(inputs)}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto from = kube::decode_json(line);
    std::cout << kube::encode_json(from ? answer(*from) : Json(Json::Object{{"refused", from.error().what}}))
              << '\n';
  }
  return 0;
}
