#include "kubelet/safety.h"

#include <algorithm>
#include <set>

#include "kube/objects/json.h"
#include "kubelet/mac_requests.h"
#include "kubelet/recall.h"
#include "policy/gates/host_use.h"
#include "policy/holding.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

std::string named(const PreparedDevice& device) {
  return "device " + escaped(device.pool + "/" + device.device);
}

std::string named(const PreparedClaim& claim) {
  const std::string claim_text = describe(request_of(claim));
  return is_nameless(claim) ? claim_text : claim_text + " (uid " + escaped(claim.uid) + ")";
}

std::string held_by(const PreparedDevice& device, const PreparedClaim& other, const PreparedDevice& held) {
  const bool is_same = held.device == device.device && held.pool == device.pool;
  const std::string what =
      is_same ? named(device) + " is " : named(device) + " excludes " + named(held) + ", which is ";
  if (other.is_claim_gone) return what + "not free: " + why_not_returned(other);
  const std::string who = what + "prepared for " + named(other);
  if (!other.not_returned.empty())
    return who + ": it could not be restored: " + other.not_returned + "; the kubelet tries again";
  return who + ": it can be had" + (is_same ? " again" : "") +
         " when that claim's pod has ended and the kubelet has given it back";
}

constexpr kube::JsonLimits kNetworkLimits{.size_max = kNetworkBytesMax, .depth_max = 32, .nodes_max = 20'000};

void add_mac(const std::string& text, std::set<std::string>& out) {
  if (auto mac = decode_mac(text)) out.insert(*std::move(mac));
}

// Returns whether a field `mac` may have a string. Quotes within strings have a backslash before them; what sliced has
// encoded has no escaped letters.
bool may_have_mac(std::string_view json) {
  if (json.find("\\u") != std::string_view::npos) return true;
  constexpr std::string_view kKey = "mac\"", kBlanks = " \t\r\n";
  for (size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at + 1)) {
    if (at == 0 || json[at - 1] != '"') continue;
    const size_t colon = json.find_first_not_of(kBlanks, at + kKey.size());
    if (colon == std::string_view::npos || json[colon] != ':') continue;
    const size_t value = json.find_first_not_of(kBlanks, colon + 1);
    if (value != std::string_view::npos && json[value] == '"') return true;
  }
  return false;
}

// Reads the configuration of one plugin, or of a chain. Most have no address, and a claim is compared with all others of its PF.
void add_macs_of_network(const std::string& network, std::set<std::string>& out) {
  if (!may_have_mac(network)) return;
  const auto config =
      network.empty() ? Result<kube::Json>(kube::Json()) : kube::decode_json(network, kNetworkLimits);
  if (!config) return;  // mac_refusal() refuses it
  add_mac(std::string(config->text("mac")), out);
  const kube::Json* plugins = config->find("plugins");
  if (plugins == nullptr || plugins->array() == nullptr) return;
  for (const kube::Json& plugin : *plugins->array()) add_mac(std::string(plugin.text("mac")), out);
}

// Returns the addresses that the device gets for its pod, and the original ones that it gets back.
std::set<std::string> macs_of(const PreparedDevice& device) {
  std::set<std::string> out = macs_for_pod(device);
  if (device.is_admin) return out;
  if (device.held && device.held->netdev) add_mac(device.held->netdev->mac, out);
  if (device.vfio) add_mac(device.vfio->original_mac, out);
  return out;
}

// Returns the PF of a function, or the PFs below a link.
std::vector<std::string> pfs_of(const PreparedDevice& device) {
  if (device.pci.empty()) return device.lower_pfs;
  return {device.identity.pf.empty() ? device.pci : device.identity.pf};
}

// Returns "" if they have none in common.
std::string common_pf(const std::vector<std::string>& pfs, const PreparedDevice& device) {
  for (const std::string& pf : pfs_of(device))
    if (std::find(pfs.begin(), pfs.end(), pf) != pfs.end()) return pf;
  return "";
}

std::string shown(const std::string& value) { return value.empty() ? "unknown" : escaped(value); }

