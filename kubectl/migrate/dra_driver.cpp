#include "kubectl/migrate/dra_driver.h"

#include <algorithm>
#include <set>

#include "kube/objects/kinds.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr std::string_view kFilterKind = "SriovResourceFilter";
// dra-driver-sriov used sriovnetwork.openshift.io until 2025-11.
constexpr std::string_view kGroups[] = {"sriovnetwork.k8snetworkplumbingwg.io/",
                                        "sriovnetwork.openshift.io/"};
// Annotation of a policy that was a SriovResourceFilter. apply and --check both read the former kind from it.
constexpr std::string_view kWasFilter = "networking.dra.io/migrated-from";

bool was_filter(const ConvertedObject& made) {
  return made.object.find({"metadata", "annotations", kWasFilter}) != nullptr;
}

Result<Json> own_metadata(const Json& object, bool is_filter) {
  auto meta = portable_metadata(object);
  if (!meta || !is_filter) return meta;
  Json annotations = Json::Object{};
  if (const Json* before = meta->find("annotations")) annotations = *before;
  annotations.set(kWasFilter, std::string(kFilterKind));
  meta->set("annotations", std::move(annotations));
  return meta;
}

struct DraPolicy {
  const std::string& file;
  const std::string who;
  Complaints& complaints;
  void warn(const Json& at, const std::string& what) {
    complaints.warning({file, at.line()}, who + ": " + what);
  }
};

const Json::Array& list_in(const Json& value, std::string_view field) {
  static const Json::Array none;
  const Json* list = value.find(field);
  return list != nullptr && list->array() != nullptr ? *list->array() : none;
}

// Warns about fields that the driver's API does not define and that its decoder ignores
// (pkg/api/sriovdra/v1alpha1/api.go).
void warn_of_own_fields(DraPolicy& in, const Json& map, const std::string& where,
                        std::initializer_list<std::string_view> known) {
  if (map.object() == nullptr) return;
  for (const auto& [key, value] : *map.object())
    if (std::find(known.begin(), known.end(), key) == known.end())
      in.warn(value,
              where + escaped(key, 64) +
                  " is not a field of dra-driver-sriov, which ignores it; sliced obeys it where it knows it");
}

void look_at_own_fields(DraPolicy& in, const Json& spec) {
  warn_of_own_fields(in, spec, "spec.", {"nodeSelector", "configs"});
  for (const Json& config : list_in(spec, "configs")) {
    warn_of_own_fields(in, config, "configs: ", {"deviceAttributesSelector", "resourceFilters"});
    for (const Json& filter : list_in(config, "resourceFilters"))
      warn_of_own_fields(
          in, filter, "resourceFilters: ",
          {"vendors", "devices", "pciAddresses", "pfNames", "pfPciAddresses", "drivers", "linkType"});
  }
}

void look_at_filter(DraPolicy& in, const Json& filter) {
  if (!list_in(filter, "drivers").empty())
    in.warn(*filter.find("drivers"),
            "drivers is obeyed here, and dra-driver-sriov ignores it: VFs with another driver "
            "were offered, and are not any more");
  for (const std::string_view field : {"pfNames", "pfPciAddresses"})
    for (const Json& item : list_in(filter, field))
      if (item.string() != nullptr && item.string()->find('#') != std::string::npos)
        in.warn(
            item,
            std::string(field) + " has " + in_quotes(*item.string(), 64) +
                ", which dra-driver-sriov takes for a name: it matched nothing, and here these VFs are offered");
}

void look_at_nodes(DraPolicy& in, const Json& spec) {
  const Json* nodes = spec.find("nodeSelector");
  if (nodes == nullptr) return;
  for (const Json& term : list_in(*nodes, "nodeSelectorTerms")) {
    if (!list_in(term, "matchFields").empty())
      in.warn(*term.find("matchFields"),
              "matchFields is obeyed here, and dra-driver-sriov ignores it: other nodes had "
              "their devices offered, and have not any more");
    for (const Json& expression : list_in(term, "matchExpressions"))
      if (const auto op = expression.text("operator"); op == "Gt" || op == "Lt")
        in.warn(expression, "operator " + std::string(op) +
                                " is obeyed here, and dra-driver-sriov ignores its term: its "
                                "nodes had no devices offered, and have now");
  }
}

