#include "policy/footprint.h"

#include <string>
#include <type_traits>
#include <variant>

namespace sliced::policy {
namespace {

constexpr size_t kBlock = 16;             // allocator overhead of a block
constexpr size_t kMapNode = kBlock + 32;  // plus that of a tree node

size_t owned(const std::string& text) {
  // NOLINTNEXTLINE(bugprone-sizeof-container): a short text is within the object, in the half behind pointer and size
  return text.capacity() < sizeof(text) / 2 ? 0 : kBlock + text.capacity();
}
size_t owned(const SharedText& text) { return kBlock + sizeof(std::string) + owned(text.str()); }
size_t owned(const kube::Quantity& quantity) { return owned(quantity.text()); }
size_t owned(const kube::Requirement& one);
size_t owned(const kube::NodeSelectorTerm& one);
size_t owned(const kube::Capacity& one);
size_t owned(const Problem& one) { return owned(one.field) + owned(one.what); }
size_t owned(const kube::Version& one) { return owned(one.text); }
size_t owned(const ResourceFilter& one);
size_t owned(const ResourceConfig& one);
size_t owned(const CniPlugin& one);
template <class T>
  requires std::is_trivially_copyable_v<T>
size_t owned(const T&) {
  return 0;
}
template <class Key>
size_t owned(const PfMatch<Key>& one);

template <class T>
size_t owned(const std::vector<T>& all) {
  size_t bytes = all.capacity() == 0 ? 0 : kBlock + all.capacity() * sizeof(T);
  for (const T& one : all) bytes += owned(one);
  return bytes;
}
template <class Key, class T>
size_t owned(const std::map<Key, T>& all) {
  size_t bytes = 0;
  for (const auto& [key, value] : all)
    bytes += kMapNode + sizeof(Key) + sizeof(T) + owned(key) + owned(value);
  return bytes;
}
size_t owned(const Problems& all) {
  size_t bytes = 0;
  for (const Problem& one : all) bytes += 2 * sizeof(Problem) + owned(one);
  return bytes;
}
size_t owned(const kube::AttributeValue& value) {
  return std::visit([](const auto& one) { return owned(one); }, value);
}
size_t owned(const kube::Attributes& all) {
  size_t bytes = 0;
  for (const auto& [key, value] : all)
    bytes += 2 * sizeof(kube::Attributes::value_type) + owned(key) + owned(value);
  return bytes;
}

size_t owned(const kube::Requirement& one) { return owned(one.key) + owned(one.values); }
size_t owned(const kube::NodeSelectorTerm& one) {
  return owned(one.match_expressions) + owned(one.match_fields);
}
size_t owned(const kube::Capacity& one) {
  size_t bytes = owned(one.value);
  if (!one.request_policy) return bytes;
  for (const kube::Quantity& value : one.request_policy->valid_values)
    bytes += 2 * sizeof(value) + owned(value);
  return bytes + 4 * kBlock;  // default, min, max and step
}
template <class Key>
size_t owned(const PfMatch<Key>& one) {
  return owned(one.pf) + owned(one.ranges);
}
size_t owned(const ResourceFilter& one) {
  return owned(one.vendors) + owned(one.devices) + owned(one.drivers) + owned(one.pci_addresses) +
         owned(one.pf_names) + owned(one.pf_pci_addresses) + owned(one.root_devices) + owned(one.numa_nodes) +
         owned(one.link_type);
}
size_t owned(const ResourceConfig& one) {
  return owned(one.resource_name) +
         (one.attributes_selector ? owned(one.attributes_selector->requirements) : 0) + owned(one.filters) +
         owned(one.problems) + owned(one.remarks);
}
size_t owned(const CniPlugin& one) { return owned(one.name) + owned(one.consume_per_allocation); }

// Memory of the maps and counts that contain the object.
constexpr size_t kPlaces = 3;
size_t places(const std::string& namespace_, const std::string& name) {
  return kPlaces * (kMapNode + 2 * sizeof(std::string) + owned(namespace_) + owned(name)) + 2 * kBlock;
}

}  // namespace

size_t footprint(const SriovPolicy& policy) {
  return sizeof(policy) + places(policy.id.namespace_, policy.id.name) + owned(policy.uid) +
         owned(policy.manager) + owned(policy.node_selector.terms) + owned(policy.configs) +
         owned(policy.problems);
}

size_t footprint(const DeviceAttributes& object) {
  return sizeof(object) + places(object.id.namespace_, object.id.name) + owned(object.labels) +
         owned(object.attributes) + owned(object.refused) + owned(object.problems);
}

size_t footprint(const Exposure& exposure) {
  return owned(exposure.name_suffix) + owned(exposure.exclusion_group) + owned(exposure.capacity) +
         owned(exposure.plugins) + owned(exposure.additional_attributes);
}

size_t footprint(const ExposurePolicy& policy) {
  const Exposure& exposure = policy.exposure;
  return sizeof(policy) + places("", policy.id.name) + owned(policy.uid) + owned(policy.manager) +
         owned(policy.node_selector.terms) + owned(policy.selector.cel) + footprint(exposure) +
         owned(policy.problems) +
         (policy.last_understood != nullptr ? footprint(*policy.last_understood) : 0);
}

}  // namespace sliced::policy