// Both sriov-cni and the host-device plugin know these as drivers for programs in user space.
constexpr std::string_view kUserspaceDrivers[] = {"vfio-pci", "uio_pci_generic", "igb_uio"};
// Plugins that move the interface or create one on top of it, so the pod has none without it. sriov-cni and
// others configure such a function through its PF or its representor.
constexpr std::string_view kInterfacePlugins[] = {"host-device", "macvlan", "ipvlan",
                                                  "vlan",        "ipoib",   "sliced-native"};

// Types of the plugins, in their order: the first attaches (CNI's network configuration list). Empty: it
// cannot be read.
std::vector<std::string> plugins_of(const std::string& network) {
  const auto config = kube::decode_json(network, kNetworkLimits);
  if (!config) return {};
  const kube::Json* plugins = config->find("plugins");
  const auto* list = plugins != nullptr ? plugins->array() : nullptr;
  if (list == nullptr || list->empty()) return {std::string(config->text("type"))};
  std::vector<std::string> out;
  for (const kube::Json& plugin : *list) out.emplace_back(plugin.text("type"));
  return out;
}

// Nodes that belong to no single device.
constexpr std::string_view kCommonNodes[] = {"/dev/vfio/vfio", "/dev/iommu", "/dev/vhost-net", "/dev/net/tun",
                                             "/dev/infiniband/rdma_cm"};

bool is_common_node(const std::string& path) {
  return std::find(std::begin(kCommonNodes), std::end(kCommonNodes), path) != std::end(kCommonNodes);
}

const std::string& host_path_of(const cdi::DeviceNode& node) {
  return node.host_path.empty() ? node.path : node.host_path;
}

bool is_alone(const PreparedDevice& device) { return device.holding.is_exclusive && device.share_id.empty(); }

std::set<std::string> rdma_nodes_of(const std::vector<std::string>& paths) {
  std::set<std::string> out;
  for (const std::string& path : paths)
    if (path.starts_with("/dev/infiniband/") && !is_common_node(path)) out.insert(path);
  return out;
}

// An unknown original fact is not a difference.
bool differs(const std::string& before, const std::string& now) { return !before.empty() && before != now; }

}  // namespace

bool conflict(const PreparedDevice& a, const PreparedDevice& b) {
  if (a.is_admin || b.is_admin) return false;
  return policy::conflict(a.holding, b.holding, a.pf == b.pf ? a.pf : "");
}

std::set<std::string> macs_for_pod(const PreparedDevice& device) {
  std::set<std::string> out;
  if (device.is_admin) return out;
  add_mac(device.mac, out);
  add_macs_of_network(device.network, out);
  return out;
}

const PreparedClaim* conflicting_claim(const PreparedClaim& claim, const PreparedDevice& device,
                                       const PreparedClaims& prepared) {
  for (const auto& [key, other] : prepared) {
    if (key == key_of(claim)) continue;
    for (const PreparedDevice& held : other.devices)
      if (conflict(device, held)) return &other;
  }
  return nullptr;
}

std::string why_not_returned(const PreparedClaim& claim) {
  const std::string who = named(claim) + " was deleted or no longer holds it";
  if (!claim.not_returned.empty())
    return "it could not be restored: " + claim.not_returned + " (" + who + "; the daemon tries again)";
  if (!claim.user.empty()) return who + ", and it is still used: " + claim.user;
  return who +
         ", and it is not released yet: no kubelet has requested it; the daemon releases it after 5 minutes if it is unused";
}

policy::NotReturnedDevices not_returned_of(const PreparedClaims& prepared) {
  policy::NotReturnedDevices out;
  for (const auto& [key, claim] : prepared)
    for (const PreparedDevice& device : claim.devices)
      if (claim.is_claim_gone && !device.is_admin)
        out.push_back({device.holding, device.pf, why_not_returned(claim)});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.holding.entry < b.holding.entry; });
  return out;
}

