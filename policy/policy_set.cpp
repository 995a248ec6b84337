#include "policy/policy_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

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
  for (const SriovPolicy& policy : out.sriov) {
    out.filter_entries.push_back(entries_of(policy));
    out.node_selector_entries += entries_of(policy.node_selector);
  }
  return out;
}

}  // namespace sliced::policy
