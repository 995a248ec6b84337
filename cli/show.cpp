#include "cli/show.h"

#include <algorithm>
#include <set>

#include "daemon/status/verdict_table.h"
#include "hotplug/visit_facts.h"
#include "kube/objects/yaml.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using hotplug::HostDevice;
using kube::Json;
using kube::ResourceSlice;

// Unknown facts are omitted.
void put(Json& map, std::string_view key, const std::string& text) {
  if (!text.empty()) map.set(key, is_utf8(text) ? Json(text) : Json(escaped(text)));
}
template <class T>
void put(Json& map, std::string_view key, const std::optional<T>& value) {
  if (value) map.set(key, Json(*value));
}
void put(Json& map, std::string_view key, const std::optional<hotplug::PciAddress>& address) {
  if (address) map.set(key, address->text());
}
void put(Json& map, std::string_view key, int number) { map.set(key, number); }

// Only the ports of a switch differ in their flavour.
std::string port_of(const hotplug::Netdev& netdev) {
  const std::string& flavour = netdev.port_flavour;
  if (netdev.phys_switch_id.empty() || !flavour.starts_with("p")) return "";
  return flavour == "physical" ? "uplink"
         : flavour == "pcipf"  ? "PF representor"
         : flavour == "pcivf"  ? "VF representor"
                               : "SF representor";
}

std::string state_of(const HostDevice& device) {
  if (!device.broken.empty()) return device.broken;
  if (!device.host_use.empty()) return device.host_use;
  if (!device.netdev) return "";
  const std::string port = port_of(*device.netdev);
  return device.netdev->oper_state + (device.netdev->oper_state.empty() || port.empty() ? "" : ", ") + port;
}

std::string numa_of(const HostDevice& device) {
  return device.numa_node ? std::to_string(*device.numa_node) : "";
}

std::string pf_of(const HostDevice& device) {
  if (!device.pf) return {};
  const std::string pf = device.pf_name.empty() ? device.pf->text() : device.pf_name;
  return device.vf_index ? pf + "#" + std::to_string(*device.vf_index) : pf;
}

Json json_of_netdev(const hotplug::Netdev& netdev) {
  Json out = Json::Object{};
  put(out, "name", netdev.name);
  if (netdev.ifindex > 0) out.set("ifindex", netdev.ifindex);
  if (!netdev.alternative_names.empty()) {
    Json::Array names;
    for (const std::string& name : netdev.alternative_names) names.push_back(name);
    out.set("altNames", std::move(names));
  }
  if (netdev.is_netns_immutable) out.set("netnsImmutable", *netdev.is_netns_immutable);
  put(out, "mac", netdev.mac);
  put(out, "mtu", netdev.mtu);
  put(out, "linkType", netdev.link_type);
  put(out, "operState", netdev.oper_state);
  put(out, "speedMbps", netdev.speed_mbps);
  put(out, "master", netdev.master);
  put(out, "physSwitchId", netdev.phys_switch_id);
  put(out, "physPortName", netdev.phys_port_name);
  put(out, "portFlavour", netdev.port_flavour);
  if (netdev.carries_default_route) out.set("carriesDefaultRoute", true);
  if (netdev.stale) out.set("away", true);
  return out;
}

// The planned slices by name, each with its change.
struct PlannedChange {
  const char* what;
  const ResourceSlice* after;  // nullptr: deleted
};
std::map<std::string, PlannedChange> changes_of(const publishers::SliceChanges& plan) {
  std::map<std::string, PlannedChange> out;
  for (const auto& removal : plan.deletes) out[removal.name] = {"delete", nullptr};
  for (const auto& slice : plan.updates) out[slice.meta.name] = {"update", &slice};
  for (const auto& slice : plan.creates) out[slice.meta.name] = {"create", &slice};
  return out;
}

using Leaves = std::map<std::string, std::string>;  // text by path: "capacity.dra.networking/macvlans.value"

std::string leaf_text(const Json& value) {
  return value.string() != nullptr ? *value.string() : kube::encode_json(value);
}

// Items of lists are identified by their key.
std::string path_of_item(const Json& item, size_t index) {
  for (const char* key : {"name", "counterSet", "key"})
    if (const std::string_view name = item.text(key); !name.empty()) return std::string(name);
  return std::to_string(index);
}

void add_leaves(Leaves& out, const std::string& path, const Json& value) {
  const std::string in = path.empty() ? "" : path + ".";
  if (const auto* members = value.object()) {
    for (const auto& [key, member] : *members)
      if (key != "name" && key != "counterSet") add_leaves(out, in + key, member);
  } else if (const auto* items = value.array()) {
    for (size_t i = 0; i < items->size(); ++i)
      add_leaves(out, in + path_of_item((*items)[i], i), (*items)[i]);
  } else {
    out[path] = leaf_text(value);
  }
}

// Returns the leaves of a device, in the API's form with abbreviated attributes.
Leaves leaves_of(const kube::Device& device) {
  kube::Device rest = device;
  rest.attributes = {};
  const Json slice = kube::encode_resource_slice({.devices = {rest}});
  Leaves out;
  add_leaves(out, "", slice.find({"spec", "devices"})->array()->at(0));
  for (const auto& [key, value] : device.attributes) out[key.str()] = kube::describe_attribute(value);
  return out;
}
Leaves leaves_of(const ResourceSlice* slice) {
  Leaves out;
  if (slice == nullptr || slice->shared_counters.empty()) return out;
  const Json encoded = kube::encode_resource_slice({.shared_counters = slice->shared_counters});
  add_leaves(out, "sharedCounters", *encoded.find({"spec", "sharedCounters"}));
  return out;
}

