#include "kubelet/checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/objects/json.h"
#include "kube/objects/json_scanner.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr int64_t kVersion = 1;
constexpr int kChecksumDigits = 16;
constexpr kube::JsonLimits kCheckpointLimits{
    .size_max = kCheckpointBytesMax, .depth_max = 16, .nodes_max = 4'000'000};

std::string checksum(std::string_view state) { return hex(stable_hash(state), kChecksumDigits); }

// Visits each text, flag and list of a struct with its name in the file. Writer and Reader share this list,
// so that every member that is written is read.
template <class Visitor>
void visit(Visitor& v, cdi::DeviceNode& value) {
  v("path", value.path);
  v("hostPath", value.host_path);
}
template <class Visitor>
void visit(Visitor& v, cdi::Mount& value) {
  v("hostPath", value.host_path);
  v("containerPath", value.container_path);
  v("options", value.options);
}
template <class Visitor>
void visit(Visitor& v, cdi::Edits& value) {
  v("env", value.env);
  v("nodes", value.nodes);
  v("mounts", value.mounts);
}
template <class Visitor>
void visit(Visitor& v, policy::Holding& value) {
  v("entry", value.entry);
  v("device", value.device);
  v("base", value.base);
  v("group", value.group);
  v("exclusive", value.is_exclusive);
}
template <class Visitor>
void visit(Visitor& v, Identity& value) {
  v("vendor", value.vendor);
  v("product", value.product);
  v("pf", value.pf);
}
template <class Visitor>
void visit(Visitor& v, VfioBinding& value) {
  v("originalDriver", value.original_driver);
  v("group", value.group);
  v("originalMAC", value.original_mac);
  v("cdev", value.cdev);
}
template <class Visitor>
void visit(Visitor& v, VfConfig& value) {
  v("driver", value.driver);
  v("ifName", value.if_name);
  v("netAttachDefNamespace", value.nad_namespace);
  v("netAttachDefName", value.nad_name);
  v("addVhostMount", value.adds_vhost);
  v("network", value.network);
}
template <class Visitor>
void visit(Visitor& v, NativeNetwork& value) {
  v("mtu", value.mtu);
  v("mac", value.mac);
  v("addresses", value.addresses);
  v("routes", value.routes);
  v("vlan", value.vf.vlan);
  v("vlanQoS", value.vf.vlan_qos);
  v("vlanProto", value.vf.vlan_protocol);
  v("trust", value.vf.trust);
  v("spoofCheck", value.vf.spoof_check);
  v("linkState", value.vf.link_state);
  v("minTxRate", value.vf.min_rate_mbps);
  v("maxTxRate", value.vf.max_rate_mbps);
  v("rules", value.rules);
  v("neighbors", value.neighbors);
  v("sysctls", value.sysctls);
  v("duplicateAddressDetection", value.dad);
  v("type", value.type);
  v("mode", value.mode);
  v("rdma", value.rdma);
  v("ipam", value.ipam);
}
template <class Visitor>
void visit(Visitor& v, NativeRoute& value) {
  v("destination", value.destination);
  v("gateway", value.gateway);
  v("priority", value.priority);
  v("table", value.table);
}
template <class Visitor>
void visit(Visitor& v, NativeRule& value) {
  v("source", value.source);
  v("destination", value.destination);
  v("table", value.table);
  v("priority", value.priority);
}
template <class Visitor>
void visit(Visitor& v, NativeNeighbor& value) {
  v("address", value.address);
  v("mac", value.mac);
}
template <class Visitor>
void visit(Visitor& v, NativeSysctl& value) {
  v("name", value.name);
  v("value", value.value);
}
template <class Visitor>
void visit(Visitor& v, ReservingPod& value) {
  v("name", value.name);
  v("uid", value.uid);
}
template <class Visitor>
void visit(Visitor& v, hotplug::HostDevice::Id& value) {
  v("text", value.text);
}
template <class Visitor>
void visit(Visitor& v, hotplug::Netdev& value) {
  v("name", value.name);
  v("kernelName", value.kernel_name);
  v("ifindex", value.ifindex);
  v("mac", value.mac);
  v("mtu", value.mtu);
  v("linkType", value.link_type);
  v("operState", value.oper_state);
  v("speed", value.speed_mbps);
  v("master", value.master);
  v("switchID", value.phys_switch_id);
  v("portName", value.phys_port_name);
  v("altNames", value.alternative_names);
  v("devPort", value.dev_port);
  v("defaultRoute", value.carries_default_route);
  v("stale", value.stale);
  v("partial", value.is_partial);
}
// Only the pinned members (hotplug::facts_to_pin).
template <class Visitor>
void visit(Visitor& v, hotplug::HostDevice& value) {
  v("id", value.id);
  v("type", value.type);
  v("pci", value.pci);
  v("vendor", value.vendor);
  v("product", value.product);
  v("driver", value.driver);
  v("pf", value.pf);
  v("adminMAC", value.admin_mac);
  v("onVFIO", value.is_on_vfio);
  v("bridgeType", value.bridge_type);
  v("vlanFiltering", value.vlan_filtering);
  v("vlan", value.vlan_id);
  v("sfNumber", value.sf_number);
  v("parent", value.parent_name);
  v("representorOf", value.representor_of);
  v("netdev", value.netdev);
  v("otherNetdevs", value.other_netdevs);
  v("missesPorts", value.misses_ports);
  v("rdmaDevice", value.rdma_device);
  v("pKeys", value.pkeys);
  v("hostUse", value.host_use);
}
template <class Visitor>
void visit(Visitor& v, PreparedDevice& value) {
  v("request", value.request);
  v("pool", value.pool);
  v("device", value.device);
  v("shareID", value.share_id);
  v("adminAccess", value.is_admin);
  v("holding", value.holding);
  v("pf", value.pf);
  v("pci", value.pci);
  v("interface", value.interface);
  v("identity", value.identity);
  v("config", value.config);
  v("network", value.network);
  v("multusResource", value.multus_resource);
  v("vfio", value.vfio);
  v("mac", value.mac);
  v("edits", value.edits);
  v("held", value.held);
  v("ofPeer", value.is_of_peer);
  v("networkRefusal", value.network_refusal);
  v("originalSettings", value.has_original_settings);
  v("lowerPFs", value.lower_pfs);
  v("vdpaDevice", value.vdpa_device);
  v("vdpaNode", value.vdpa_node);
  v("incarnation", value.incarnation);
}
template <class Visitor>
void visit(Visitor& v, PreparedClaim& value) {
  v("driver", value.driver);
  v("namespace", value.namespace_);
  v("name", value.name);
  v("uid", value.uid);
  v("podClaimName", value.pod_claim_name);
  v("pods", value.pods);
  v("podGroups", value.pod_groups);
  v("devices", value.devices);
  v("complete", value.is_complete);
  v("podID", value.cdi_pod_id);
  v("notReturned", value.not_returned);
  v("claimGone", value.is_claim_gone);
  v("user", value.user);
}

