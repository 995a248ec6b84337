#include "kubelet/plan.h"

#include <algorithm>
#include <array>

#include "hotplug/pinned_facts.h"
#include "kube/objects/json.h"
#include "kube/objects/names.h"
#include "kubelet/device_metadata.h"
#include "kubelet/native_vf.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kSriovDriver = "sriovnetwork.k8snetworkplumbingwg.io";
constexpr size_t kInterfaceNameMax = 15;

std::string underscored(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// Returns a valid name of a shell variable.
std::string in_capitals(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c >= 'a' && c <= 'z'                               ? static_cast<char>(c - 'a' + 'A')
           : (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ? c
                                                              : '_';
  return out;
}

std::string at(const PrepareRequest& claim, size_t index) {
  return describe(claim) + ": status.allocation.devices.results[" + std::to_string(index) + "]";
}

// Returns the attributes of its slice; for an entry that is no longer in a slice, those that containers
// need most.
Json published(const KnownEntry& known) {
  Json::Object out;
  if (known.entry) {
    for (const auto& [name, value] : (*known.entry)->attributes)
      out.emplace_back(name.str(), kube::encode_attribute(value));
  } else if (const auto& pci = known.device.pci; pci && pci->domain <= 0xffff) {
    out.emplace_back("resource.kubernetes.io/pciBusID", Json::Object{{"string", pci->text()}});
  }
  return out;
}

PreparedDevice prepared(const AllocatedDevice& result, const KnownEntry& known, VfConfig config) {
  PreparedDevice out{.request = result.request,
                     .pool = result.pool,
                     .device = result.device,
                     .share_id = result.share_id,
                     .is_admin = result.is_admin,
                     .holding = known.holding,
                     .pf = known.pf,
                     .config = std::move(config),
                     .multus_resource = known.multus_resource,
                     .mac = result.mac};
  const hotplug::HostDevice& device = known.device;
  if (device.pci) out.pci = device.pci->text();
  // CNI plugins look up the kernel's name. An interface that returned from a pod may have another name than
  // the published one.
  if (device.netdev)
    out.interface = device.netdev->kernel_name.empty() ? device.netdev->name : device.netdev->kernel_name;
  out.identity = {device.vendor, device.product, device.pf ? device.pf->text() : ""};
  if (device.sf_number) out.identity.product = std::string(kSfProduct) + std::to_string(*device.sf_number);
  if (out.config.requires_vfio() ||
      ((device.is_on_vfio || hotplug::is_vfio_driver(device.driver)) && can_have_vfio_nodes(out)))
    out.vfio = VfioBinding{};
  if (!out.is_admin && out.holding.is_exclusive) out.held = hotplug::facts_to_pin(device);
  return out;
}

Result<Unit> check_vfio(const PreparedDevice& device, const std::string& where) {
  if (!device.vfio) return Unit{};
  if (device.is_admin)
    return Error{Errc::kInvalid,
                 where + ": driver is vfio-pci, and adminAccess binds no driver: remove driver"};
  if (device.pci.empty())
    return Error{Errc::kInvalid, where + ": driver is vfio-pci, and " + escaped(device.device) +
                                     " is not a PCI function: leave out driver"};
  if (!device.holding.is_exclusive || !device.share_id.empty())
    return Error{Errc::kInvalid, where + ": driver is vfio-pci, and " + escaped(device.device) +
                                     " is a shared device: others would lose it"};
  return Unit{};
}

// Names from the claim and its annotation become parts of variable names and of paths. The API server
// validates all but the annotation.
Result<Unit> check_names(const Claim& claim, const std::string& driver) {
  const auto invalid = [](const std::string& field, const std::string& value, const char* expected) {
    return Error{Errc::kInvalid, field + " is " + in_quotes(value, 64) + ", expected " + expected};
  };
  constexpr const char* kLabel = "a DNS label (a-z, 0-9 and -, at most 63)";
  if (!kube::is_dns_label(claim.namespace_)) return invalid("metadata.namespace", claim.namespace_, kLabel);
  if (!kube::is_dns_subdomain(claim.name))
    return invalid("metadata.name", claim.name, "a DNS subdomain (a-z, 0-9, - and ., at most 253)");
  if (!claim.pod_claim_name.empty() && !kube::is_dns_label(claim.pod_claim_name))
    return invalid("metadata.annotations[" + std::string(kPodClaimName) + "]", claim.pod_claim_name,
                   "the name of a claim in the pod's spec, a DNS label (a-z, 0-9 and -, at most 63): remove "
                   "the annotation, or correct it");
  for (size_t i = 0; i < claim.devices.size(); ++i) {
    const AllocatedDevice& device = claim.devices[i];
    const std::string main = main_request(device.request);
    if (device.driver != driver || (kube::is_dns_label(main) && device.request.size() <= 2 * 63 + 1))
      continue;
    return invalid("status.allocation.devices.results[" + std::to_string(i) + "].request", device.request,
                   "one DNS label, or two with / between");
  }
  return Unit{};
}

// An interface that moves requires an exclusive device, and one that is created requires a device that stays.
Result<Unit> check_network_type(const PreparedDevice& device, const KnownEntry& known,
                                const std::string& where) {
  const NativeNetwork& network = *device.config.network;
  const bool is_shared = !device.holding.is_exclusive || !device.share_id.empty();
  const auto refused = [&](const std::string& why) {
    return Error{Errc::kInvalid, where + ": network.type is " +
                                     (network.type.empty() ? "passthrough (the default)" : network.type) +
                                     ", and " + escaped(device.device) + why};
  };
  const bool is_bridge = known.device.type == hotplug::DeviceType::kBridge;
  if (is_shared && !network.creates_link())
    return refused(std::string(" is a shared device, which does not move into one pod: set type to ") +
                   (is_bridge ? "bridgePort" : "macvlan, ipvlan or vlan"));
  if (!is_shared && network.creates_link())
    return refused(" is an exclusive device, whose interface moves into the pod: leave out type");
  if (network.type == "bridgePort" && !is_bridge)
    return refused(" is not a bridge: set type to macvlan, ipvlan or vlan");
  if (!network.rdma.empty() && known.device.rdma_device.empty())
    return Error{Errc::kInvalid, where + ": network.rdma is " + network.rdma + ", and " +
                                     escaped(device.device) + " has no RDMA device: leave it out"};
  if (network.creates_link() && (device.config.is_mac_claims || !device.mac.empty()))
    return Error{
        Errc::kInvalid,
        where + ": the " +
            (device.config.is_mac_claims ? "claim sets network.mac"
                                         : "pod asks for MAC address " + device.mac) +
            ", and other pods use " + escaped(device.device) +
            ", too: a pod with the MAC address of another station gets its frames. Leave it out, and the "
            "kernel chooses one, or have the DeviceClass set network.mac"};
  return Unit{};
}

Result<Unit> check_network(PreparedDevice& device, const KnownEntry& known, const std::string& where) {
  if (!device.config.network || device.is_admin) return Unit{};
  if (auto good = check_network_type(device, known, where); !good) return good;
  if (device.vfio)
    return Error{Errc::kInvalid, where + ": network is set, and " + escaped(device.device) +
                                     " is on vfio-pci, where it has no interface: leave out network"};
  const std::string& mac = device.config.network->mac;
  if (!mac.empty() && !device.mac.empty() && mac != device.mac)
    return Error{Errc::kInvalid, where + ": the pod requests MAC address " + device.mac +
                                     ", and network.mac is " + mac + ": leave out one of them"};
  if (device.mac.empty()) device.mac = mac;
  return Unit{};
}

Result<Unit> check_vf_settings(const PreparedDevice& device, const KnownEntry& known,
                               const std::string& where) {
  if (!device.config.network || device.is_admin) return Unit{};
  const auto refused = [&](const NativeVfSetting& one, const std::string& why) {
    return Error{Errc::kInvalid,
                 where + ": network." + std::string(one.field) + " is " + one.value + ", and " + why};
  };
  for (const NativeVfSetting& one : native_vf_settings(device.config.network->vf))
    if (device.identity.pf.empty() && !device.config.network->creates_link())
      return refused(one, escaped(device.device) + " is not a VF, whose PF could set it: leave it out");
  const hotplug::VfConfig& of_claim = device.config.vf_of_claim;
  for (const NativeVfSetting& one : native_vf_settings(of_claim))
    if (const std::string why =
            refusal_of_setting(known, std::string(one.setting),
                               one.setting == "vlan" ? of_claim.vlan : std::nullopt, *device.config.network);
        !why.empty())
      return refused(one, why);
  return Unit{};
}

// The address must be set by a CNI plugin, or by the PF if a VM gets the whole function.
Result<Unit> check_mac(const PreparedDevice& device, const KnownEntry& known, const std::string& where) {
  constexpr int kInfiniBand = 32;  // ARPHRD_INFINIBAND
  if (device.mac.empty()) return Unit{};
  const auto link_type = known.device.netdev && known.device.netdev->link_type
                             ? known.device.netdev->link_type
                             : known.device.pf_link_type;
  if (link_type == kInfiniBand)
    return Error{Errc::kInvalid, where + ": the pod requests MAC address " + device.mac + ", and " +
                                     escaped(device.device) +
                                     " is an InfiniBand device, which has a GUID: leave out the address"};
  if (device.vfio && device.identity.pf.empty())
    return Error{Errc::kInvalid, where + ": the pod requests MAC address " + device.mac + ", and " +
                                     escaped(device.device) + " is not a VF, whose PF could set it"};
  if (device.vfio && !known.has_policy)
    return Error{Errc::kInvalid,
                 where + ": the pod requests MAC address " + device.mac +
                     ", and no policy matches the device now, which would allow it: leave out the "
                     "address, or have a policy offer the device"};
  if (device.vfio && known.vf_settings &&
      std::find(known.vf_settings->begin(), known.vf_settings->end(), "mac") == known.vf_settings->end())
    return Error{Errc::kInvalid, where + ": the pod requests MAC address " + device.mac +
                                     ", and spec.allow of " + known.allowing_policies +
                                     " has no mac: leave out the address, or have mac added to spec.allow "
                                     "of each policy that matches the device"};
  if (!device.vfio && !device.config.requires_interface() && device.multus_resource.empty())
    return Error{Errc::kInvalid,
                 where + ": the pod requests MAC address " + device.mac +
                     ", and no configuration sets it: set network, netAttachDefName, or driver"};
  return Unit{};
}

// Assigns a unique name to each device that becomes an interface of the pod.
class InterfaceNames {
 public:
  InterfaceNames(const std::set<std::string>& used_names, std::string prefix)
      : used_names_(used_names), prefix_(std::move(prefix)) {}

  Result<Unit> keep(const PreparedDevice& device, const std::string& where) {
    const std::string& name = device.config.if_name;
    if (!has_interface(device) || name.empty() || used_names_.insert(name).second) return Unit{};
    return Error{Errc::kInvalid, where + ": ifName is " + in_quotes(name, 64) +
                                     ", which another device of the pod has: leave it out, or name each"};
  }
  void give(PreparedDevice& device) {
    if (!has_interface(device) || !device.config.if_name.empty()) return;
    std::string name;
    do name = prefix_.substr(0, kInterfaceNameMax - 4) + std::to_string(next_++);
    while (!used_names_.insert(name).second);
    device.config.if_name = std::move(name);
  }

 private:
  static bool has_interface(const PreparedDevice& device) {
    return !device.is_admin && device.config.requires_interface();
  }

  std::set<std::string> used_names_;
  const std::string prefix_;
  size_t next_ = 0;
};

void add_node(cdi::Edits& edits, const std::string& path, const std::string& host_path) {
  const cdi::DeviceNode node{path, host_path};
  if (std::find(edits.nodes.begin(), edits.nodes.end(), node) == edits.nodes.end())
    edits.nodes.push_back(node);
}

// Adds the group's node with the container node of all groups, and the device's own node with that of
// IOMMUFD: a program may use either API.
void add_vfio(const PreparedDevice& device, const VfioNodes& nodes, cdi::Edits& edits) {
  constexpr std::string_view kNoIommu = "noiommu-";
  const std::string start = "SRIOVNETWORK_" + underscored(device.device) + "_VFIO_";
  std::string inside;
  if (!nodes.group.empty()) {
    const std::string host = "/dev/vfio/" + nodes.group;
    inside = nodes.group.starts_with(kNoIommu) ? "/dev/vfio/" + nodes.group.substr(kNoIommu.size()) : host;
    add_node(edits, inside, host);
    add_node(edits, "/dev/vfio/vfio", "/dev/vfio/vfio");
  }
  if (!nodes.cdev.empty()) {
    const std::string cdev = "/dev/vfio/devices/" + nodes.cdev;
    add_node(edits, cdev, cdev);
    add_node(edits, "/dev/iommu", "/dev/iommu");
    edits.env.push_back(start + "CDEV=" + cdev);
    if (inside.empty()) inside = cdev;
  }
  edits.env.push_back(start + "DEVICE=" + inside);
}

void add_rdma(const PreparedDevice& device, const DeviceSnapshot& snapshot, cdi::Edits& edits) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {
      {{"uverbs", "UVERB"}, {"umad", "UMAD"}, {"issm", "ISSM"}, {"rdma_cm", "CM"}}};
  const std::string start = "SRIOVNETWORK_" + underscored(device.device) + "_RDMA_";
  for (const std::string& node : snapshot.rdma_nodes) {
    add_node(edits, node, node);
    const std::string name = node.substr(node.rfind('/') + 1);
    for (const auto& [prefix, key] : kNames)
      if (name.starts_with(prefix)) edits.env.push_back(start + std::string(key) + "=" + node);
  }
  edits.env.push_back(start + "DEVICE=" + snapshot.rdma_device);
}

std::string_view name_of_env(std::string_view line) { return line.substr(0, line.find('=')); }

// Merges two results for one device, such as a request with adminAccess and the one that holds the device.
// The holder's values win.
void merge(const cdi::Edits& from, bool is_admin, cdi::Edits& into) {
  for (const std::string& line : from.env) {
    const auto same = std::find_if(into.env.begin(), into.env.end(), [&](const std::string& one) {
      return name_of_env(one) == name_of_env(line);
    });
    if (same == into.env.end())
      into.env.push_back(line);
    else if (!is_admin)
      *same = line;
  }
  for (const cdi::DeviceNode& node : from.nodes) add_node(into, node.path, node.host_path);
}

std::string device_name(const PreparedClaim& claim, const PreparedDevice& device) {
  return claim.uid + "-" + device.device + (device.share_id.empty() ? "" : "-" + device.share_id);
}

}  // namespace

