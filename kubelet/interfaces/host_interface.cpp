#include "kubelet/interfaces/host_interface.h"

#include <fcntl.h>
#include <linux/if_link.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "kube/objects/json.h"
#include "kubelet/cni/names.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/hardware.h"
#include "kubelet/host_link.h"
#include "kubelet/interfaces/native_interface.h"
#include "kubelet/native_network.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr int kDefaultMtu = 1'500;             // ETH_DATA_LEN, of a bridge without ports
constexpr std::string_view kAddressSet = "3";  // NET_ADDR_SET of addr_assign_type

bool has_own_address(const std::string& bridge) {
  const auto type = reactor::read_whole("/sys/class/net/" + bridge + "/addr_assign_type", 16);
  return type && trim(*type) == kAddressSet;
}

bool has_no_ports(const std::string& bridge) {
  std::error_code error;
  return std::filesystem::is_empty("/sys/class/net/" + bridge + "/brif", error) && !error;
}

Result<Unit> change(const HostLink& bridge, const LinkChange& wanted) {
  auto changed = change_link(kOwnNamespace, bridge.ifindex, wanted);
  if (!changed)
    return std::move(changed.error())
        .in("bridge " + escaped(bridge.name) +
            " cannot keep its MAC address and MTU; set them by ip link set dev " + escaped(bridge.name) +
            " address " + bridge.mac + " mtu " + std::to_string(bridge.mtu));
  return Unit{};
}

Result<Unit> pin(const HostLink& bridge) {
  // A bridge without ports has no address to keep.
  const bool has_address = bridge.mac.find_first_not_of("0:") != std::string::npos;
  if (has_address && !has_own_address(bridge.name))
    if (auto set = change(bridge, {.mac = bridge.mac}); !set) return set;
  if (bridge.mtu == kDefaultMtu || !has_no_ports(bridge.name)) return Unit{};
  // The kernel ignores a request that sets the present MTU.
  const int beside = bridge.mtu < kDefaultMtu ? bridge.mtu + 1 : bridge.mtu - 1;
  if (auto set = change(bridge, {.mtu = beside}); !set) return set;
  return change(bridge, {.mtu = bridge.mtu});
}

Result<Unit> keep_one(Json& plugin, const std::vector<HostLink>& links) {
  const std::string_view name = plugin.text("bridge");
  const bool is_native = plugin.text("type") == cni::kNativePlugin;
  const auto bridge =
      std::find_if(links.begin(), links.end(), [&](const HostLink& link) { return link.name == name; });
  if (bridge == links.end() || bridge->kind != "bridge")
    return Error{Errc::kNotFound,
                 "bridge " + in_quotes(name, 64) + " is not on the host" +
                     (is_native ? "" : ", and the plugin bridge would make one") +
                     ": create it, or delete the pod, so that it is allocated another device"};
  if (!bridge->is_up)
    return Error{Errc::kInvalid, "bridge " + in_quotes(name, 64) + " is down" +
                                     (is_native ? "" : ", and the plugin bridge would set it up") +
                                     ": set it up by ip link set dev " + escaped(name) + " up"};
  if (auto pinned = pin(*bridge); !pinned) return pinned;
  const Json* mtu = plugin.find("mtu");
  if (mtu == nullptr || mtu->integer() == nullptr || *mtu->integer() == 0)
    plugin.set("mtu", Json(bridge->mtu));
  return Unit{};
}

// Returns the mode that the plugin sets. It also sets the flags to 0.
int ipvlan_mode_of(const Json& plugin) {
  const std::string_view mode = plugin.text("mode");
  return mode == "l3" ? IPVLAN_MODE_L3 : mode == "l3s" ? IPVLAN_MODE_L3S : IPVLAN_MODE_L2;
}

// Returns whether the first plugin of the network moves the device's interface into the sandbox.
bool moves_interface(const cni::Record& record) {
  if (!record.host_interface) return false;
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || network->plugins.empty()) return false;
  if (cni::is_native(*network)) return true;
  const cni::PluginFields* fields = cni::plugin_fields(network->plugins.front().type);
  return fields != nullptr && fields->takes_whole && fields->use == cni::Use::kMain;
}