class Writer {
 public:
  template <class T>
  static Json encode(T value) {
    Writer writer;
    visit(writer, value);
    return std::move(writer.out_);
  }
  void operator()(const char* name, const std::string& value) {
    if (!value.empty()) out_.emplace_back(name, value);
  }
  void operator()(const char* name, const NetworkText& value) { (*this)(name, value.str()); }
  void operator()(const char* name, bool value) {
    if (value) out_.emplace_back(name, true);
  }
  void operator()(const char* name, int value) {
    if (value != 0) out_.emplace_back(name, value);
  }
  void operator()(const char* name, hotplug::DeviceType value) {
    out_.emplace_back(name, hotplug::name_of(value));
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (!value) return;
    if constexpr (std::is_same_v<T, hotplug::PciAddress>)
      out_.emplace_back(name, value->text());
    else if constexpr (std::is_arithmetic_v<T>)
      out_.emplace_back(name, *value);
    else
      out_.emplace_back(name, encode(*value));
  }
  template <class T>
  void operator()(const char* name, const std::vector<T>& values) {
    Json::Array list;
    for (const T& one : values)
      if constexpr (std::is_same_v<T, std::string>)
        list.push_back(one);
      else
        list.push_back(encode(one));
    if (!list.empty()) out_.emplace_back(name, std::move(list));
  }
  template <class T>
  void operator()(const char* name, const T& value) {
    out_.emplace_back(name, encode(value));
  }

 private:
  Json::Object out_;
};

