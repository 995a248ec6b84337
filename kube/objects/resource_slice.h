#pragma once
// ResourceSlice, resource.k8s.io/v1 (Kubernetes 1.34 and later), as a value. What the daemon never sends
// (list attributes' gates, per-device node fields) is decoded far enough to be compared and printed.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "kube/objects/quantity.h"
#include "reactor/base/flat_map.h"
#include "reactor/base/result.h"
#include "reactor/base/shared.h"

namespace sliced::kube {

struct Version {  // semver 2.0.0 text, no leading v
  std::string text;
  bool operator==(const Version&) const = default;
};

/// Exactly one of int | bool | string | version | ints | bools | strings | versions.
/// A variant whose special members are not inline: they are much code, which each file that has a Device would compile.
class AttributeValue
    : public std::variant<int64_t, bool, std::string, Version, std::vector<int64_t>, std::vector<bool>,
                          std::vector<std::string>, std::vector<Version>> {
 public:
  using Base = variant;
  using Base::Base;
  AttributeValue();
  AttributeValue(const AttributeValue& other);
  AttributeValue(AttributeValue&& other) noexcept;
  AttributeValue& operator=(const AttributeValue& other);
  AttributeValue& operator=(AttributeValue&& other) noexcept;
  ~AttributeValue();
  bool operator==(const AttributeValue& other) const;
};

/// How many values the API server counts: those of a list each.
size_t value_count(const AttributeValue& value);
/// The variant's order is fixed by this: lists stand behind.
inline bool is_list(const AttributeValue& value) { return value.index() >= 4; }  // gate DRAListTypeAttributes

/// What a claim may ask for of a capacity: from min to max in steps. Without a step any amount between
/// them.
struct ValidRange {
  Quantity min;
  std::optional<Quantity> max, step;
  bool operator==(const ValidRange&) const = default;
};
/// How much of a capacity one claim gets: what it asks for, rounded up to what is valid here; default_
/// where it asks for nothing (KEP-5075).
struct RequestPolicy {
  std::optional<Quantity> default_;
  std::vector<Quantity> valid_values;
  std::optional<ValidRange> valid_range;
  bool operator==(const RequestPolicy&) const = default;
};
/// An amount of something that a device has; without a policy a claim takes all of it.
struct Capacity {
  Quantity value;
  std::optional<RequestPolicy> request_policy;
  bool operator==(const Capacity&) const = default;
};
/// Name of a counter -> its amount.
using Counters = std::map<std::string, Quantity>;
/// What several devices of a pool draw on: the scheduler gives out no more than there is (KEP-4815).
struct CounterSet {
  std::string name;
  Counters counters;
  bool operator==(const CounterSet&) const = default;
};
/// What a device draws while it is allocated.
struct CounterConsumption {
  std::string counter_set;
  Counters counters;
  /// Devices that draw on one counter set are allocated together only if one group is in the lists of all of them (KEP-5963, gate
  /// DRADeviceCompatibilityGroups, 1.37 alpha). At most 2 DNS labels. Empty: only together with devices whose list is empty.
  std::vector<std::string> compatibility_groups = {};
  bool operator==(const CounterConsumption&) const = default;
};
/// Keeps claims away that do not tolerate it; effect: "NoSchedule" or "NoExecute" (KEP-5055).
struct Taint {
  std::string key, value, effect;  // timeAdded is the server's and takes no part
  bool operator==(const Taint&) const = default;
};

/// Qualified name -> value. The same few names stand in every entry of a node, so the text of each is shared.
using Attributes = FlatMap<SharedText, AttributeValue, std::string_view>;

/// Compared and hashed as a whole: what differs in any field is another entry to be written.
struct Device {
  std::string name;       // DNS label, unique in the pool
  Attributes attributes;  // by qualified name
  std::map<std::string, Capacity> capacity;
  std::vector<CounterConsumption> consumes_counters;
  std::vector<Taint> taints;
  /// Types of conditions in ResourceClaim.status.devices: the scheduler binds a pod only when all of the first are True, and allocates anew when
  /// one of the second is (KEP-5007, gate DRADeviceBindingConditions). Both or neither.
  std::vector<std::string> binding_conditions = {}, binding_failure_conditions = {};
  bool allow_multiple_allocations = false;
  bool operator==(const Device&) const = default;
};

/// An entry as desired, as sent and as stored is one and the same most of the time: a node may have
/// thousands.
using DevicePtr = Shared<Device>;

/// A pool's slices belong together when they are of one generation and as many as slice_count says: the
/// scheduler uses no others.
struct Pool {
  std::string name;
  int64_t generation = 0;
  int64_t slice_count = 0;
  bool operator==(const Pool&) const = default;
};

inline constexpr std::string_view kAllNodeOperations = "*";

/// What a driver offers of one node: up to 128 devices of a pool, or the counters that they share.
struct ResourceSlice {
  struct Id {  // a slice is known by its object name
    std::string name;
    auto operator<=>(const Id&) const = default;
  };
  ObjectMeta meta;
  std::string driver;
  Pool pool;
  std::string node_name;
  std::vector<DevicePtr> devices;
  std::vector<CounterSet> shared_counters;
  /// Calls that the kubelet leaves out for devices of this slice (gate DRAOptionalNodeOperations, 1.37 alpha); kAllNodeOperations: all.
  std::vector<std::string> skip_node_operations = {};
  /// Fields of the object that this struct has no place for ("spec.allNodes", "spec.devices[3].bindsToNode"),
  /// sorted. Somebody else wrote them; a slice of ours that has any is not what we want it to be.
  std::vector<std::string> unknown_fields;
  bool operator==(const ResourceSlice&) const = default;
};

/// kInvalid with the field's path when a known field has the wrong shape.
/// What is of the right shape and against the server's rules is decoded: validate_device() and
/// validate_slice() say so.
Result<ResourceSlice> decode_resource_slice(const Json& object);
/// What can be read of a slice that cannot be decoded: metadata, whose it is, names of entries.
/// unknown_fields are kUnreadable and why. kInvalid without metadata.
inline constexpr std::string_view kUnreadable = "unreadable";
/// For slices of ours that others have spoilt: they must be deleted or replaced, and for that a name, a
/// version and whose it is are enough.
Result<ResourceSlice> salvage_resource_slice(const Json& object);
/// A whole API object, ready to be sent or applied: empty optional fields are left out ("devices" is, beside
/// counters).
Json encode_resource_slice(const ResourceSlice& slice);

Result<AttributeValue> decode_attribute(const Json& value);  // {"string": "x"}
Json encode_attribute(const AttributeValue& value);
std::string describe_attribute(const AttributeValue& value);  // for people: 5, true, "x", ["a", "b"]

/// A rule of the API server (pkg/apis/resource/validation) that a device would break. Descriptive: dropping
/// the one attribute named here mends it; otherwise the whole entry must be held back.
struct DeviceProblem {
  std::string field;      // "attributes[example.com/x].string"
  std::string what;       // value, rule and remedy
  std::string attribute;  // the key to drop, when `descriptive`
  bool descriptive = false;
  bool operator==(const DeviceProblem&) const = default;
};
/// Every problem the server would refuse the slice for, device by device, before it is sent.
/// In the order of the rules, the same for the same device. Empty: the server takes it, as far as its rules
/// were of v1.37.
std::vector<DeviceProblem> validate_device(const Device& device);
/// Checks of the slice around its devices: name, driver, pool, counts, limits (128, or 64 with taints,
/// counters, lists).
std::vector<std::string> validate_slice(const ResourceSlice& slice);

/// The API's own bounds (k8s.io/api/resource/v1 types.go), checked again by validate_slice() and
/// validate_device(); policy keeps to them when it makes entries.
inline constexpr size_t kDevicesPerSliceMax = 128;
/// Where any device has taints, counters or a list attribute.
inline constexpr size_t kDevicesPerSliceAdvancedMax = 64;
inline constexpr size_t kAttributesAndCapacitiesMax = 32;
inline constexpr size_t kAttributeValuesMax = 48;
inline constexpr size_t kAttributeValueBytesMax = 64;
/// Whether the smaller bound holds because of it.
bool has_advanced_features(const Device& device);

/// "domain/id" or "id": id is a C identifier of at most 32 bytes, domain a DNS subdomain of at most 63.
bool is_qualified_name(std::string_view key);
/// semver.org 2.0.0, as the API server takes it in an attribute.
bool is_semver(std::string_view text);

}  // namespace sliced::kube