void diff_leaves(std::string& out, const std::string& what, const Leaves& before, const Leaves& after) {
  std::set<std::string> paths;
  for (const Leaves* leaves : {&before, &after})
    for (const auto& [path, text] : *leaves) paths.insert(path);
  const auto at = [](const Leaves& leaves, const std::string& path) {
    const auto found = leaves.find(path);
    return found == leaves.end() ? "absent" : found->second;
  };
  for (const std::string& path : paths)
    if (const std::string was = at(before, path), is = at(after, path); was != is)
      out += "  ~ " + what + path + ": " + was + " -> " + is + "\n";
}

void diff_slice(std::string& out, const ResourceSlice* before, const ResourceSlice* after) {
  std::map<std::string, const kube::Device*> old;
  if (before != nullptr)
    for (const kube::Device& device : before->devices) old[device.name] = &device;
  if (after != nullptr) {
    for (const kube::Device& device : after->devices) {
      const auto at = old.find(device.name);
      if (at == old.end()) {
        out += "  + " + device.name + "\n";
      } else {
        if (*at->second != device)
          diff_leaves(out, device.name + " ", leaves_of(*at->second), leaves_of(device));
        old.erase(at);
      }
    }
  }
  for (const auto& [name, device] : old) out += "  - " + name + "\n";
  diff_leaves(out, "", leaves_of(before), leaves_of(after));
}

}  // namespace

Json json_of(const HostDevice& device) {
  Json out = Json::Object{};
  out.set("id", is_utf8(device.id.text) ? device.id.text : escaped(device.id.text));
  out.set("type", hotplug::name_of(device.type));
  hotplug::visit_facts(device, [&](const char* name, const auto& fact) { put(out, name, fact); });
  put(out, "hostUse", device.host_use);
  put(out, "broken", device.broken);
  if (device.netdev) out.set("netdev", json_of_netdev(*device.netdev));
  Json::Array others;
  for (const hotplug::Netdev& port : device.other_netdevs) others.push_back(json_of_netdev(port));
  if (!others.empty()) out.set("otherPorts", Json(std::move(others)));
  if (!device.iommu_partners.empty()) {
    kube::Json::Array partners;
    for (const hotplug::PciAddress& partner : device.iommu_partners) partners.push_back(partner.text());
    out.set("iommuGroupPartners", std::move(partners));
  }
  Json::Array vdpas;
  for (const hotplug::VdpaDevice& one : device.other_vdpas) {
    Json vdpa = Json::Object{};
    put(vdpa, "vdpa", one.driver);
    put(vdpa, "vdpaDevice", one.name);
    put(vdpa, "vdpaNode", one.node);
    vdpas.push_back(std::move(vdpa));
  }
  if (!vdpas.empty()) out.set("otherVdpaDevices", std::move(vdpas));
  if (!device.pkeys.empty()) out.set("pKeys", Json::Array(device.pkeys.begin(), device.pkeys.end()));
  if (!device.unreadable.empty()) {
    Json::Array facts;
    for (const std::string& fact : device.unreadable) facts.push_back(escaped(fact));
    out.set("unreadable", std::move(facts));
  }
  return out;
}

std::string devices_table(const hotplug::Inventory& inventory) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [id, device] : inventory.devices)
    rows.push_back({id, std::string(name_of(device.type)), status::interface_text(device), device.driver,
                    numa_of(device), pf_of(device), state_of(device)});
  return table({"DEVICE", "TYPE", "INTERFACE", "DRIVER", "NUMA", "PF", "STATE"}, rows);
}

std::string formatted(const Json& value, config::OutputFormat format) {
  return format == config::OutputFormat::kYaml ? kube::encode_yaml(value) : kube::encode_json_pretty(value);
}

std::vector<ResourceSlice> slices_after(const publishers::SliceChanges& plan,
                                        const publishers::ObservedSlices& observed) {
  const auto changes = changes_of(plan);
  std::map<std::string, ResourceSlice> after;
  for (const auto& [name, slice] : observed)
    if (!changes.contains(name)) after[name] = slice;
  for (const auto& [name, change] : changes)
    if (change.after != nullptr) after[name] = *change.after;
  std::vector<ResourceSlice> out;
  for (auto& [name, slice] : after) {
    slice.meta.uid.clear();
    slice.meta.resource_version.clear();
    slice.meta.generation = 0;
    out.push_back(std::move(slice));
  }
  return out;
}

std::string plan_table(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](const ResourceSlice& slice, const char* change) {
    rows.push_back({slice.pool.name, slice.meta.name, std::to_string(slice.pool.generation),
                    std::to_string(slice.devices.size()), change});
  };
  const auto changes = changes_of(plan);
  for (const auto& [name, slice] : observed)
    if (!changes.contains(name)) row(slice, "none");
  for (const auto& [name, change] : changes) {
    const auto old = observed.find(name);
    row(change.after != nullptr ? *change.after : old->second, change.what);
  }
  std::sort(rows.begin(), rows.end());
  return table({"POOL", "SLICE", "GENERATION", "DEVICES", "CHANGE"}, rows);
}

std::string plan_diff(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed) {
  std::string out;
  for (const auto& [name, change] : changes_of(plan)) {
    const auto old = observed.find(name);
    out += std::string(change.what) + " " + name + "\n";
    diff_slice(out, old == observed.end() ? nullptr : &old->second, change.after);
  }
  return out;
}

}  // namespace sliced::cli