// The first versions' rootDevices named the bridge above the PF (host.go, GetParentPciAddress). A policy
// compares the addresses with the PF's own.
void refuse_root_devices(DraPolicy& in, const Json& object) {
  const Json* spec = object.find("spec");
  if (spec == nullptr) return;
  for (const Json& config : list_in(*spec, "configs"))
    for (const Json& filter : list_in(config, "resourceFilters"))
      if (!list_in(filter, "rootDevices").empty())
        in.complaints.error(
            {in.file, filter.find("rootDevices")->line()},
            in.who +
                ": rootDevices of a SriovResourceFilter is the PCI bridge above the PF, which no policy "
                "selects by: write the addresses of the PFs below it as pfPciAddresses (ls "
                "/sys/bus/pci/devices/BRIDGE/), or their names as pfNames");
}

// sliced reads the policies of one namespace, as dra-driver-sriov does.
void move_to_namespace(DraPolicy& in, const Json& object, const std::string& to, Json& meta) {
  const std::string from(meta.text("namespace"));
  if (from == to) return;
  if (!from.empty())
    in.warn(object, "is in namespace " + escaped(from) + ", where sliced does not look: it is printed for " +
                        escaped(to) + "; for another namespace set --namespace");
  meta.set("namespace", to);
}

void look_at_policy(DraPolicy& in, const Json& object) {
  const Json* spec = object.find("spec");
  if (spec == nullptr || spec->object() == nullptr) return;
  look_at_nodes(in, *spec);
  for (const Json& config : list_in(*spec, "configs"))
    for (const Json& filter : list_in(config, "resourceFilters")) look_at_filter(in, filter);
  if (object.text("kind") != kFilterKind) look_at_own_fields(in, *spec);
}

// Removes the parts of the policy that dra-driver-sriov ignores.
void forget_what_is_passed_over(policy::SriovPolicy& policy, bool was_filter) {
  policy.priority = 0;
  policy.host_use.is_any = true;
  policy.readiness = {};
  auto& terms = policy.node_selector.terms;
  std::erase_if(terms, [](const kube::NodeSelectorTerm& term) {
    return std::any_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [](const kube::Requirement& one) {
                         return one.op == kube::Operator::kGt || one.op == kube::Operator::kLt;
                       });
  });
  // There a term without expressions is an empty label selector, which every node matches.
  const bool has_open = std::any_of(terms.begin(), terms.end(), [](const kube::NodeSelectorTerm& term) {
    return term.match_expressions.empty();
  });
  if (has_open) policy.node_selector = {};
  for (kube::NodeSelectorTerm& term : policy.node_selector.terms) term.match_fields.clear();
  for (policy::ResourceConfig& config : policy.configs) {
    if (!was_filter) config.resource_name.clear();
    for (policy::ResourceFilter& filter : config.filters) {
      filter.drivers.clear();
      filter.root_devices.clear();
      if (!was_filter) filter.numa_nodes.clear();
      // No PF has a name with '#'. A list of such names only still restricts the filter: it matches no
      // device.
      const bool asks = !filter.pf_names.empty(), asks_address = !filter.pf_pci_addresses.empty();
      std::erase_if(filter.pf_names, [](const auto& match) { return !match.ranges.empty(); });
      std::erase_if(filter.pf_pci_addresses, [](const auto& match) { return !match.ranges.empty(); });
      if ((asks && filter.pf_names.empty()) || (asks_address && filter.pf_pci_addresses.empty()))
        filter.pf_names = {{"#", {}}};
    }
  }
}

}  // namespace

