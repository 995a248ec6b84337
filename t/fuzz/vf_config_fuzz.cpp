// VfConfigs of a class and of a claim: one line of JSON each, which whoever may make either has chosen.
#include "kube/objects/json.h"
#include "kube/objects/names.h"
#include "kubelet/vf_config.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::vf_config_target {

namespace {

constexpr const char* kDriver = "sriovnetwork.k8snetworkplumbingwg.io";

// May be half a file's path, half an argument.
void check(const kubelet::VfConfig& config, bool has_class) {
  fuzz::must(config.driver.empty() || config.driver == "default" || config.driver == kubelet::kVfioDriver,
             "a driver is one that is known", config.driver);
  fuzz::must(config.if_name.size() < 16 && config.if_name.find('/') == std::string::npos,
             "an interface's name fits the kernel", config.if_name);
  fuzz::must(config.nad_name.empty() || kube::is_dns_subdomain(config.nad_name), "a definition is an object",
             config.nad_name);
  fuzz::must(config.nad_name.empty() == config.nad_namespace.empty(), "a definition has a namespace");
  fuzz::must(has_class || config.nad_name.empty() || config.nad_namespace == "ns",
             "a claim names definitions of its own namespace", config.nad_namespace);
  fuzz::must(config.nad_name.empty() || !config.network, "one thing gives the pod its interface");
  if (!config.network) return;
  const auto again =
      kubelet::decode_native_network(kubelet::encode_native_network(*config.network), "network");
  fuzz::must(again && *again == *config.network, "a network is in its canonical form");
}

}  // namespace

FUZZ_TARGET(vf_config) {
  fuzz::Input input(data, size);
  kubelet::Claim claim{.namespace_ = "ns", .name = "c", .uid = "u"};
  bool has_class = false;
  while (!input.rest.empty() && claim.configs.size() < kubelet::kClaimConfigsMax) {
    const uint8_t kind = input.byte();
    auto parameters = kube::decode_json(input.until('\n'), {});
    if (!parameters) continue;
    kubelet::AllocatedConfig config{
        .is_claims = (kind & 1) != 0, .has_opaque = (kind & 2) == 0, .driver = kDriver};
    if ((kind & 4) != 0) config.requests = {"a"};
    config.parameters = std::move(*parameters);
    config.path = "status.allocation.devices.config[" + std::to_string(claim.configs.size()) + "]";
    has_class |= !config.is_claims;
    claim.configs.push_back(std::move(config));
  }
  const auto configs = kubelet::VfConfigs::decode(claim, kDriver);
  if (!configs) return fuzz::check(configs.error()), 0;
  for (const char* request : {"a", "a/b", "b"}) {
    const auto merged = configs->of(request);
    if (merged)
      check(*merged, has_class);
    else
      fuzz::check(merged.error());
  }
  const auto whole = configs->of("a"), part = configs->of("a/b");
  fuzz::must(whole.ok() == part.ok() && (!whole || *whole == *part),
             "a configuration for a request is for its sub-requests");
  const auto other = kubelet::VfConfigs::decode(claim, "dra.networking")->of("a");
  fuzz::must(other && *other == kubelet::VfConfig{}, "a configuration for another driver sets nothing");
  return 0;
}

}  // namespace sliced::fuzz::vf_config_target
