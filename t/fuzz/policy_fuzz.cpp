// Policies in YAML or JSON, by whoever may write them. What is not understood offers nothing.
#include <set>

#include "kube/directory/manifest.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/attributes.h"
#include "policy/exposure/decode_policy.h"
#include "t/fixture/vf_host.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::policy_target {

namespace {

constexpr const char* kDriver = "sriovnetwork.k8snetworkplumbingwg.io";

std::set<std::string> offered(std::vector<policy::SriovPolicy> policies,
                              std::vector<policy::DeviceAttributes> attributes) {
  static const hotplug::InventoryPtr host =
      fixture::VfHost().pf("0000:3b:00.0", "ens1f0", 4).pf("0000:5e:00.0", "ens2f0", 2, "15b3").inventory();
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = host;
  inputs->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(policies)), policy::share(std::move(attributes))));
  inputs->node = {"node-a", {{"zone", "a"}}};
  const policy::Decision decision = policy::decide(std::move(inputs));
  for (const auto& [id, verdict] : decision.verdicts) fuzz::check_text(policy::explain(decision, id).summary);
  std::set<std::string> names;
  for (const auto& [driver, pools] : decision.pools)
    for (const auto& pool : pools)
      for (const kube::Device& device : pool.devices) {
        names.insert(device.name);
        fuzz::must(kube::validate_device(device).empty(), "what is offered would be taken", device.name);
      }
  return names;
}

void try_policy(kube::Json object) {
  const policy::SriovPolicy decoded = policy::decode_sriov_policy(object);
  fuzz::check_problems(decoded.problems);
  for (const auto& config : decoded.configs) fuzz::check_problems(config.problems);
  fuzz::check_problems(policy::warnings_of(decoded));
  const auto names = offered({decoded}, {});
  if (!decoded.problems.empty()) fuzz::must(names.empty(), "a policy that is not understood offers nothing");
  // An unknown field in the spec offers nothing, whatever else stands there.
  const kube::Json* spec = object.find("spec");
  if (spec == nullptr || spec->object() == nullptr || spec->find("vendorz") != nullptr) return;
  kube::Json misspelt = *spec;
  misspelt.set("vendorz", "8086");
  object.set("spec", std::move(misspelt));
  fuzz::must(offered({policy::decode_sriov_policy(object)}, {}).empty(), "an unknown field offers nothing");
}

// Whatever a policy is understood to say, its entries are such as the API server takes.
void try_exposure(kube::Json object) {
  static const policy::EntryAttributes attributes{std::string(policy::kExposureDriver)};
  const policy::ExposurePolicy decoded = policy::decode_exposure_policy(object);
  fuzz::check_problems(decoded.problems);
  fuzz::check_problems(policy::warnings_of(decoded));
  if (decoded.problems.empty()) {
    const policy::Exposure& exposure = decoded.exposure;
    std::vector<std::string> notes;
    const hotplug::HostDevice pf{.type = hotplug::DeviceType::kPf};
    const auto persona = attributes.persona_of(exposure, pf.type, /*takes_lists=*/true);
    const kube::Device entry{.name = "0000-03-00-0" + exposure.name_suffix,
                             .attributes = attributes.of({pf}, persona, notes),
                             .capacity = exposure.capacity,
                             .allow_multiple_allocations = exposure.allow_multiple_allocations};
    const auto refused = kube::validate_device(entry);
    fuzz::must(refused.empty(), "what is understood would be taken", refused.empty() ? "" : refused[0].what);
    fuzz::must(!exposure.allow_multiple_allocations || !entry.capacity.empty(),
               "what is shared has a capacity");
  }
  const kube::Json* spec = object.find("spec");
  if (spec == nullptr || spec->object() == nullptr || spec->find("priorty") != nullptr) return;
  kube::Json misspelt = *spec;
  misspelt.set("priorty", 7);
  object.set("spec", std::move(misspelt));
  const policy::ExposurePolicy again = policy::decode_exposure_policy(object);
  fuzz::must(!again.problems.empty(), "an unknown field is a problem");
  fuzz::must(again.action == decoded.action, "and does not change what the action was understood to be");
}

}  // namespace

FUZZ_TARGET(policy) {
  fuzz::Input input(data, size);
  const kube::Manifest manifest = kube::decode_manifest(input.rest, "ns");
  fuzz::check_problems(manifest.problems);
  fuzz::check_problems(manifest.remarks);
  for (const auto& object : manifest.objects) try_policy(object.value);
  for (const kube::Json& document : fuzz::documents_of(input.rest)) {
    try_policy(document);
    try_exposure(document);
    const auto attributes = policy::decode_device_attributes(document, kDriver);
    fuzz::check_problems(attributes.problems);
    for (const auto& [key, value] : attributes.attributes)
      fuzz::must(!policy::is_reserved_attribute(key, kDriver), "a reserved key is refused", key.str());
    // Written as YAML it says the same.
    const auto again = kube::decode_yaml(kube::encode_yaml(document));
    fuzz::must(again.problems.empty() && again.documents.size() == 1 && again.documents[0] == document,
               "YAML survives being written", kube::encode_yaml(document));
  }
  return 0;
}

}  // namespace sliced::fuzz::policy_target