// A value of another type is an error; a missing one is empty.
class Reader {
 public:
  template <class T>
  static bool decode(const Json& from, T& out) {
    if (from.object() == nullptr) return false;
    Reader reader(from);
    visit(reader, out);
    return reader.is_good_;
  }
  void operator()(const char* name, std::string& out) {
    if (const Json* at = from_.find(name)) take(at->string(), out);
  }
  void operator()(const char* name, NetworkText& out) {
    std::string text;
    (*this)(name, text);
    out = std::move(text);
  }
  void operator()(const char* name, bool& out) {
    if (const Json* at = from_.find(name))
      take(at->boolean(), out);
    else
      out = false;
  }
  void operator()(const char* name, int& out) {
    if (const Json* at = from_.find(name)) take_number(*at, out);
  }
  void operator()(const char* name, hotplug::DeviceType& out) {
    const Json* at = from_.find(name);
    const std::string* text = at == nullptr ? nullptr : at->string();
    const auto type = text == nullptr ? std::nullopt : hotplug::device_type_of(*text);
    if (!type) {
      is_good_ = false;
      return;
    }
    out = *type;
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& out) {
    const Json* at = from_.find(name);
    if (at == nullptr) return;
    if constexpr (std::is_same_v<T, hotplug::PciAddress>) {
      const std::string* text = at->string();
      out = text == nullptr ? std::nullopt : hotplug::PciAddress::decode(*text);
      is_good_ &= out.has_value();
    } else if constexpr (std::is_same_v<T, bool>) {
      take(at->boolean(), out.emplace());
    } else if constexpr (std::is_arithmetic_v<T>) {
      take_number(*at, out.emplace());
    } else {
      is_good_ &= decode(*at, out.emplace());
    }
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& out) {
    const Json* at = from_.find(name);
    if (at == nullptr) return;
    if (at->array() == nullptr) {
      is_good_ = false;
      return;
    }
    for (const Json& one : *at->array()) {
      T& item = out.emplace_back();
      if constexpr (std::is_same_v<T, std::string>)
        take(one.string(), item);
      else
        is_good_ &= decode(one, item);
    }
  }
  template <class T>
  void operator()(const char* name, T& out) {
    if (const Json* at = from_.find(name)) is_good_ &= decode(*at, out);
  }

 private:
  explicit Reader(const Json& from) : from_(from) {}
  template <class T>
  void take(const T* found, T& out) {
    if (found == nullptr) {
      is_good_ = false;
      return;
    }
    out = *found;
  }

  template <class T>
  void take_number(const Json& from, T& out) {
    const int64_t* found = from.integer();
    if (found == nullptr || !std::in_range<T>(*found)) {
      is_good_ = false;
      return;
    }
    out = static_cast<T>(*found);
  }

  const Json& from_;
  bool is_good_ = true;
};

// Prefix of the number of a definition; no definition begins with it.
constexpr std::string_view kNetworkAt = "#";

Error checkpoint_error(const std::string& what) { return {Errc::kInvalid, "checkpoint: " + what}; }

Result<Unit> read_claims(const Json& list, PreparedClaims& out) {
  if (list.array() == nullptr) return checkpoint_error("claims is not a list");
  if (list.array()->size() > kCheckpointClaimsMax)
    return Error{Errc::kTooLarge,
                 "checkpoint: it has more than " + std::to_string(kCheckpointClaimsMax) + " claims"};
  for (const Json& one : *list.array()) {
    PreparedClaim claim;
    if (!Reader::decode(one, claim) || claim.driver.empty() || claim.uid.empty())
      return checkpoint_error("claims[" + std::to_string(out.size()) +
                              "] is invalid: driver or uid is missing, or a field has another type");
    const PreparedKey key = key_of(claim);
    if (!out.emplace(key, std::move(claim)).second) return checkpoint_error("it has a claim twice");
  }
  return Unit{};
}