Result<PreparedClaim> plan(const Claim& claim, const std::string& driver, const FindEntry& find,
                           const std::set<std::string>& used_names, const PlanSettings& settings) {
  const PrepareRequest who{claim.namespace_, claim.name, claim.uid};
  if (auto checked = check_names(claim, driver); !checked)
    return std::move(checked.error()).in(describe(who));
  const auto configs = VfConfigs::decode(claim, driver);
  if (!configs) return Error(configs.error()).in(describe(who));
  PreparedClaim out{.driver = driver,
                    .namespace_ = claim.namespace_,
                    .name = claim.name,
                    .uid = claim.uid,
                    .pod_claim_name = claim.pod_claim_name,
                    .pods = claim.pods,
                    .pod_groups = claim.pod_groups,
                    .cdi_pod_id = pod_id_of(claim)};
  InterfaceNames names(used_names, settings.interface_prefix);
  for (size_t i = 0; i < claim.devices.size(); ++i) {
    const AllocatedDevice& result = claim.devices[i];
    if (result.driver != driver) continue;
    const auto known = find(driver, result.pool, result.device);
    if (!known)
      return Error{
          Errc::kInvalid,
          at(who, i) + ": device " + in_quotes(result.pool + "/" + result.device) +
              " does not exist on this node: delete the pod, so that its successor gets another device"};
    auto config = configs->of(result.request);
    if (!config) return std::move(config.error()).in(at(who, i));
    PreparedDevice device = prepared(result, *known, *std::move(config));
    if (auto checked = check_vfio(device, at(who, i)); !checked) return std::move(checked.error());
    if (auto checked = check_network(device, *known, at(who, i)); !checked) return std::move(checked.error());
    if (auto checked = check_vf_settings(device, *known, at(who, i)); !checked)
      return std::move(checked.error());
    if (auto checked = check_mac(device, *known, at(who, i)); !checked) return std::move(checked.error());
    if (settings.writes_metadata) device.attributes = published(*known);
    if (settings.names_interfaces)
      if (auto kept = names.keep(device, at(who, i)); !kept) return std::move(kept.error());
    out.devices.push_back(std::move(device));
  }
  if (settings.names_interfaces)
    for (PreparedDevice& device : out.devices) names.give(device);
  if (settings.writes_metadata)
    if (const auto files = metadata_of(out); !files) return Error(files.error()).in(describe(who));
  return out;
}

