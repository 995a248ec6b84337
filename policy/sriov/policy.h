#pragma once
// SriovResourcePolicy and DeviceAttributes (sriovnetwork.k8snetworkplumbingwg.io/v1alpha1) as values.
//
// Both generations of the kind are supported: the present one (deviceAttributesSelector, pfPciAddresses,
// linkType, core NodeSelector) and the older one (resourceName, numaNodes, nodeSelector as a map). Invalid
// parts offer nothing: an unknown or invalid field inside a config disables the config, one outside the whole
// policy.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "policy/allowed_routes.h"
#include "policy/problem.h"
#include "policy/readiness/readiness.h"
#include "policy/vf_settings.h"

namespace sliced::policy {

/// A PF by name or address, with VF indices: "ens1f0", "ens1f0#0-3,7". An index that no VF has matches
/// nothing.
/// Key: a name, compared as bytes, or a PciAddress. "rootDevices" of the older form are PFs by address, too.
template <class Key>
struct PfMatch {
  struct Range {
    int first = 0, last = 0;  // VF indices, both included
    bool operator==(const Range&) const = default;
  };
  Key pf{};
  std::vector<Range> ranges;  // empty: all VFs

  /// vf_index: sysfs' number of the VF (virtfnN), which differs from the function number of its address.
  bool covers(int vf_index) const {
    if (ranges.empty()) return true;
    for (const Range& range : ranges)
      if (range.first <= vf_index && vf_index <= range.last) return true;
    return false;
  }
  bool operator==(const PfMatch&) const = default;
};

/// The fields of a resource filter, in order of evaluation.
enum class FilterField {
  kVendors,
  kDevices,
  kDrivers,
  kPciAddresses,
  kPfNames,
  kPfPciAddresses,
  kRootDevices,
  kNumaNodes,
  kLinkType
};
inline constexpr int kFilterFieldCount = 9;
std::string_view name_of(FilterField field);  // "vendors"

/// AND over the fields with values, OR inside a field. Values are compared with the kernel's: hex digits in
/// lower case, addresses as in sysfs.
struct ResourceFilter {
  /// Four hex digits without 0x, as in sysfs' vendor and device; driver names as below /sys/bus/pci/drivers.
  std::vector<std::string> vendors, devices, drivers;
  std::vector<hotplug::PciAddress> pci_addresses;
  std::vector<PfMatch<std::string>> pf_names;
  std::vector<PfMatch<hotplug::PciAddress>> pf_pci_addresses, root_devices;
  /// 0 to 4,096. A filter without the field matches devices without a node, too.
  std::vector<int> numa_nodes;
  std::string link_type;  // "ethernet", "infiniband", "" any
  bool operator==(const ResourceFilter&) const = default;
};

/// One element of spec.configs. Its position counts: the first config that matches a VF sets its attributes.
struct ResourceConfig {
  std::string resource_name;                               // older form; "" if none
  std::optional<kube::LabelSelector> attributes_selector;  // absent: no DeviceAttributes
  std::vector<ResourceFilter> filters;                     // ORed; empty: every VF
  Problems problems;                                       // not empty: offers nothing
  Problems remarks;                                        // valid, but probably a mistake
  int line = 0;                                            // of the YAML text; 0 if unknown
  bool operator==(const ResourceConfig&) const = default;
};

/// The fields of one object that the daemon uses; status is ignored. At most 64 configs of 64 filters with
/// 256 values of 256 bytes in a field: the limits of config/crd, enforced here for servers without them.
struct SriovPolicy {
  struct Id {
    std::string namespace_, name;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  std::string uid;
  int64_t generation = 0;
  std::string manager;   // last writer (kube::last_manager); "" if unknown
  int64_t priority = 0;  // higher first
  HostUseAllowance host_use;
  std::optional<VfSettings> allow;  // for network definitions; nullopt: --vf-settings decides
  Readiness readiness;
  kube::NodeSelector node_selector;
  std::vector<ResourceConfig> configs;
  Problems problems;  // outside of configs; not empty: the whole policy offers nothing
  bool operator==(const SriovPolicy&) const = default;
};
std::string text_of(const SriovPolicy::Id& id);  // "namespace/name"
/// Returns true if both are the same object with the same spec. Ignores generation, last writer, line
/// numbers, and the problems of an invalid config.
bool has_same_content(const SriovPolicy& a, const SriovPolicy& b);

/// Attributes that an administrator sets for VFs of configs whose selector matches the object's labels. A
/// policy uses objects of its own namespace only.
struct DeviceAttributes {
  struct Id {
    std::string namespace_, name;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  kube::Labels labels;
  kube::Attributes attributes;                 // by full key "domain/id"
  std::map<std::string, std::string> refused;  // by full key: why it is not used
  Problems problems;                           // those of `refused` and others, for people
  bool operator==(const DeviceAttributes&) const = default;
};

/// Never fails: errors become problems, and a policy with problems offers nothing. meta: the decoded
/// metadata. At most kProblemsMax problems are stored for the whole policy, not for each config.
SriovPolicy decode_sriov_policy(const kube::Json& object, const Result<kube::ObjectMeta>& meta);
inline SriovPolicy decode_sriov_policy(const kube::Json& object) {
  return decode_sriov_policy(object, kube::decode_object_meta(object));
}
/// driver: the domain of keys without one. At most 256 attributes; with more, none is read. A refused
/// attribute is reported and not published; if it is the resourceName of a config, the config's entries are
/// withheld.
DeviceAttributes decode_device_attributes(const kube::Json& object, const std::string& driver,
                                          const Result<kube::ObjectMeta>& meta);
inline DeviceAttributes decode_device_attributes(const kube::Json& object, const std::string& driver) {
  return decode_device_attributes(object, driver, kube::decode_object_meta(object));
}

/// Returns the problems of the policy and of its configs.
Problems problems_of(const SriovPolicy& policy);

/// Returns a policy for an existing but unreadable object: it offers nothing, with the reason, and takes
/// nothing from later policies.
SriovPolicy unreadable_sriov_policy(SriovPolicy::Id id, std::string why);

/// Returns the warnings of `validate`: valid fields that are probably mistakes. None for a policy whose
/// problems disable it.
Problems warnings_of(const SriovPolicy& policy);

/// Returns the paths of our fields below the object, with "[]" after lists, for the comparison with the
/// served schema ("spec.priority", ...): fields_dropped_by_schema (watchers/served_schema.h).
std::vector<std::string> sriov_policy_fields();
std::vector<std::string> device_attributes_fields();

/// Returns true for keys that the daemon publishes, and all of resource.kubernetes.io/. Builds the list of
/// own attributes in each call: for decoding, not for each device.
bool is_reserved_attribute(const std::string& full_key, const std::string& driver);

}  // namespace sliced::policy
