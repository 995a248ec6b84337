#pragma once
// ResourceSlice, resource.k8s.io/v1 (Kubernetes 1.34 and later), as a value. Fields that the daemon never
// sends are decoded as far as comparing and printing require.
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
/// A variant without inline special members, which would be compiled in each file that uses a Device.
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

/// Returns the number of values as the API server counts them: each value of a list.
size_t value_count(const AttributeValue& value);
/// Lists are the last alternatives of the variant.
inline bool is_list(const AttributeValue& value) { return value.index() >= 4; }  // gate DRAListTypeAttributes

/// The amounts of a capacity that a claim may request: from min to max in steps, or any amount between them
/// without a step.
struct ValidRange {
  Quantity min;
  std::optional<Quantity> max, step;
  bool operator==(const ValidRange&) const = default;
};
/// The amount of a capacity that a claim gets: the requested one, rounded up to a valid one; default_ without
/// a request (KEP-5075).
struct RequestPolicy {
  std::optional<Quantity> default_;
  std::vector<Quantity> valid_values;
  std::optional<ValidRange> valid_range;
  bool operator==(const RequestPolicy&) const = default;
};
/// An amount of a device's resource. Without a policy a claim takes all of it.
struct Capacity {
  Quantity value;
  std::optional<RequestPolicy> request_policy;
  bool operator==(const Capacity&) const = default;
};
/// Amount by name of the counter.
using Counters = std::map<std::string, Quantity>;
/// Counters that several devices of a pool share: the scheduler allocates at most their amounts (KEP-4815).
struct CounterSet {
  std::string name;
  Counters counters;
  bool operator==(const CounterSet&) const = default;
};
/// The amounts that an allocated device takes.
struct CounterConsumption {
  std::string counter_set;
  Counters counters;
  /// Devices of one counter set are allocated together only if their lists have a common group (KEP-5963,
  /// gate DRADeviceCompatibilityGroups, 1.37 alpha). At most 2 DNS labels. Empty: only together with devices
  /// whose list is empty.
  std::vector<std::string> compatibility_groups = {};
  bool operator==(const CounterConsumption&) const = default;
};
/// Prevents allocation to claims without a toleration. effect: "NoSchedule" or "NoExecute" (KEP-5055).
struct Taint {
  std::string key, value, effect;  // timeAdded is set by the server and not compared
  bool operator==(const Taint&) const = default;
};

/// By qualified name. All entries of a node have the same few names, so their text is shared.
using Attributes = FlatMap<SharedText, AttributeValue, std::string_view>;

/// Compared and hashed as a whole: any difference is a change to write.
struct Device {
  std::string name;       // DNS label, unique in the pool
  Attributes attributes;  // by qualified name
  std::map<std::string, Capacity> capacity;
  std::vector<CounterConsumption> consumes_counters;
  std::vector<Taint> taints;
  /// Types of conditions in ResourceClaim.status.devices (KEP-5007, gate DRADeviceBindingConditions): the
  /// scheduler binds a pod when all of the first are True, and allocates again when one of the second is.
  /// Both or neither.
  std::vector<std::string> binding_conditions = {}, binding_failure_conditions = {};
  bool allow_multiple_allocations = false;
  bool operator==(const Device&) const = default;
};

/// Usually the desired, sent and stored entry are the same object: a node may have thousands.
using DevicePtr = Shared<Device>;

/// The slices of a pool are complete if their generation is equal and their number is slice_count; otherwise
/// the scheduler ignores them.
struct Pool {
  std::string name;
  int64_t generation = 0;
  int64_t slice_count = 0;
  bool operator==(const Pool&) const = default;
};

inline constexpr std::string_view kAllNodeOperations = "*";

/// A part of a node's pool: up to 128 devices, or the counters that they share.
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
  /// Calls that the kubelet omits for devices of this slice (gate DRAOptionalNodeOperations, 1.37 alpha);
  /// kAllNodeOperations: all.
  std::vector<std::string> skip_node_operations = {};
  /// Other fields of the object ("spec.allNodes", "spec.devices[3].bindsToNode"), sorted. Another program
  /// wrote them; a slice of ours with any differs from the desired one.
  std::vector<std::string> unknown_fields;
  bool operator==(const ResourceSlice&) const = default;
};

/// Errors: kInvalid, with the path, if a known field has the wrong type. Does not check the server's rules:
/// see validate_device() and validate_slice().
Result<ResourceSlice> decode_resource_slice(const Json& object);
/// Reads as much as possible of a slice that cannot be decoded: metadata, driver and pool, names of entries.
/// unknown_fields are kUnreadable and the reason. Errors: kInvalid without metadata.
inline constexpr std::string_view kUnreadable = "unreadable";
/// For slices of ours that others have changed: deleting or replacing them requires name, version and driver
/// only.
Result<ResourceSlice> salvage_resource_slice(const Json& object);
/// Returns a whole API object to send: without empty optional fields ("devices" is absent beside counters).
Json encode_resource_slice(const ResourceSlice& slice);

Result<AttributeValue> decode_attribute(const Json& value);  // {"string": "x"}
Json encode_attribute(const AttributeValue& value);
std::string describe_attribute(const AttributeValue& value);  // for people: 5, true, "x", ["a", "b"]

/// A violated rule of the API server (pkg/apis/resource/validation). descriptive: dropping the named
/// attribute corrects it; otherwise the whole entry must be withheld.
struct DeviceProblem {
  std::string field;      // "attributes[example.com/x].string"
  std::string what;       // value, rule and remedy
  std::string attribute;  // the key to drop, when `descriptive`
  bool descriptive = false;
  bool operator==(const DeviceProblem&) const = default;
};
/// Returns every problem for which the server would refuse the device, in a fixed order. Empty: valid by the
/// rules of v1.37.
std::vector<DeviceProblem> validate_device(const Device& device);
/// Checks the rest of the slice: name, driver, pool, counts, limits (128, or 64 with taints, counters,
/// lists).
std::vector<std::string> validate_slice(const ResourceSlice& slice);

/// Limits of the API (k8s.io/api/resource/v1 types.go), checked by validate_slice() and validate_device().
/// policy/ creates entries within them.
inline constexpr size_t kDevicesPerSliceMax = 128;
/// If any device has taints, counters or a list attribute.
inline constexpr size_t kDevicesPerSliceAdvancedMax = 64;
inline constexpr size_t kAttributesAndCapacitiesMax = 32;
inline constexpr size_t kAttributeValuesMax = 48;
inline constexpr size_t kAttributeValueBytesMax = 64;
/// Returns true if the device causes the smaller limit.
bool has_advanced_features(const Device& device);

/// "domain/id" or "id": id is a C identifier of at most 32 bytes, domain a DNS subdomain of at most 63.
bool is_qualified_name(std::string_view key);
/// semver.org 2.0.0, as the API server accepts it in an attribute.
bool is_semver(std::string_view text);

}  // namespace sliced::kube