std::string refusal_of_setting(const KnownEntry& known, const std::string& setting, std::optional<int> vlan,
                               const NativeNetwork& network) {
  const std::string value = vlan ? setting + "=" + std::to_string(*vlan) : setting;
  // On a shared device it is a VLAN of the new link, and no PF sets it.
  const std::string nothing = network.creates_link() ? "no VLAN" : "nothing";
  const std::string by = network.creates_link() ? "" : " through the PF";
  const std::string leave_out =
      network.type == "vlan" && setting == "vlan" ? "set type to macvlan or ipvlan" : "leave it out";
  if (!known.has_policy)
    return "no policy matches the device now, which would allow " + value + ": " + leave_out +
           ", or have a policy offer the device with " + value + " in spec.allow";
  const auto& allowed = known.vf_settings;
  const bool is_listed = allowed && std::find(allowed->begin(), allowed->end(), setting) != allowed->end() &&
                         (!vlan || known.vlans.contains(*vlan));
  if (is_listed && !known.is_default_too) return "";
  const std::string source =
      !allowed    ? "no policy that matches the device has spec.allow, so that a claim may set " + nothing
      : is_listed ? "a policy without spec.allow matches the device, too, so that a claim may set " + nothing
                  : "spec.allow of " + known.allowing_policies + " lets a claim set " +
                        (allowed->empty() ? nothing : join(with_vlan_ids(*allowed, known.vlans), ", "));
  return source + by + ": " + leave_out + ", have " + value +
         " added to spec.allow of each policy that matches the device, or have the DeviceClass set it";
}

