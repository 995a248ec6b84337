#include "policy/policy_set.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "policy/readiness/conditions.h"

namespace sliced::policy {

namespace {

template <class Key>
uint64_t entries_of(const std::vector<PfMatch<Key>>& matches) {
  uint64_t out = matches.size();
  for (const auto& match : matches) out += match.ranges.size();
  return out;
}

uint64_t entries_of(const SriovPolicy& policy) {
  uint64_t out = 1;
  for (const ResourceConfig& config : policy.configs) {
    ++out;
    for (const ResourceFilter& filter : config.filters)
      out += 1 + filter.vendors.size() + filter.devices.size() + filter.drivers.size() +
             filter.pci_addresses.size() + filter.numa_nodes.size() + entries_of(filter.pf_names) +
             entries_of(filter.pf_pci_addresses) + entries_of(filter.root_devices);
  }
  return out;
}

// Size of the DeviceAttributes that a policy can select.
struct AttributeCounts {
  uint64_t objects = 0, attributes = 0;
};

// Each selector is evaluated for each object, and all may match.
uint64_t attribute_entries_of(const SriovPolicy& policy, AttributeCounts there, uint64_t all_objects) {
  uint64_t out = 0;
  for (const ResourceConfig& config : policy.configs) {
    if (!config.attributes_selector) continue;
    uint64_t looks = 1;
    for (const kube::Requirement& one : config.attributes_selector->requirements)
      looks += 1 + one.values.size();
    out += looks * there.objects + there.attributes + all_objects;
  }
  return out;
}

uint64_t entries_of(const kube::NodeSelector& selector) {
  uint64_t out = 1;
  for (const kube::NodeSelectorTerm& term : selector.terms) {
    ++out;
    for (const auto* requirements : {&term.match_expressions, &term.match_fields})
      for (const kube::Requirement& one : *requirements) out += 1 + one.values.size();
  }
  return out;
}

}  // namespace

PolicySet make_policy_set(std::vector<Shared<SriovPolicy>> sriov,
                          std::vector<Shared<DeviceAttributes>> attributes,
                          std::vector<Shared<ExposurePolicy>> exposures) {
  std::sort(sriov.begin(), sriov.end(), [](const SriovPolicy& a, const SriovPolicy& b) {
    return std::tuple(-a.priority, a.id.name, a.id.namespace_) <
           std::tuple(-b.priority, b.id.name, b.id.namespace_);
  });
  std::sort(attributes.begin(), attributes.end(), [](const DeviceAttributes& a, const DeviceAttributes& b) {
    return std::tie(a.id.name, a.id.namespace_) < std::tie(b.id.name, b.id.namespace_);
  });
  std::sort(exposures.begin(), exposures.end(), [](const ExposurePolicy& a, const ExposurePolicy& b) {
    return std::tuple(-a.priority, a.id.name) < std::tuple(-b.priority, b.id.name);
  });
  PolicySet out{std::move(sriov), std::move(attributes), std::move(exposures)};
  std::map<std::string_view, AttributeCounts> there;  // by namespace
  for (const DeviceAttributes& object : out.attributes) {
    AttributeCounts& counts = there[object.id.namespace_];
    ++counts.objects;
    counts.attributes += object.attributes.size() + object.refused.size();
  }
  for (const SriovPolicy& policy : out.sriov) {
    out.filter_entries.push_back(entries_of(policy));
    out.attribute_entries.push_back(
        attribute_entries_of(policy, there[policy.id.namespace_], out.attributes.size()));
    out.node_selector_entries += entries_of(policy.node_selector);
    out.looks_back |= looks_back(policy.readiness);
    out.holds_binding |= policy.readiness.hold_binding.value_or(false);
    out.asks_node_state |= asks_node_state(policy.readiness);
  }
  for (const ExposurePolicy& policy : out.exposures) {
    out.looks_back |= looks_back(policy.readiness);
    out.holds_binding |= policy.readiness.hold_binding.value_or(false);
    out.asks_node_state |= asks_node_state(policy.readiness);
  }
  return out;
}

}  // namespace sliced::policy
