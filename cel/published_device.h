#pragma once
// A device entry as expressions of DeviceClasses and claims see it: with upstream's semantics
// (k8s.io/dynamic-resource-allocation/cel), where an absent attribute is an error.
#include <string_view>

#include "cel/device.h"
#include "kube/objects/resource_slice.h"

namespace sliced::cel {

/// domain -> map. Reading a domain that is not there gives an empty map, has() and the optional syntax find
/// that too, and `in` asks what is there. entries: the arena's.
const Map* make_domain_map(const std::vector<std::pair<std::string_view, const Map*>>& entries, Arena& arena);

/// Views into the entry, which must outlive it.
class PublishedDevice final : public Device {
 public:
  PublishedDevice(std::string_view driver, const kube::Device& entry) : driver_(driver), entry_(entry) {}

  std::string_view driver() const override { return driver_; }
  bool allow_multiple_allocations() const override { return entry_.allow_multiple_allocations; }
  /// Attributes of another domain than the driver's are named "domain/id" in an entry, the driver's own also
  /// "id" alone.
  std::optional<Value> read(const Path& path, Arena& arena) const override;
  const Map* attributes(Arena& arena) const override;
  const Map* capacity(Arena& arena) const override;

 private:
  template <class Entries, class ToValue>
  const Map* domains_of(const Entries& entries, ToValue to_value, Arena& arena) const;
  std::string_view driver_;
  const kube::Device& entry_;
};

/// nullopt where the value cannot be represented (a version that is none), or without memory.
std::optional<Value> to_value(const kube::AttributeValue& value, Arena& arena);

}  // namespace sliced::cel
