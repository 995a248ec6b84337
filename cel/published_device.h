#pragma once
// A device entry for expressions of DeviceClasses and claims, with upstream's semantics
// (k8s.io/dynamic-resource-allocation/cel), in which a missing attribute is an error.
#include <string_view>

#include "cel/device.h"
#include "kube/objects/resource_slice.h"

namespace sliced::cel {

/// domain -> map. A missing domain reads as an empty map, also for has() and the optional syntax; `in` tests
/// the existing ones. entries: in the arena.
const Map* make_domain_map(const std::vector<std::pair<std::string_view, const Map*>>& entries, Arena& arena);

/// Views into the entry, which must outlive it.
class PublishedDevice final : public Device {
 public:
  PublishedDevice(std::string_view driver, const kube::Device& entry) : driver_(driver), entry_(entry) {}

  std::string_view driver() const override { return driver_; }
  bool allow_multiple_allocations() const override { return entry_.allow_multiple_allocations; }
  /// An entry names attributes of another domain than the driver's "domain/id", the driver's own also "id".
  std::optional<Value> read(const Path& path, Arena& arena) const override;
  const Map* attributes(Arena& arena) const override;
  const Map* capacity(Arena& arena) const override;

 private:
  template <class Entries, class ToValue>
  const Map* domains_of(const Entries& entries, ToValue to_value, Arena& arena) const;
  std::string_view driver_;
  const kube::Device& entry_;
};

/// Returns nullopt if the value cannot be represented (an invalid version), or without memory.
std::optional<Value> to_value(const kube::AttributeValue& value, Arena& arena);

}  // namespace sliced::cel