std::string refusal(const PreparedClaim& claim, const PreparedDevice& device, const KnownEntry& known,
                    const PreparedClaims& prepared) {
  if (device.is_admin) return "";
  if (!known.device.broken.empty())
    return named(device) + " cannot be distinguished from others (" + escaped(known.device.broken) + ")";
  if (!known.not_ready.empty()) return named(device) + " is not ready: " + known.not_ready;
  if (const PreparedClaim* other = conflicting_claim(claim, device, prepared))
    for (const PreparedDevice& held : other->devices)
      if (conflict(device, held)) return held_by(device, *other, held);
  if (policy::is_withheld_for_host(known.device, device.holding.is_exclusive, known.host_use))
    return named(device) + " is used by the host (" + escaped(known.device.host_use) + ")";
  return "";
}

std::string mac_refusal(const PreparedClaim& claim, const PreparedDevice& device,
                        const PreparedClaims& prepared, const OriginalMacs& original_macs) {
  const std::vector<std::string> pfs = pfs_of(device);
  if (!device.network.empty() && !kube::decode_json(device.network, kNetworkLimits))
    return named(device) + " has a network whose MAC address cannot be read";
  const std::set<std::string> wanted = pfs.empty() ? std::set<std::string>() : macs_for_pod(device);
  if (wanted.empty()) return "";
  const auto text = [&](const std::string& mac, const std::string& who, const std::string& pf) {
    return named(device) + " cannot get MAC address " + mac + ": " + who + " of the same PF " + escaped(pf) +
           " has it; request another address, or wait until it is free";
  };
  const auto shared_with = [&](const PreparedDevice& other) -> std::string {
    // Two links are not compared: neither is a function of the PF.
    if (other.pci == device.pci || common_pf(pfs, other).empty()) return "";
    for (const std::string& mac : macs_of(other))
      if (wanted.contains(mac)) return mac;
    return "";
  };
  for (const auto& [key, other] : prepared) {
    if (key == key_of(claim)) continue;
    for (const PreparedDevice& held : other.devices)
      if (const std::string mac = shared_with(held); !mac.empty())
        return text(mac, named(held) + ", prepared for " + named(other) + ",", common_pf(pfs, held));
  }
  for (const PreparedDevice& beside : claim.devices)
    if (const std::string mac = shared_with(beside); !mac.empty())
      return text(mac, named(beside) + " of the same claim and", common_pf(pfs, beside));
  for (const auto& [pci, kept] : original_macs)
    if (pci != device.pci && std::find(pfs.begin(), pfs.end(), kept.pf) != pfs.end() &&
        wanted.contains(kept.mac))
      return text(kept.mac, "VF " + pci + ", which gets it back when its pod has ended,", kept.pf);
  return "";
}

std::string node_refusal(const PreparedClaim& claim, const PreparedDevice& device,
                         const PreparedClaims& prepared) {
  const auto is_of = [&](const PreparedDevice& other, const std::string& path) {
    return std::ranges::any_of(other.edits.nodes,
                               [&](const cdi::DeviceNode& node) { return host_path_of(node) == path; });
  };
  for (const auto& [key, other] : prepared) {
    if (key == key_of(claim) || !other.is_complete) continue;
    for (const PreparedDevice& held : other.devices) {
      const bool are_shared = !is_alone(device) && !is_alone(held);
      if (are_shared || settings_key(held) == settings_key(device)) continue;
      for (const cdi::DeviceNode& node : device.edits.nodes)
        if (const std::string& path = host_path_of(node); !is_common_node(path) && is_of(held, path))
          return named(device) + " has device node " + path + ", which containers of " + named(other) +
                 " got for " + escaped(settings_key(held)) +
                 " before functions were created again: delete the pod of that claim";
    }
  }
  return "";
}

