#include "kubelet/interfaces/networks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/objects/kinds.h"
#include "kubelet/cni/definition.h"
#include "kubelet/cni/network.h"
#include "kubelet/hardware.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

std::string named(const VfConfig& config) {
  return "NetworkAttachmentDefinition " + escaped(config.nad_namespace) + "/" + escaped(config.nad_name);
}

void limit_settings(const KnownEntry& known, const NetworkSettings& settings, cni::DefinitionRules& rules) {
  if (!known.has_policy) {
    rules.settings.emplace();
    rules.settings_source = "no policy matches the device now, which";
  } else if (!settings.allows_vf_settings && (!known.vf_settings || known.is_default_too)) {
    rules.settings.emplace();
    rules.settings_source =
        known.vf_settings ? "--vf-settings none, with a policy without spec.allow that matches the device,"
                          : "--vf-settings none";
  } else if (known.vf_settings) {
    rules.settings = known.vf_settings;
    rules.vlans = known.vlans;
    rules.settings_source = "spec.allow of " + known.allowing_policies;
  }
}

cni::DefinitionRules rules_for(const PreparedDevice& device, const KnownEntry& known,
                               const NetworkSettings& settings, bool is_exclusive) {
  cni::DefinitionRules rules{
      .author =
          device.config.is_nad_administrators ? cni::Author::kAdministrator : cni::Author::kNamespaceUser,
      .address_directory = std::string(kAddressDirectory) + "/" + device.config.nad_namespace};
  const std::vector<std::string>& defaults =
      is_exclusive ? settings.exclusive_plugins : settings.shared_plugins;
  const std::string option = is_exclusive ? "--cni-plugins-exclusive" : "--cni-plugins-shared";
  rules.plugins = known.cni_plugins ? *known.cni_plugins : defaults;
  rules.plugins_source = option;
  if (known.cni_plugins) {
    rules.plugins_source =
        known.has_policy ? "supportedCNIPlugins of the device's policy"
                         : "supportedCNIPlugins of this node's policies (no policy matches the device now)";
    if (known.are_default_plugins_too) {
      rules.plugins_source += " and " + option;
      std::erase_if(*rules.plugins, [&](const std::string& name) {
        return std::ranges::find(defaults, name) == defaults.end();
      });
    }
  }
  limit_settings(known, settings, rules);
  return rules;
}

// A MAC address of the interface is also that of the VF, because its driver sets it at the PF.
Result<std::string> native_network_for(const PreparedDevice& device, const KnownEntry& known,
                                       const NetworkSettings& settings, const std::string& name_space) {
  const std::string who = "device " + escaped(device.pool + "/" + device.device);
  NativeNetwork network = *device.config.network;
  network.mac = device.mac;
  if (network.runs_ipam()) {
    const bool is_users = device.config.is_ipam_claims;
    auto ipam =
        cni::canonical_ipam(kube::decode_json(network.ipam).value_or(kube::Json()),
                            {.author = is_users ? cni::Author::kNamespaceUser : cni::Author::kAdministrator,
                             .address_directory = std::string(kAddressDirectory) + "/" + name_space});
    if (!ipam) return std::move(ipam.error()).in(who + ": network.ipam");
    network.ipam = kube::encode_json(*ipam);
  }
  const cni::DefinitionRules rules = rules_for(device, known, settings, !network.creates_link());
  if (const std::string plugin(plugin_of_type(network.type)); !plugin.empty() && !rules.lists(plugin))
    return Error{Errc::kInvalid, who + ": network.type is " + network.type + ", and " + rules.plugins_source +
                                     " lists " +
                                     (rules.plugins->empty() ? "none" : join(*rules.plugins, ", ")) +
                                     ": set another type, or have " + plugin + " added to it"};
  const bool is_mac_class = !device.config.network->mac.empty() && !device.config.is_mac_claims;
  if (!network.creates_link() && !network.mac.empty() && !is_mac_class && rules.settings &&
      std::find(rules.settings->begin(), rules.settings->end(), "mac") == rules.settings->end())
    return Error{Errc::kInvalid,
                 who + ": network.mac is " + network.mac + ", and " + rules.settings_source +
                     " does not allow the setting mac: leave it out, have mac added to spec.allow of each "
                     "policy that matches the device, or have the DeviceClass set it"};
  if (device.interface.empty())
    return Error{Errc::kInvalid, who + ": network is set, and the device has no interface on the host"};
  if (const std::string_view kind = hotplug::immovable_kind(known.device);
      !network.creates_link() && !kind.empty())
    return Error{Errc::kInvalid, who + ": network is set, and the kernel does not move " + std::string(kind) +
                                     " to another network namespace: set netAttachDefName, with macvlan, "
                                     "ipvlan, vlan or bridge"};
  std::string config = native_config(network, device.interface, network.creates_link() ? device.pci : "",
                                     network.rdma.empty() ? "" : known.device.rdma_device,
                                     device.pci.empty() ? hardware_of(device) : "");
  if (config.size() > kNetworkBytesMax)
    return Error{Errc::kTooLarge, who + ": network has " + std::to_string(config.size()) +
                                      " bytes as a CNI config; expected at most " +
                                      std::to_string(kNetworkBytesMax) +
                                      ": leave out routes, rules or neighbors"};
  return config;
}

