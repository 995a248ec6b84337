#include "kubelet/interfaces/shared_parent.h"

#include <algorithm>
#include <optional>
#include <set>

#include "kubelet/interfaces/host_addresses.h"
#include "kubelet/mac_requests.h"
#include "kubelet/native_network.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

// The interface of a record: the first plugin of a chain creates it.
struct Made {
  std::string type, parent;
  int64_t vlan = 0;
  std::set<std::string> macs;
  std::vector<std::string> addresses;  // "10.0.0.5/24"
};

std::optional<Made> made_by(const cni::Record& record) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || network->plugins.empty()) return std::nullopt;
  const Json& plugin = network->plugins.front().config;
  Made out{.type = std::string(made_by_plugin(plugin)), .parent = std::string(plugin.text("master"))};
  if (out.parent.empty()) return std::nullopt;
  const Json* vlan = plugin.find("vlanId");
  if (vlan == nullptr) vlan = plugin.find({"network", "vlan"});
  if (vlan != nullptr && vlan->integer() != nullptr) out.vlan = *vlan->integer();
  const auto add_mac = [&](std::string_view text) {
    if (auto mac = decode_mac(std::string(text))) out.macs.insert(*std::move(mac));
  };
  add_mac(plugin.text("mac"));
  add_mac(record.attachment.capabilities.text("mac"));
  const Json* ipam = plugin.find("ipam");
  const Json* addresses = ipam == nullptr ? nullptr : ipam->find("addresses");
  if (addresses != nullptr && addresses->array() != nullptr)
    for (const Json& one : *addresses->array()) out.addresses.emplace_back(one.text("address"));
  if (!record.result) return out;
  for (const cni::Interface& one : record.result->interfaces)
    if (!one.sandbox.empty()) add_mac(one.mac);
  for (const cni::Ip& one : record.result->ips) out.addresses.push_back(one.address);
  return out;
}

// Bounds of the configurations that one turn of the loop searches, and of those among them that it decodes.
constexpr size_t kSearchedBytesMax = size_t{1} << 21, kDecodedBytesMax = size_t{256} << 10;

bool is_macvlan(const std::string& type) { return type == "macvlan" || type == "macvtap"; }

// Returns "" if the kernel permits both.
std::string clash(const Made& wanted, const Made& other) {
  const bool is_mixed = (wanted.type == "ipvlan" && is_macvlan(other.type)) ||
                        (is_macvlan(wanted.type) && other.type == "ipvlan");
  if (is_mixed)
    return "the kernel has either ipvlan or macvlan interfaces on a link: list one of the two plugins in "
           "supportedCNIPlugins";
  if (wanted.type == "vlan" && other.type == "vlan" && wanted.vlan == other.vlan)
    return "VLAN ID " + std::to_string(wanted.vlan) +
           " is its own: use another one, or macvlan on a VLAN link of the host";
  if (is_macvlan(wanted.type) && is_macvlan(other.type))
    for (const std::string& mac : wanted.macs)
      if (other.macs.contains(mac)) return "MAC address " + mac + " is its own: use another one";
  if (wanted.type == "ipvlan" && other.type == "ipvlan")
    for (const std::string& one : wanted.addresses)
      for (const std::string& held : other.addresses)
        if (is_same_address(one, held)) return "IP address " + escaped(one) + " is its own: use another one";
  return "";
}

}  // namespace

std::string parent_of(const cni::Record& record) {
  const auto network = cni::decode_network(record.config, record.network);
  if (!network || network->plugins.empty()) return "";
  const Json& plugin = network->plugins.front().config;
  return std::string(plugin.text("master").empty() ? plugin.text("bridge") : plugin.text("master"));
}

std::string parent_conflict(const cni::Record& failed, const std::vector<const cni::Record*>& others) {
  const auto wanted = made_by(failed);
  if (!wanted) return "";
  size_t searched = 0, decoded = 0;
  for (const cni::Record* record : others) {
    searched += record->config.size();
    if (searched > kSearchedBytesMax) return "";
    if (record->config.find(wanted->parent) == std::string::npos) continue;
    decoded += record->config.size();
    if (decoded > kDecodedBytesMax) return "";
    const auto other = made_by(*record);
    if (!other || other->parent != wanted->parent ||
        cni::record_name(record->attachment) == cni::record_name(failed.attachment))
      continue;
    const std::string why = clash(*wanted, *other);
    if (why.empty()) continue;
    return "interface " + escaped(wanted->parent) + " of the host has an interface of plugin " +
           escaped(other->type) + " for " +
           (record->owner.empty() ? "another pod" : escaped(record->owner, 256)) + ", and " + why +
           ", or wait until that pod has ended";
  }
  return "";
}

}  // namespace sliced::kubelet
