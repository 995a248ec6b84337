#include "kubelet/interfaces/networks.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cni/network.h"
#include "kube/kinds.h"
#include "kubelet/safety.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

// What changes an interface that another plugin of the chain has made, and takes none itself.
constexpr std::array<std::string_view, 8> kCompanions = {"bandwidth",      "firewall", "portmap", "rdma",
                                                         "route-override", "sbr",      "tuning",  "vrf"};
// The field by which a plugin knows the host's interface that it stands on.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStandsOn = {
    {{"bridge", "bridge"},
     {"host-device", "device"},
     {"ipvlan", "master"},
     {"macvlan", "master"},
     {"macvtap", "master"},
     {"vlan", "master"}}};

std::string named(const VfConfig& config) {
  return "NetworkAttachmentDefinition " + escaped(config.nad_namespace) + "/" + escaped(config.nad_name);
}

Result<Unit> check_plugins(const cni::Network& network, const KnownEntry& known) {
  for (size_t i = 0; i < network.plugins.size(); ++i) {
    const std::string& type = network.plugins[i].type;
    if (i > 0 && std::find(kCompanions.begin(), kCompanions.end(), type) != kCompanions.end()) continue;
    if (const std::string why = refusal_of_cni(known, type); !why.empty()) return Error{Errc::kInvalid, why};
  }
  return Unit{};
}

// "" of one that is not there, or is null.
std::string said_in(const Json& plugin, std::string_view field) {
  const Json* value = plugin.find(field);
  if (value == nullptr || value->is_null()) return "";
  return value->string() != nullptr ? *value->string() : kube::encode_json(*value);
}

Error names_another(std::string_view field, std::string_view said, std::string_view allocated) {
  return {Errc::kInvalid, std::string(field) + " is " + in_quotes(said, 64) +
                              ", and the claim was allocated " +
                              (allocated.empty() ? "no such thing" : in_quotes(allocated, 64)) + ": leave " +
                              std::string(field) + " out"};
}

// Ways to name a device beside the one that it is told. An address of ours takes the place of what is written there, but
// a device that others have, too, is no argument.
Result<Unit> check_addresses(const Json& plugin, const PreparedDevice& device) {
  const bool is_told = !device.pci.empty() && device.holding.is_exclusive && device.share_id.empty();
  for (const char* field : {"deviceID", "pciBusID"})
    if (const std::string said = said_in(plugin, field); !is_told && !said.empty() && said != device.pci)
      return names_another(field, said, device.pci);
  if (plugin.text("type") != "host-device") return Unit{};
  for (const char* field : {"hwaddr", "kernelpath", "runtimeConfig"})
    if (const std::string said = said_in(plugin, field); !said.empty()) return names_another(field, said, "");
  return Unit{};
}

// nullopt: nothing is to be changed.
Result<std::optional<Json>> standing_on(const Json& plugin, const PreparedDevice& device) {
  if (auto good = check_addresses(plugin, device); !good) return std::move(good.error());
  const auto at = std::find_if(kStandsOn.begin(), kStandsOn.end(),
                               [&](const auto& one) { return one.first == plugin.text("type"); });
  if (at == kStandsOn.end()) return std::optional<Json>();
  // What another plugin has made in the sandbox is no interface of the host's.
  if (const Json* inside = plugin.find("linkInContainer"); inside != nullptr && *inside == Json(true))
    return std::optional<Json>();
  const std::string said = said_in(plugin, at->second);
  if (!said.empty() && said != device.interface) return names_another(at->second, said, device.interface);
  // It takes a function by its address, too.
  if (at->first == "host-device" && !device.pci.empty()) return std::optional<Json>();
  if (device.interface.empty())
    return Error{Errc::kInvalid,
                 "type is " + in_quotes(at->first) +
                     ", which stands on an interface of the host, and the device has none: use "
                     "a plugin that takes a function, such as sriov"};
  if (!said.empty()) return std::optional<Json>();
  Json changed = plugin;
  changed.set(at->second, Json(device.interface));
  return std::optional<Json>(std::move(changed));
}

Result<std::string> put_device(Json config, const PreparedDevice& device) {
  const Json* list = config.find("plugins");
  if (list == nullptr) {
    auto changed = standing_on(config, device);
    if (!changed) return std::move(changed.error());
    return kube::encode_json(*changed ? **changed : config);
  }
  Json plugins = *list;
  for (size_t i = 0; i < plugins.array()->size(); ++i) {
    Json& plugin = (*plugins.array())[i];
    auto changed = standing_on(plugin, device);
    if (!changed) return std::move(changed.error()).in("plugins[" + std::to_string(i) + "]");
    if (*changed) plugin = *std::move(*changed);
  }
  config.set("plugins", std::move(plugins));
  return kube::encode_json(config);
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
          std::vector<KnownEntry> known, std::function<void(Result<PreparedClaim>)> done)
      : cluster_(cluster), claim_(std::move(claim)), known_(std::move(known)), done_(std::move(done)) {
    turn_ = scheduler.after(Millis{0}, [this] { step(); });
  }

 private:
  void step() {
    for (; next_ < claim_.devices.size(); ++next_) {
      PreparedDevice& device = claim_.devices[next_];
      if (device.is_admin || device.config.nad_name.empty()) continue;
      const auto known = configs_.find({device.config.nad_namespace, device.config.nad_name});
      if (known == configs_.end()) return get(device.config);
      auto network = network_for(device, known_[next_], known->second);
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
    call(std::move(outcome));  // last statement: *this may be gone
  }

  kube::Cluster& cluster_;
  PreparedClaim claim_;
  const std::vector<KnownEntry> known_;
  std::function<void(Result<PreparedClaim>)> done_;
  std::map<std::pair<std::string, std::string>, std::string> configs_;  // by namespace and name
  size_t next_ = 0;
  reactor::Ticket turn_;
  kube::CallPtr call_;
};

}  // namespace

Result<std::string> network_for(const PreparedDevice& device, const KnownEntry& known,
                                std::string_view config) {
  const std::string who = named(device.config);
  if (config.size() > kNetworkBytesMax)
    return Error{Errc::kTooLarge, who + ": spec.config has " + std::to_string(config.size()) +
                                      " bytes; want at most " + std::to_string(kNetworkBytesMax)};
  const auto network = cni::decode_network(config, device.config.nad_name);
  if (!network) return Error(network.error()).in(who);
  if (auto good = check_plugins(*network, known); !good) return std::move(good.error()).in(who);
  auto text = put_device(*kube::decode_json(config), device);
  if (!text) return std::move(text.error()).in(who + ": spec.config");
  return text;
}

kube::CallPtr read_networks(kube::Cluster& cluster, reactor::Scheduler& scheduler, PreparedClaim claim,
                            std::vector<KnownEntry> known, std::function<void(Result<PreparedClaim>)> done) {
  return std::make_unique<Reading>(cluster, scheduler, std::move(claim), std::move(known), std::move(done));
}

}  // namespace sliced::kubelet
