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

// nullopt: nothing is to be changed.
Result<std::optional<Json>> standing_on(const Json& plugin, const PreparedDevice& device) {
  const auto at = std::find_if(kStandsOn.begin(), kStandsOn.end(),
                               [&](const auto& one) { return one.first == plugin.text("type"); });
  if (at == kStandsOn.end() || device.interface.empty()) return std::optional<Json>();
  const Json* said = plugin.find(at->second);
  // host-device takes a function by its address, too.
  if (said == nullptr && at->first == "host-device" && !device.pci.empty()) return std::optional<Json>();
  if (said != nullptr && said->string() != nullptr && *said->string() == device.interface)
    return std::optional<Json>();
  if (said != nullptr && said->string() != nullptr && !said->string()->empty())
    return Error{Errc::kInvalid, std::string(at->second) + " is " + in_quotes(*said->string(), 64) +
                                     ", and the claim was allocated " + in_quotes(device.interface, 64) +
                                     ": leave " + std::string(at->second) + " out"};
  Json changed = plugin;
  changed.set(at->second, Json(device.interface));
  return std::optional<Json>(std::move(changed));
}

Result<std::string> put_device(Json config, const PreparedDevice& device) {
  const Json* list = config.find("plugins");
  const Json first = list != nullptr ? list->array()->front() : config;
  auto changed = standing_on(first, device);
  if (!changed) return std::move(changed.error());
  if (!*changed) return kube::encode_json(config);
  if (list == nullptr) return kube::encode_json(**changed);
  Json plugins = *list;
  plugins.array()->front() = *std::move(*changed);
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