bool can_have_vfio_nodes(const PreparedDevice& device) {
  return !device.is_admin && !device.pci.empty() && device.holding.is_exclusive && device.share_id.empty();
}

std::string settings_key(const PreparedDevice& device) {
  if (!device.pci.empty()) return device.pci;
  const std::string& product = device.identity.product;
  const auto pf = hotplug::PciAddress::decode(device.identity.pf);
  const auto number =
      product.starts_with(kSfProduct) ? parse_int(product.substr(kSfProduct.size())) : std::nullopt;
  return pf && number ? hotplug::scalable_function_id(*pf, static_cast<int>(*number)) : device.interface;
}

cdi::Edits edits_of(const PreparedDevice& device, const DeviceSnapshot& snapshot) {
  cdi::Edits edits;
  if (!device.pci.empty())
    edits.env.push_back("SRIOVNETWORK_VF_DEVICE_" + underscored(device.device) + "=" + device.pci);
  edits.env.push_back("SRIOVNETWORK_NET_ATTACH_DEF_NAME=" + device.config.nad_name);
  if (device.is_admin) return edits;
  if (device.vfio)
    add_vfio(device, {snapshot.vfio_group, snapshot.vfio_cdev}, edits);
  else if (!snapshot.rdma_device.empty())
    add_rdma(device, snapshot, edits);
  if (!device.vdpa_node.empty()) add_node(edits, device.vdpa_node, device.vdpa_node);
  if (device.config.adds_vhost)
    for (const char* node : {"/dev/vhost-net", "/dev/net/tun"}) add_node(edits, node, node);
  return edits;
}

