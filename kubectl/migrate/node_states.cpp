#include "kubectl/migrate/node_states.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "hotplug/facts.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr size_t kInterfacesMax = 1'024;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

size_t end_of_spaces(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}
size_t end_of_word(std::string_view text, size_t at) {
  while (at < text.size() && !is_space(text[at])) ++at;
  return at;
}

// Returns the first match of the operator's pattern (?m)^\s*([^\s]+)\s*:\s*([^\s]+). The key is as long as
// possible.
std::optional<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view text) {
  for (size_t line = 0; line <= text.size();) {
    const size_t start = end_of_spaces(text, line), end = end_of_word(text, start);
    for (size_t key_end = end; key_end > start; --key_end) {
      const size_t colon = key_end == end ? end_of_spaces(text, end) : key_end;
      if (colon >= text.size() || text[colon] != ':') continue;
      const size_t value = end_of_spaces(text, colon + 1), value_end = end_of_word(text, value);
      if (value_end > value)
        return std::pair(text.substr(start, key_end - start), text.substr(value, value_end - value));
    }
    const size_t next = text.find('\n', line);
    if (next == std::string_view::npos) break;
    line = next + 1;
  }
  return std::nullopt;
}

const Json::Array& list_of_state(const Json& in, std::string_view field) {
  static const Json::Array none;
  const Json* list = in.find(field);
  return list != nullptr && list->array() != nullptr ? *list->array() : none;
}

NodeInterfaces::Interface read_interface(const Json& value) {
  NodeInterfaces::Interface out{.name = std::string(value.text("name")),
                                .pci_address = std::string(value.text("pciAddress")),
                                .device_id = std::string(value.text("deviceID")),
                                .net_filter = std::string(value.text("netFilter"))};
  for (const Json& name : list_of_state(value, "altNames"))
    if (name.string() != nullptr) out.alternative_names.push_back(*name.string());
  for (const Json& vf : list_of_state(value, "Vfs")) {
    const std::string id(vf.text("deviceID"));
    out.is_own_vf |= vf.text("pciAddress") == out.pci_address;
    if (!id.empty() && std::find(out.vf_ids.begin(), out.vf_ids.end(), id) == out.vf_ids.end())
      out.vf_ids.push_back(id);
  }
  return out;
}

}  // namespace

std::vector<std::string> NodeInterfaces::addresses_of(std::string_view net_filter) const {
  std::vector<std::string> out;
  for (const Interface& one : interfaces)
    if (is_same_net_filter(net_filter, one.net_filter) &&
        std::find(out.begin(), out.end(), one.pci_address) == out.end())
      out.push_back(one.pci_address);
  return out;
}

bool NodeInterfaces::has_name(const std::string& name) const {
  return std::any_of(interfaces.begin(), interfaces.end(), [&](const Interface& one) {
    return one.name == name || std::find(one.alternative_names.begin(), one.alternative_names.end(), name) !=
                                   one.alternative_names.end();
  });
}

std::string NodeInterfaces::resolved(const std::string& name) const {
  for (const Interface& one : interfaces)
    if (one.name == name || std::find(one.alternative_names.begin(), one.alternative_names.end(), name) !=
                                one.alternative_names.end())
      return one.name;
  return name;
}

bool is_node_state(const Json& object) {
  return object.text("kind") == "SriovNetworkNodeState" &&
         object.text("apiVersion").starts_with("sriovnetwork.openshift.io/");
}

void read_node_state(const Json& object, const std::string& file, std::vector<NodeInterfaces>& out,
                     Complaints& complaints) {
  const Json* meta = object.find("metadata");
  NodeInterfaces state{.place = {file, object.line()},
                       .node = std::string(meta != nullptr ? meta->text("name") : "")};
  const std::string who = "SriovNetworkNodeState " + escaped(state.node);
  const auto other =
      std::find_if(out.begin(), out.end(), [&](const auto& one) { return one.node == state.node; });
  if (other != out.end())
    return complaints.error(state.place, who + " is also in " + escaped(other->place.file) + ":" +
                                             std::to_string(other->place.line) +
                                             ": keep the one that the cluster has");
  const Json* list = object.find({"status", "interfaces"});
  if (list == nullptr || list->is_null()) {
    complaints.warning(state.place, who +
                                        " has no status.interfaces: the operator's daemon has not "
                                        "reported the node, and policies are read without it");
    return;
  }
  if (list->array() == nullptr)
    return complaints.error({file, list->line()}, who + ": status.interfaces is a " +
                                                      std::string(list->kind_name()) + ", expected a list");
  if (list->array()->size() > kInterfacesMax)
    return complaints.error({file, list->line()},
                            who + ": status.interfaces has " + std::to_string(list->array()->size()) +
                                " entries, at most " + std::to_string(kInterfacesMax) + " are read");
  for (const Json& value : *list->array()) {
    state.interfaces.push_back(read_interface(value));
    const std::string& text = state.interfaces.back().pci_address;
    const auto address = hotplug::PciAddress::decode(text);
    if (!address || address->text() != text)
      complaints.error({file, value.line()}, who + ": status.interfaces: pciAddress is " +
                                                 in_quotes(text, 64) +
                                                 ", expected an address such as \"0000:3b:00.0\"");
  }
  out.push_back(std::move(state));
}

VfIds ids_of(const std::vector<NodeInterfaces>& states) {
  std::map<std::string, std::set<std::string>> all;
  for (const NodeInterfaces& state : states)
    for (const NodeInterfaces::Interface& one : state.interfaces) {
      if (one.device_id.empty()) continue;
      if (one.is_own_vf)
        all[one.device_id].insert("");
      else
        all[one.device_id].insert(one.vf_ids.begin(), one.vf_ids.end());
    }
  VfIds out;
  for (const auto& [pf, vfs] : all)
    if (vfs.size() == 1) out.emplace(pf, *vfs.begin());
  return out;
}

bool is_same_net_filter(std::string_view a, std::string_view b) {
  const auto one = key_and_value(a);
  return one && one == key_and_value(b);
}

}  // namespace sliced::migrate
