#include "watchers/slice_watcher.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kube/objects/kinds.h"

namespace sliced::watchers {
namespace {

// Slices are not stored as text.
constexpr size_t kListBytesMax = 512u << 20;

Result<kube::ResourceSlice> decode_slice(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object, kube::kSliceLimits);
  if (!json.ok()) return std::move(json.error());
  return kube::decode_resource_slice(*json);
}

Result<kube::ResourceSlice> salvage_slice(std::string_view object) {
  auto slice = decode_slice(object);
  if (slice.ok()) return slice;
  const auto json = kube::decode_json(object, kube::kSliceLimits);
  if (!json.ok()) return slice;
  auto part = kube::salvage_resource_slice(*json);
  return part.ok() && !part->driver.empty() && !part->node_name.empty() ? part : slice;
}

constexpr size_t kBlock = 16;             // allocator overhead of a block
constexpr size_t kMapNode = kBlock + 32;  // plus that of a tree node

size_t owned(const std::string& text) { return text.size() < 16 ? 0 : kBlock + text.capacity(); }
size_t owned(const std::map<std::string, std::string>& all) {
  size_t bytes = 0;
  for (const auto& [key, value] : all)
    bytes += kMapNode + 2 * sizeof(std::string) + owned(key) + owned(value);
  return bytes;
}
size_t owned(const std::vector<std::string>& all) {
  size_t bytes = 0;
  for (const std::string& one : all) bytes += sizeof(std::string) + owned(one);
  return bytes;
}
size_t owned(const kube::Counters& all) {
  size_t bytes = 0;
  for (const auto& [name, count] : all)
    bytes += kMapNode + sizeof(std::string) + sizeof(count) + owned(name) + owned(count.text());
  return bytes;
}
size_t owned(const kube::AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return owned(*text);
  // A server limits texts of lists and versions to 64 bytes.
  return value.index() < 3 ? 0 : kube::value_count(value) * (2 * sizeof(std::string) + kBlock);
}
size_t owned(const kube::ObjectMeta& meta) {
  size_t bytes = owned(meta.name) + owned(meta.uid) + owned(meta.labels) + owned(meta.annotations) +
                 owned(meta.finalizers);
  for (const kube::OwnerReference& one : meta.owner_references)
    bytes += sizeof(one) + owned(one.api_version) + owned(one.kind) + owned(one.name) + owned(one.uid);
  return bytes;
}
size_t owned(const kube::Device& device) {
  // The texts of keys are shared by the devices of a slice.
  size_t bytes = kBlock + sizeof(device) + owned(device.name) +
                 device.attributes.size() * sizeof(kube::Attributes::value_type);
  for (const auto& [key, value] : device.attributes) bytes += owned(value);
  for (const auto& [name, capacity] : device.capacity) {
    bytes += kMapNode + sizeof(std::string) + sizeof(capacity) + owned(name) + owned(capacity.value.text());
    if (capacity.request_policy)
      bytes += (capacity.request_policy->valid_values.size() + 2) * sizeof(kube::Quantity);
  }
  for (const kube::CounterConsumption& one : device.consumes_counters)
    bytes += sizeof(one) + owned(one.counter_set) + owned(one.counters) + owned(one.compatibility_groups);
  for (const kube::Taint& one : device.taints)
    bytes += sizeof(one) + owned(one.key) + owned(one.value) + owned(one.effect);
  return bytes;
}

}  // namespace

size_t footprint(const kube::ResourceSlice& slice) {
  constexpr size_t kPlaces = 3;  // maps with the name
  constexpr size_t kCopies = 3;  // of the rest, on its way to its owner; entries are shared
  size_t bytes = 2 * sizeof(slice) + kPlaces * (kMapNode + sizeof(std::string) + owned(slice.meta.name)) +
                 kCopies * owned(slice.meta) + owned(slice.unknown_fields);
  for (const kube::DevicePtr& device : slice.devices) bytes += sizeof(device) + owned(*device);
  for (const kube::CounterSet& set : slice.shared_counters)
    bytes += sizeof(set) + owned(set.name) + owned(set.counters);
  return bytes;
}

std::unique_ptr<SliceWatcher> make_slice_watcher(kube::ClusterPorts ports, std::string_view driver,
                                                 std::string_view node_name, SliceWatcher::OnEvent on_event,
                                                 SliceWatcher::OnSyncState on_sync_state, bool salvages,
                                                 size_t bytes_max) {
  const std::string of_driver = driver.empty() ? "" : "spec.driver=" + std::string(driver) + ",";
  kube::Scope scope{kube::kResourceSlices, "", of_driver + "spec.nodeName=" + std::string(node_name), false};
  return std::make_unique<SliceWatcher>(
      std::move(ports), std::move(scope), salvages ? salvage_slice : decode_slice, std::move(on_event),
      std::move(on_sync_state), SliceWatcher::KeepMissing(),
      ListWatchLimits{.objects_max = kSlicesMax, .list_bytes_max = kListBytesMax},
      MemoryLimits{.others_bytes_max = bytes_max});
}

}  // namespace sliced::watchers