// Another function can have got the name while the interface is in the pod.
bool belongs_to_another(const cni::Record& record, const std::string& interface) {
  const auto view = record.hardware.empty() ? Error{Errc::kNotFound, ""} : hotplug::open_host_view("/");
  if (!view) return false;
  const std::string owner = hardware_of_interface(**view, interface);
  return !owner.empty() && owner != record.hardware;
}

MovedLink moved_link(const cni::Record& record) {
  return {.pci = record.attachment.device,
          .name = record.host_interface->name,
          .kind = record.host_interface->kind,
          .name_in_pod = record.attachment.interface,
          .ifindex_in_pod = record.host_interface->ifindex_in_pod};
}

}  // namespace

Result<Unit> check_ipvlan(const kube::Json& plugin, const std::vector<HostLink>& links) {
  const std::string_view name = plugin.text("master");
  const auto master =
      std::find_if(links.begin(), links.end(), [&](const HostLink& link) { return link.name == name; });
  if (master == links.end()) return Unit{};
  for (const HostLink& link : links)
    if (link.kind == "ipvlan" && link.lower == master->ifindex &&
        (link.ipvlan_mode != ipvlan_mode_of(plugin) || link.ipvlan_flags != 0))
      return Error{
          Errc::kConflict,
          "interface " + in_quotes(link.name, 64) + " of the host is an ipvlan interface of " +
              in_quotes(name, 64) +
              " with another mode or with the flag private or vepa, and the plugin ipvlan would change "
              "it: change that interface, or offer another device"};
  return Unit{};
}

Result<Unit> protect_bridge(cni::Record& record) {
  auto config = kube::decode_json(record.config);
  if (!config) return std::move(config.error());
  const Json* list = config->find("plugins");
  const bool is_list = list != nullptr && list->array() != nullptr;
  Json::Array plugins = is_list ? *list->array() : Json::Array{*config};
  const auto is_bridge = [](const Json& plugin) { return made_by_plugin(plugin) == "bridge"; };
  const auto is_ipvlan = [](const Json& plugin) { return made_by_plugin(plugin) == "ipvlan"; };
  if (std::none_of(plugins.begin(), plugins.end(),
                   [&](const Json& plugin) { return is_bridge(plugin) || is_ipvlan(plugin); }))
    return Unit{};
  // pin() sets the MTU of a bridge twice. Another worker must not read the value in between.
  static std::mutex alone;
  const std::lock_guard held(alone);
  const auto links = read_links(kOwnNamespace);
  if (!links) return links.error();
  for (Json& plugin : plugins) {
    if (is_ipvlan(plugin))
      if (auto good = check_ipvlan(plugin, *links); !good) return good;
    if (is_bridge(plugin))
      if (auto kept = keep_one(plugin, *links); !kept) return kept;
  }
  if (is_list)
    config->set("plugins", Json(std::move(plugins)));
  else
    *config = std::move(plugins.front());
  record.config = kube::encode_json(*config);
  return Unit{};
}

Result<Unit> use_present_names(cni::Record& record, const hotplug::HostView& view) {
  if (record.hardware.empty()) return Unit{};
  const std::string remembered = record.host_interface ? record.host_interface->name : "";
  bool names_interface = false;
  const std::string name = interface_of_hardware(view, record.hardware, remembered);
  std::string config =
      with_host_names(record.config, name, rdma_device_of_hardware(view, record.hardware), &names_interface);
  if (name.empty() && names_interface)
    return Error{Errc::kNotFound, "device " + record.hardware +
                                      " has no interface in the network namespace of the host, where the CNI "
                                      "plugin is to find one: bring the interface back, or bind its driver"};
  record.config = std::move(config);
  if (record.host_interface && !name.empty()) record.host_interface->name = name;
  return Unit{};
}

void record_host_interface(cni::Record& record) {
  if (!record.host_interface) return;
  const auto links = read_links(kOwnNamespace);
  if (!links) return;
  const auto at = std::find_if(links->begin(), links->end(), [&](const HostLink& link) {
    return link.name == record.host_interface->name;
  });
  if (at == links->end())
    record.host_interface.reset();
  else
    record.host_interface->kind = at->kind;
  record_rdma_index(record);
}

void record_moved_interface(cni::Record& record, int network_namespace) {
  record_created_interface(record, network_namespace);
  if (!moves_interface(record)) return;
  const auto links = read_links(network_namespace);
  if (!links) return;
  if (const HostLink* link = find_moved(*links, moved_link(record)))
    record.host_interface->ifindex_in_pod = link->ifindex;
}