std::string stale_nodes(const PreparedDevice& device, const DeviceSnapshot& snapshot) {
  const auto text = [&](const std::string& what) {
    return named(device) + " " + what +
           ", so its function was created or bound again after the claim was prepared: delete the pod";
  };
  if (device.vfio && !snapshot.has_vfio_driver())
    return text("is on driver " + shown(snapshot.driver) + " and was prepared for VFIO");
  if (device.vfio) return "";
  std::vector<std::string> paths;
  for (const cdi::DeviceNode& node : device.edits.nodes) paths.push_back(host_path_of(node));
  // A record of another program, or of another release, may have fewer of them.
  const std::set<std::string> before = rdma_nodes_of(paths), now = rdma_nodes_of(snapshot.rdma_nodes);
  for (const std::string& path : before)
    if (!now.empty() && !now.contains(path))
      return text("has device node " + *now.begin() + ", and its pod got " + path);
  const bool has_node = std::ranges::any_of(
      snapshot.vdpas, [&](const hotplug::VdpaDevice& one) { return one.node == device.vdpa_node; });
  if (!device.vdpa_node.empty() && !snapshot.vdpas.empty() && !has_node)
    return text("has vDPA device " + escaped(snapshot.vdpas.front().name) + ", and its pod got " +
                device.vdpa_node);
  return "";
}

