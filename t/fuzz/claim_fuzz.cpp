// ResourceClaims, whose parameters whoever may make one has chosen. What is not understood prepares nothing, and what
// is planned can be given to a container.
#include "kubelet/cdi/spec.h"
#include "kubelet/claim.h"
#include "kubelet/plan.h"
#include "kubelet/safety.h"
#include "policy/identity.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::claim_target {

namespace {

std::optional<kubelet::KnownEntry> known(const std::string&, const std::string&, const std::string& entry) {
  const auto function = policy::function_named_by(entry);
  if (!function) return std::nullopt;
  kubelet::KnownEntry out;
  out.device.pci = function;
  out.device.id.text = function->text();
  out.holding = {.entry = entry, .device = function->text(), .base = policy::function_name(*function)};
  return out;
}

bool has_class_config(const kubelet::Claim& claim) {
  for (const auto& config : claim.configs)
    if (!config.is_claims) return true;
  return false;
}

void try_plan(const kubelet::Claim& claim, const std::string& driver) {
  auto planned = kubelet::plan(claim, driver, known, {}, {.names_interfaces = true});
  if (!planned) return fuzz::check(planned.error());
  for (kubelet::PreparedDevice& device : planned->devices) {
    const auto& config = device.config;
    if (!has_class_config(claim))
      fuzz::must(config.nad_namespace.empty() || config.nad_namespace == claim.namespace_,
                 "a claim names definitions of its own namespace", config.nad_namespace);
    fuzz::must(config.if_name.size() < 16, "an interface's name fits the kernel", config.if_name);
    fuzz::must(!(device.vfio && device.is_admin), "who looks on binds nothing");
    device.edits = kubelet::edits_of(device, {.vfio_group = "7"});
    fuzz::check_text(kubelet::refusal(*planned, device, *known(driver, device.pool, device.device), {}));
  }
  fuzz::check_text(kubelet::conflict_within(*planned));
  if (planned->devices.empty()) return;
  // Names that the API server takes make a spec; others are refused before anything is written.
  if (const auto text = cdi::encode_spec(kubelet::claim_spec(*planned)); text)
    fuzz::must(cdi::decode_spec(*text).ok(), "a spec is read again", *text);
  else
    fuzz::check(text.error());
}

}  // namespace

FUZZ_TARGET(claim) {
  const fuzz::Input input(data, size);
  const auto claim = kubelet::decode_claim(input.rest);
  if (!claim) return fuzz::check(claim.error()), 0;
  const auto checked = kubelet::check_claim(*claim, {claim->namespace_, claim->name, "uid"}, {"node-a", {}});
  if (!checked) fuzz::check(checked.error());
  for (const char* driver : {"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"})
    try_plan(*claim, driver);
  return 0;
}

}  // namespace sliced::fuzz::claim_target