// Each device has the number of its network; without a list each has the text itself, as earlier versions
// wrote it.
Result<Unit> put_networks(const Json& networks, PreparedClaims& out) {
  std::vector<NetworkText> texts(networks.array() == nullptr ? 0 : networks.array()->size());
  for (auto& [key, claim] : out)
    for (PreparedDevice& device : claim.devices) {
      if (device.network.empty()) continue;
      const std::string& at = device.network;
      const auto number = at.starts_with(kNetworkAt)
                              ? parse_int(std::string_view(at).substr(kNetworkAt.size()))
                              : std::nullopt;
      const bool is_in = number && *number >= 0 && networks.array() != nullptr &&
                         static_cast<size_t>(*number) < networks.array()->size();
      const std::string* text = is_in ? (*networks.array())[static_cast<size_t>(*number)].string() : nullptr;
      if (text == nullptr)
        return checkpoint_error("network of device " + in_quotes(device.device, 64) + " is not in networks");
      NetworkText& shared = texts[static_cast<size_t>(*number)];
      if (shared.empty()) shared = *text;
      device.network = shared;
    }
  return Unit{};
}

// An earlier version reads the number of a definition as its text, and writes it back without the list.
Result<Unit> check_networks(const PreparedClaims& claims) {
  for (const auto& [key, claim] : claims)
    for (const PreparedDevice& device : claim.devices)
      if (device.network.str().starts_with(kNetworkAt))
        return checkpoint_error(
            "network of device " + in_quotes(device.device, 64) + " is " +
            in_quotes(device.network.str(), 64) +
            ", and networks is missing: an earlier version of sliced wrote it; delete the pods whose claims "
            "name a NetworkAttachmentDefinition");
  return Unit{};
}

}  // namespace

void share_networks(PreparedClaim& claim, const PreparedClaims& prepared) {
  const auto share = [](NetworkText& text, const PreparedClaim& with) {
    const auto found = std::find_if(with.devices.begin(), with.devices.end(),
                                    [&](const PreparedDevice& device) { return device.network == text; });
    if (found != with.devices.end()) text = found->network;
    return found != with.devices.end();
  };
  for (PreparedDevice& device : claim.devices) {
    if (device.network.empty()) continue;
    share(device.network, claim);
    for (const auto& [key, other] : prepared)
      if (key != key_of(claim) && share(device.network, other)) break;
  }
}

std::string encode_checkpoint(const Checkpoint& value) {
  Json::Array claims, networks;
  std::map<std::string, size_t, std::less<>> index;
  for (const auto& [key, claim] : value.claims) {
    PreparedClaim one = claim;
    for (PreparedDevice& device : one.devices) {
      if (device.network.empty()) continue;
      const auto [at, is_new] = index.try_emplace(device.network.str(), networks.size());
      if (is_new) networks.push_back(device.network.str());
      device.network = std::string(kNetworkAt) + std::to_string(at->second);
    }
    claims.push_back(Writer::encode(std::move(one)));
  }
  Json::Object all{{"version", kVersion}, {"bootID", value.boot_id}};
  if (!networks.empty()) all.emplace_back("networks", std::move(networks));
  all.emplace_back("claims", std::move(claims));
  const std::string state = kube::encode_json(Json(std::move(all)));
  return "{\"checksum\":\"" + checksum(state) + "\",\"state\":" + state + "}\n";
}

Result<Checkpoint> decode_checkpoint(std::string_view text) {
  if (text.size() > kCheckpointBytesMax)
    return Error{Errc::kTooLarge, "checkpoint: it has " + std::to_string(text.size()) + " bytes"};
  const auto sum = kube::find_raw(text, {"checksum"});
  const auto state = kube::find_raw(text, {"state"});
  if (!sum || !state || state->empty()) return checkpoint_error("it is cut short, or no checkpoint");
  if (*sum != "\"" + checksum(*state) + "\"")
    return checkpoint_error("its checksum does not fit: it was cut short or edited");
  const auto value = kube::decode_json(*state, kCheckpointLimits);
  if (!value) return Error(value.error()).in("checkpoint");
  const Json* version = value->find("version");
  if (version == nullptr || *version != Json(kVersion))
    return checkpoint_error("version is " +
                            (version == nullptr ? "missing" : escaped(kube::encode_json(*version), 64)) +
                            ", expected 1: another version of sliced wrote it");
  Checkpoint out{.boot_id = std::string(value->text("bootID"))};
  const Json* claims = value->find("claims");
  if (claims == nullptr) return checkpoint_error("claims is missing");
  if (auto read = read_claims(*claims, out.claims); !read) return std::move(read.error());
  const Json* networks = value->find("networks");
  if (auto good = networks ? put_networks(*networks, out.claims) : check_networks(out.claims); !good)
    return std::move(good.error());
  return out;
}

}  // namespace sliced::kubelet