void add_resource_names(PreparedClaim& claim) {
  std::map<std::string, std::string> addresses;
  const auto key_of = [](const PreparedDevice& device) {
    return "PCIDEVICE_" + in_capitals(device.multus_resource);
  };
  const auto is_named = [](const PreparedDevice& one) {
    return !one.multus_resource.empty() && !one.pci.empty();
  };
  for (const PreparedDevice& device : claim.devices) {
    if (!is_named(device)) continue;
    std::string& all = addresses[key_of(device)];
    all += (all.empty() ? "" : ",") + device.pci;
  }
  for (PreparedDevice& device : claim.devices)
    if (is_named(device)) device.edits.env.push_back(key_of(device) + "=" + addresses[key_of(device)]);
}

void add_request_names(PreparedClaim& claim) {
  std::map<std::string, std::string> addresses;  // by request
  for (const PreparedDevice& device : claim.devices) {
    if (device.pci.empty()) continue;
    std::string& all = addresses[main_request(device.request)];
    all += (all.empty() ? "" : ",") + device.pci;
  }
  for (PreparedDevice& device : claim.devices) {
    if (device.pci.empty()) continue;
    const std::string request = main_request(device.request);
    std::set<std::string> names;
    for (const std::string& name : {claim.name, claim.pod_claim_name}) {
      if (name.empty()) continue;
      names.insert("PCI_RESOURCE_" + name + "_" + request);
      names.insert("PCI_RESOURCE_" + in_capitals(name + "_" + request));
    }
    for (const std::string& name : names) device.edits.env.push_back(name + "=" + addresses[request]);
  }
}