bool is_of_dra_driver(const Json& object) {
  const std::string_view kind = object.text("kind");
  const std::string_view api = object.text("apiVersion");
  if (kind != kFilterKind && kind != kube::kSriovResourcePolicies.kind &&
      kind != kube::kDeviceAttributes.kind)
    return false;
  return std::any_of(std::begin(kGroups), std::end(kGroups),
                     [&](std::string_view group) { return api.starts_with(group); });
}

void read_dra_object(const Json& object, const std::string& file, const Target& target,
                     std::vector<ConvertedObject>& out, Complaints& complaints) {
  const Place place{file, object.line()};
  const bool is_filter = object.text("kind") == kFilterKind;
  const std::string kind(is_filter ? kube::kSriovResourcePolicies.kind : object.text("kind"));
  auto meta = own_metadata(object, is_filter);
  if (!meta) return complaints.error(place, std::string(object.text("kind")) + ": " + meta.error().what);
  const std::string name = escaped(meta->text("name"));
  DraPolicy in{file, std::string(object.text("kind")) + " " + name, complaints};
  move_to_namespace(in, object, target.namespace_, *meta);
  if (is_filter) refuse_root_devices(in, object);
  ConvertedObject made{{"From " + escaped(file) + ":" + std::to_string(object.line()) + ", " +
                        std::string(object.text("kind")) + " " + name + "."},
                       Json::Object{}};
  made.object.set("apiVersion", kube::api_version(kube::kSriovResourcePolicies));
  made.object.set("kind", kind);
  made.object.set("metadata", *meta);
  if (const Json* spec = object.find("spec")) made.object.set("spec", *spec);
  if (kind == kube::kSriovResourcePolicies.kind) look_at_policy(in, object);
  std::vector<ConvertedObject> one{std::move(made)};
  check(one, target, place, complaints);
  out.push_back(std::move(one.front()));
}

void check_filters(const std::vector<ConvertedObject>& objects, Complaints& complaints) {
  const auto count = std::count_if(objects.begin(), objects.end(), was_filter);
  if (count == 0) return;
  const Place place{"SriovResourceFilter", 0};
  complaints.warning(
      place,
      "it named devices that were all offered; its SriovResourcePolicy offers those that it names, and "
      "no others: --check shows them");
  if (count > 1)
    complaints.warning(
        place,
        "of several that select a node none counted; of policies each does, in the order of their names");
}

Before by_dra_driver(const std::vector<ConvertedObject>& objects, const hotplug::InventoryPtr& inventory,
                     const kube::NodeView& node, const Target& target) {
  const policy::PolicySet all = policies_among(objects, target);
  std::vector<policy::SriovPolicy> policies;
  std::set<std::string_view> filters;
  for (const ConvertedObject& made : objects)
    if (was_filter(made)) filters.insert(made.object.find("metadata")->text("name"));
  for (const auto& policy : all.sriov) {
    policies.push_back(*policy);
    forget_what_is_passed_over(policies.back(), filters.contains(policy->id.name));
  }
  if (std::any_of(objects.begin(), objects.end(), was_filter)) {
    // With one filter for the node all its devices were offered, with several none.
    size_t selecting = 0;
    for (const policy::SriovPolicy& policy : policies)
      selecting += match_node(policy.node_selector, node).matched;
    if (selecting > 1) policies.clear();
    policy::SriovPolicy rest;
    rest.id = {target.namespace_, "~"};
    rest.priority = -1;
    rest.host_use.is_any = true;
    rest.configs.emplace_back();
    policies.push_back(std::move(rest));
  }
  const OfferedResources offered = offered_resources(
      policy::make_policy_set(policy::share(std::move(policies)), all.attributes), inventory, node, target);
  return [resources = offered.resources](const hotplug::HostDevice& device) {
    const auto found = resources.find(device.id.text);
    return found != resources.end() ? found->second : std::string();
  };
}

}  // namespace sliced::migrate