Result<Unit> restore_names_in_sandbox(const cni::Record& record, int network_namespace) {
  if (!moves_interface(record)) return Unit{};
  const MovedLink moved = moved_link(record);
  const auto links = read_links(network_namespace);
  if (!links) return links.error();
  const HostLink* own = find_moved(*links, moved);
  // Kernels before 6.2 rename no interface that is up, also where the same request sets it down.
  const auto rename = [&](const HostLink& link, const std::string& name) -> Result<Unit> {
    if (link.is_up)
      if (auto down = change_link(network_namespace, link.ifindex, {.up = false}); !down) return down;
    return change_link(network_namespace, link.ifindex, {.name = name});
  };
  const auto give_names = [&]() -> Result<Unit> {
    for (const HostLink& link : *links) {
      const bool is_own = own != nullptr && link.ifindex == own->ifindex;
      for (const std::string& name : link.alternative_names)
        if (is_own || name == moved.name_in_pod)
          if (auto removed = change_link(network_namespace, link.ifindex, {.removed_name = name}); !removed)
            return removed;
      if (is_own || link.name != moved.name_in_pod) continue;
      if (auto renamed = rename(link, "dev%d"); !renamed) return renamed;
    }
    if (own == nullptr) return Unit{};
    if (own->name != moved.name_in_pod)
      if (auto renamed = rename(*own, moved.name_in_pod); !renamed) return renamed;
    if (own->alias == moved.name) return Unit{};
    return change_link(network_namespace, own->ifindex, {.alias = moved.name});
  };
  // A plugin moves the interface without its upper interfaces.
  if (own != nullptr)
    if (auto removed = remove_uppers(network_namespace, *links, *own); !removed) return removed;
  auto given = give_names();
  if (!given)
    return std::move(given.error())
        .in("the interface of " + escaped(moved.name) + " in the sandbox cannot be called " +
            escaped(moved.name_in_pod) + " again, so that DEL would move another one");
  return given;
}

Result<Unit> bring_interface_back(const cni::Record& record, int network_namespace) {
  auto undone = undo_native(record, network_namespace);
  if (!record.host_interface) return undone;
  const MovedLink moved = moved_link(record);
  const auto here = read_links(kOwnNamespace);
  if (!here) return here.error();
  const bool is_here = std::any_of(here->begin(), here->end(), [&](const HostLink& link) {
    return (!moved.pci.empty() && link.parent == moved.pci) ||
           (link.name == moved.name && link.kind == moved.kind && !belongs_to_another(record, link.name));
  });
  if (is_here) return undone;
  auto back = move_link_back(network_namespace, moved);
  if (!back) return std::move(back.error());
  return undone;
}

void HostSysctls::note(cni::Record& record) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network) return;
  for (const cni::PluginConfig& plugin : network->plugins) {
    const std::string bridge(plugin.config.text("bridge"));
    if (plugin.type != "bridge" || !cni::is_interface_name(bridge)) continue;
    const std::string path = "net/ipv6/conf/" + bridge + "/accept_ra";
    const std::lock_guard alone(mutex_);
    SavedSysctl& noted = saved_[path];
    if (noted.records.empty()) {
      const auto now = reactor::read_whole(root_ + "/" + path, 64);
      if (!now) {
        saved_.erase(path);
        continue;
      }
      noted.value = trim(*now);
    }
    noted.records.insert(cni::record_name(record.attachment));
    record.host_sysctls[path] = noted.value;
  }
}

void HostSysctls::restore(cni::Record& record) {
  for (const auto& [path, value] : record.host_sysctls) {
    const std::lock_guard alone(mutex_);
    const std::string file = root_ + "/" + path;
    const auto now = reactor::read_whole(file, 64);
    const bool is_safe = path.starts_with("net/ipv6/conf/") && path.find("..") == std::string::npos;
    if (is_safe && now && trim(*now) != value) {
      const reactor::Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
      if (out) (void)!::write(out.get(), value.data(), value.size());
    }
    if (const auto noted = saved_.find(path); noted != saved_.end()) {
      noted->second.records.erase(cni::record_name(record.attachment));
      if (noted->second.records.empty()) saved_.erase(noted);
    }
  }
  record.host_sysctls.clear();
}

}  // namespace sliced::kubelet