std::string cdi_kind(const std::string& driver) {
  return driver + (driver == kSriovDriver ? "/vf" : "/device");
}

cdi::Spec claim_spec(const PreparedClaim& claim) {
  cdi::Spec spec{.kind = cdi_kind(claim.driver)};
  for (const PreparedDevice& device : claim.devices) {
    const std::string name = device_name(claim, device);
    const auto same = std::find_if(spec.devices.begin(), spec.devices.end(),
                                   [&](const cdi::Device& one) { return one.name == name; });
    if (same == spec.devices.end())
      spec.devices.push_back({name, device.edits});
    else
      merge(device.edits, device.is_admin, same->edits);
  }
  return spec;
}

std::optional<cdi::Spec> pod_spec(const std::string& driver, const std::string& pod_id,
                                  const PreparedClaims& prepared) {
  std::vector<const PreparedClaim*> claims;
  for (const auto& [key, claim] : prepared)
    if (claim.cdi_pod_id == pod_id) claims.push_back(&claim);
  std::sort(claims.begin(), claims.end(), [](const PreparedClaim* a, const PreparedClaim* b) {
    return std::pair(a->name, a->driver) < std::pair(b->name, b->driver);
  });
  std::vector<std::string> addresses;
  bool is_wanted = false;
  for (const PreparedClaim* claim : claims) {
    is_wanted |= claim->driver == driver;
    for (const PreparedDevice& device : claim->devices)
      if (!device.pci.empty()) addresses.push_back(device.pci);
  }
  if (!is_wanted) return std::nullopt;
  return cdi::Spec{.kind = cdi_kind(driver),
                   .devices = {{pod_id, {.env = {"SRIOVNETWORK_PCI_ADDRESSES=" + join(addresses, ",")}}}}};
}

std::string pod_id_of(const Claim& claim) {
  return claim.pods.size() == 1 ? claim.pods.front().uid : claim.uid;
}

PrepareAnswer answer_of(const PreparedClaim& claim, bool writes_metadata) {
  PrepareAnswer out;
  const std::string kind = cdi_kind(claim.driver);
  std::vector<MetadataFile> files = writes_metadata ? metadata_files_of(claim) : std::vector<MetadataFile>{};
  for (const PreparedDevice& device : claim.devices) {
    out.devices.push_back({.request_names = {main_request(device.request)},
                           .pool = device.pool,
                           .device = device.device,
                           .cdi_ids = {cdi::qualified_name(kind, device_name(claim, device)),
                                       cdi::qualified_name(kind, claim.cdi_pod_id)},
                           .share_id = device.share_id});
    // The first device of a request refers to the request's file.
    const auto file = std::find_if(files.begin(), files.end(), [&](const MetadataFile& one) {
      return one.request == main_request(device.request);
    });
    if (file == files.end()) continue;
    out.devices.back().cdi_ids.push_back(
        cdi::qualified_name(metadata_kind(claim.driver), metadata_id(*file)));
    files.erase(file);
  }
  return out;
}

std::optional<DeviceInfo> device_info(const PreparedDevice& device, const std::string& directory) {
  if (device.multus_resource.empty() || device.pci.empty() || device.is_admin) return std::nullopt;
  std::string name = device.multus_resource + "-" + device.pci + "-device.json";
  std::replace(name.begin(), name.end(), '/', '-');
  if (!device.vdpa_node.empty())
    return DeviceInfo{directory + "/" + name,
                      kube::encode_json(kube::Json::Object{
                          {"type", "vdpa"},
                          {"version", "1.1.0"},
                          {"vdpa", kube::Json::Object{{"parent-device", device.vdpa_device},
                                                      {"driver", "vhost"},
                                                      {"path", device.vdpa_node},
                                                      {"pci-address", device.pci}}}})};
  kube::Json::Object pci{{"pci-address", device.pci}};
  if (!device.mac.empty()) pci.emplace_back("mac", device.mac);
  return DeviceInfo{
      directory + "/" + name,
      kube::encode_json(kube::Json::Object{{"type", "pci"}, {"version", "1.1.0"}, {"pci", std::move(pci)}})};
}

}  // namespace sliced::kubelet