std::string conflict_within(const PreparedClaim& claim) {
  for (size_t i = 0; i < claim.devices.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (conflict(claim.devices[i], claim.devices[j]))
        return named(claim.devices[i]) + " and " + named(claim.devices[j]) +
               " of the same claim exclude each other";
  return "";
}

std::string refusal(const PreparedDevice& device, const KnownEntry& known, const DeviceSnapshot& snapshot) {
  if (!device.is_admin && device.config.network && !device.config.network->rdma.empty() &&
      snapshot.is_rdma_shared)
    return named(device) +
           ": network.rdma is move, and each network namespace of this node has all RDMA devices: leave it out, or run "
           "rdma system set netns exclusive (module parameter netns_mode=0 of ib_core)";
  const Identity &before = device.identity, &now = snapshot.identity;
  if (differs(before.vendor, now.vendor) || differs(before.product, now.product) ||
      differs(before.pf, now.pf))
    return named(device) + " is another function now: vendor " + shown(now.vendor) + ", device " +
           shown(now.product) + ", PF " + shown(now.pf) + "; it was published as vendor " +
           shown(before.vendor) + ", device " + shown(before.product) + ", PF " + shown(before.pf);
  if (!device.is_admin && !snapshot.mac_holder.empty())
    return named(device) + " cannot get MAC address " + snapshot.mac_held + ": " + snapshot.mac_holder +
           " has it; request another address, or change that of the function";
  if (device.is_admin || !device.holding.is_exclusive || known.host_use.is_any) return "";
  for (const hotplug::VdpaDevice& vdpa : snapshot.vdpas)
    if (vdpa.driver == "virtio" || vdpa.driver == hotplug::kUnknownVdpa)
      return named(device) + " is used by the host: its vDPA device " + escaped(vdpa.name) +
             (vdpa.driver == "virtio" ? " has an interface of the host (virtio_vdpa)"
                                      : " has a driver that cannot be read");
  if (snapshot.uppers.empty()) return "";
  return named(device) + " is used by the host: " + escaped(join(snapshot.uppers, ", ")) +
         " on top of its interface " + escaped(device.interface);
}

bool is_userspace_driver(std::string_view driver) {
  return std::find(std::begin(kUserspaceDrivers), std::end(kUserspaceDrivers), driver) !=
             std::end(kUserspaceDrivers) ||
         hotplug::is_vfio_driver(driver);
}

namespace {

// A plugin of its network moves its interface into the pod.
bool is_moved(const PreparedDevice& device) {
  return !device.is_admin && !device.network.empty() && !device.config.requires_vfio() &&
         device.holding.is_exclusive && device.share_id.empty() && !makes_interfaces(device.network);
}

}  // namespace

std::string refusal_of_interface(const PreparedDevice& device, const DeviceSnapshot& snapshot) {
  const bool is_run = !device.is_admin && !device.network.empty() && !device.config.requires_vfio() &&
                      (!device.pci.empty() || device.identity.product.starts_with(kSfProduct));
  if (!is_run || !snapshot.interfaces.empty()) return "";
  const std::vector<std::string> plugins = plugins_of(device.network);
  const std::string type = plugins.empty() ? "" : plugins.front();
  const bool is_userspace = snapshot.has_vfio_driver() || is_userspace_driver(snapshot.driver);
  const bool requires_interface = std::find(std::begin(kInterfacePlugins), std::end(kInterfacePlugins),
                                            type) != std::end(kInterfacePlugins);
  if (is_userspace && !requires_interface)
    return plugins.size() < 2
               ? ""
               : named(device) + " is on driver " + escaped(snapshot.driver) + ", so plugin " +
                     in_quotes(plugins[1], 64) + " of " +
                     in_quotes(device.config.nad_namespace + "/" + device.config.nad_name, 128) +
                     " would change an interface that the pod has already: leave it out";
  const std::string why =
      named(device) + " has no interface, and its claim " +
      (device.config.network
           ? std::string("sets network: ")
           : "names a network (netAttachDefName " +
                 in_quotes(device.config.nad_namespace + "/" + device.config.nad_name, 128) +
                 ", CNI plugin " + in_quotes(type, 64) + "): ");
  const std::string machine =
      "; or set driver: vfio-pci in the VfConfig, where the pod is to have the function itself";
  if (device.pci.empty())
    return why +
           "its driver has made none, or it is in another network namespace; it can be had when the interface is in the host's";
  if (snapshot.driver.empty())
    return why + "no driver is bound to it; load the module of its driver and write " + device.pci +
           " to /sys/bus/pci/drivers_probe" + machine;
  if (is_userspace)
    return why + "driver " + escaped(snapshot.driver) +
           " makes none; bind the function to its network driver" + machine;
  return why + "driver " + escaped(snapshot.driver) +
         " has made none, or it is in another network namespace; it can be had when the interface is in the host's";
}

std::string immovable_refusal(const PreparedDevice& device, const DeviceSnapshot& snapshot) {
  if (!is_moved(device) || snapshot.immovable_interfaces.empty()) return "";
  const std::string network =
      device.config.network ? std::string("network of its VfConfig")
                            : "network definition " +
                                  in_quotes(device.config.nad_namespace + "/" + device.config.nad_name, 128);
  return named(device) + " cannot be moved into the pod: the kernel does not move its interface " +
         escaped(snapshot.immovable_interfaces.front()) +
         " to another network namespace (netns-immutable in ip -d link), and the " + network +
         " moves it; use a plugin that leaves it on the host (macvlan, ipvlan, vlan), or another device";
}

std::string name_refusal(const PreparedDevice& device, const PreparedClaims& prepared,
                         const DeviceSnapshot& snapshot) {
  const std::string& name = device.config.if_name;
  if (!is_moved(device) || name.empty() || name == device.interface) return "";
  const auto text = [&](const std::string& who) {
    return named(device) + ": ifName " + in_quotes(name, 64) + " is the name of " + who +
           " on the host, and the interface may return to the host under its name in the pod; set another "
           "ifName, such as net1";
  };
  bool is_of_pod = false;
  for (const auto& [key, other] : prepared)
    for (const PreparedDevice& held : other.devices) {
      const bool is_same = held.pool == device.pool && held.device == device.device;
      if (is_same || (!device.pci.empty() && held.pci == device.pci)) continue;
      if (held.interface == name) return text(named(held) + ", prepared for " + named(other) + ",");
      is_of_pod |= snapshot.name_holder && !held.pci.empty() && held.pci == *snapshot.name_holder &&
                   held.config.if_name == name;
    }
  if (!snapshot.name_holder || is_of_pod) return "";
  return text(snapshot.name_holder->empty() ? "another interface"
                                            : "an interface of " + escaped(*snapshot.name_holder));
}

bool makes_interfaces(const std::string& network) {
  constexpr std::string_view kMakers[] = {"macvlan", "macvtap", "ipvlan", "vlan", "ipoib", "bridge"};
  const auto config = kube::decode_json(network, kNetworkLimits);
  if (!config) return false;
  const kube::Json* plugins = config->find("plugins");
  const bool is_list = plugins != nullptr && plugins->array() != nullptr && !plugins->array()->empty();
  const std::string_view type = made_by_plugin(is_list ? plugins->array()->front() : *config);
  return std::find(std::begin(kMakers), std::end(kMakers), type) != std::end(kMakers);
}

}  // namespace sliced::kubelet