std::string remedy_of(const kube::Failure& failure, const VfConfig& config) {
  if (failure.code == Errc::kNotFound)
    return "is not there: create it in namespace " + escaped(config.nad_namespace) +
           " (and Multus' CRD, where that is missing)";
  return "cannot be read: " + failure.what +
         (failure.code == Errc::kDenied
              ? "; grant get on network-attachment-definitions (config/deploy/rbac.yaml)"
              : "");
}

class Reading final : public kube::Call {
 public:
  Reading(kube::Cluster& cluster, reactor::Scheduler& scheduler, PreparedClaim claim,
          std::vector<KnownEntry> known, NetworkSettings settings,
          std::function<void(Result<PreparedClaim>)> done)
      : cluster_(cluster),
        claim_(std::move(claim)),
        known_(std::move(known)),
        settings_(std::move(settings)),
        done_(std::move(done)) {
    turn_ = scheduler.after(Millis{0}, [this] { step(); });
  }

 private:
  void step() {
    for (; next_ < claim_.devices.size(); ++next_) {
      PreparedDevice& device = claim_.devices[next_];
      if (device.is_admin || !device.config.requires_interface()) continue;
      if (device.config.network) {
        auto native = native_network_for(device, known_[next_], settings_, claim_.namespace_);
        if (!native) return end(std::move(native.error()));
        device.network = *std::move(native);
        continue;
      }
      const auto known = configs_.find({device.config.nad_namespace, device.config.nad_name});
      if (known == configs_.end()) return get(device.config);
      auto network = network_for(device, known_[next_], known->second, settings_);
      if (!network) return end(std::move(network.error()));
      device.network = *std::move(network);
    }
    end(std::move(claim_));
  }

  void get(const VfConfig& config) {
    call_ = cluster_.get({.resource = kube::kNetworkAttachmentDefinitions,
                          .namespace_ = config.nad_namespace,
                          .name = config.nad_name},
                         {.on_done =
                              [this, &config](std::string_view object) {
                                const auto json = kube::decode_json(object);
                                auto text = json ? cni::config_of_definition(*json) : json.error();
                                if (!text) return end(Error(text.error()).in(named(config)));
                                configs_[{config.nad_namespace, config.nad_name}] = *std::move(text);
                                step();
                              },
                          .on_failure =
                              [this, &config](const kube::Failure& failure) {
                                end(Error{failure.code, named(config) + " " + remedy_of(failure, config)});
                              }});
  }

  void end(Result<PreparedClaim> outcome) {
    const auto call = std::exchange(done_, nullptr);
    call(std::move(outcome));  // last, because the owner drops this object
  }

  kube::Cluster& cluster_;
  PreparedClaim claim_;
  const std::vector<KnownEntry> known_;
  const NetworkSettings settings_;
  std::function<void(Result<PreparedClaim>)> done_;
  std::map<std::pair<std::string, std::string>, std::string> configs_;  // by namespace and name
  size_t next_ = 0;
  reactor::Ticket turn_;
  kube::CallPtr call_;
};

}  // namespace

Result<std::string> network_for(const PreparedDevice& device, const KnownEntry& known,
                                std::string_view config, const NetworkSettings& settings) {
  const std::string who = named(device.config);
  if (config.size() > kNetworkBytesMax)
    return Error{Errc::kTooLarge, who + ": spec.config has " + std::to_string(config.size()) +
                                      " bytes; expected at most " + std::to_string(kNetworkBytesMax)};
  const bool is_exclusive = device.holding.is_exclusive && device.share_id.empty();
  const cni::DefinitionDevice allocated{.pci = device.pci,
                                        .interface = device.interface,
                                        .is_exclusive = is_exclusive,
                                        .is_on_vfio = device.vfio.has_value(),
                                        .is_no_bridge = known.device.type != hotplug::DeviceType::kBridge};
  auto text = cni::canonical_definition(config, device.config.nad_name,
                                        rules_for(device, known, settings, is_exclusive), allocated);
  if (!text) return std::move(text.error()).in(who);
  // Fields that sliced adds (interface, host-local's directory) count, too: the same limit applies when the
  // text is read again.
  if (text->size() > kNetworkBytesMax)
    return Error{Errc::kTooLarge, who + ": spec.config has " + std::to_string(text->size()) +
                                      " bytes with the fields that sliced sets; expected at most " +
                                      std::to_string(kNetworkBytesMax)};
  return text;
}

kube::CallPtr read_networks(kube::Cluster& cluster, reactor::Scheduler& scheduler, PreparedClaim claim,
                            std::vector<KnownEntry> known, NetworkSettings settings,
                            std::function<void(Result<PreparedClaim>)> done) {
  return std::make_unique<Reading>(cluster, scheduler, std::move(claim), std::move(known),
                                   std::move(settings), std::move(done));
}

}  // namespace sliced::kubelet
