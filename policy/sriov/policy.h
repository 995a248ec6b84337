#pragma once
// SriovResourcePolicy and DeviceAttributes (sriovnetwork.k8snetworkplumbingwg.io/v1alpha1) as values.
//
// Both generations of the kind are understood: today's (deviceAttributesSelector, pfPciAddresses, linkType,
// core NodeSelector) and the older one (resourceName, numaNodes, nodeSelector as a map). What cannot be
// understood offers nothing: an unknown or wrong field inside a config disables that config, one beside the
// configs the whole policy.
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

/// A PF by name or address, and which of its VFs: "ens1f0", "ens1f0#0-3,7". An index that
/// no VF has matches nothing.
/// Key is a name, compared as bytes, or a PciAddress. "rootDevices" of the older form are PFs too, by
/// address.
template <class Key>
struct PfMatch {
  struct Range {
    int first = 0, last = 0;  // VF indices, both included
    bool operator==(const Range&) const = default;
  };
  Key pf{};
  std::vector<Range> ranges;  // empty: all VFs

  /// By sysfs' number of the VF (virtfnN), which is not the last part of its address.
  bool covers(int vf_index) const {
    if (ranges.empty()) return true;
    for (const Range& range : ranges)
      if (range.first <= vf_index && vf_index <= range.last) return true;
    return false;
  }
  bool operator==(const PfMatch&) const = default;
};

/// The fields of a resource filter, in the order in which they are asked.
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

/// AND over the fields that are set, OR inside a field; one that is empty is not asked. Values are compared with
/// what the kernel says: hex digits in lower case, addresses as sysfs spells them.
struct ResourceFilter {
  /// Four hex digits without 0x, as sysfs' vendor and device have them; names of drivers as the links below
  /// /sys/bus/pci/drivers are called.
  std::vector<std::string> vendors, devices, drivers;
  std::vector<hotplug::PciAddress> pci_addresses;
  std::vector<PfMatch<std::string>> pf_names;
  std::vector<PfMatch<hotplug::PciAddress>> pf_pci_addresses, root_devices;
  /// 0 to 4,096; -1 and what has no node are matched by leaving the field out.
  std::vector<int> numa_nodes;
  std::string link_type;  // "ethernet", "infiniband", "" any
  bool operator==(const ResourceFilter&) const = default;
};

/// One element of spec.configs.
/// Its order among others counts: the first config that takes a VF decides on its attributes.
struct ResourceConfig {
  std::string resource_name;                               // older form; "" none
  std::optional<kube::LabelSelector> attributes_selector;  // absent: no DeviceAttributes
  std::vector<ResourceFilter> filters;                     // ORed; empty: every VF
  Problems problems;                                       // not empty: offers nothing
  Problems remarks;                                        // legal, and probably not meant
  int line = 0;                                            // of the YAML text, 0 unknown
  bool operator==(const ResourceConfig&) const = default;
};

/// One object, as far as it is used: what a status would say of it is not read.
/// At most 64 configs of 64 filters with 256 values of 256 bytes a field: config/crd states the same bounds,
/// and here they hold also for a server without them.
struct SriovPolicy {
  struct Id {
    std::string namespace_, name;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  std::string uid;
  int64_t generation = 0;
  std::string manager;   // who wrote it last (kube::last_manager); "" unknown
  int64_t priority = 0;  // higher first
  HostUseAllowance host_use;
  std::optional<VfSettings> allow;  // of definitions; nullopt: --vf-settings decides
  Readiness readiness;
  kube::NodeSelector node_selector;
  std::vector<ResourceConfig> configs;
  Problems problems;  // beside the configs; not empty: the whole policy offers nothing
  bool operator==(const SriovPolicy&) const = default;
};
std::string text_of(const SriovPolicy::Id& id);  // "namespace/name"
/// Whether they are one object with one spec. Its generation, who wrote it, and where it stands in a file are not asked,
/// nor what exactly is wrong with a config that cannot be understood.
bool says_the_same(const SriovPolicy& a, const SriovPolicy& b);

/// Attributes that an administrator gives to VFs of configs whose selector matches the object's labels.
/// Cluster-wide in effect only within its namespace: a policy joins objects of its own namespace.
struct DeviceAttributes {
  struct Id {
    std::string namespace_, name;
    auto operator<=>(const Id&) const = default;
  };
  Id id;
  kube::Labels labels;
  kube::Attributes attributes;                 // by full key "domain/id"
  std::map<std::string, std::string> refused;  // by full key: why it is not used
  Problems problems;                           // the same and more, for people
  bool operator==(const DeviceAttributes&) const = default;
};

/// Decodes never fail: what is wrong becomes problems, and problems offer nothing.
/// meta: the object's, where somebody has decoded it already.
/// Of all problems kProblemsMax are kept for the whole policy, not for each config.
SriovPolicy decode_sriov_policy(const kube::Json& object, const Result<kube::ObjectMeta>& meta);
inline SriovPolicy decode_sriov_policy(const kube::Json& object) {
  return decode_sriov_policy(object, kube::decode_object_meta(object));
}
/// driver: the domain of keys without one.
/// At most 256 attributes; of more none is read. One that is refused is not published and is told; a config
/// of whose attributes the resourceName is refused holds its entries back.
DeviceAttributes decode_device_attributes(const kube::Json& object, const std::string& driver,
                                          const Result<kube::ObjectMeta>& meta);
inline DeviceAttributes decode_device_attributes(const kube::Json& object, const std::string& driver) {
  return decode_device_attributes(object, driver, kube::decode_object_meta(object));
}

/// Of the policy and of its configs: what is told of them.
Problems problems_of(const SriovPolicy& policy);

/// A policy that is known to exist but not readable at all (a broken object): offers nothing, and says why.
/// As nobody knows what it says, it takes nothing from other policies either: those after it offer what they
/// would.
SriovPolicy unreadable_sriov_policy(SriovPolicy::Id id, std::string why);

/// What `validate` says beyond errors: legal, and probably not meant.
/// Of one whose problems disable all of it none: there is nothing left to warn of.
Problems warnings_of(const SriovPolicy& policy);

/// Paths of our fields below the object, for the comparison with the served schema ("spec.priority", ...).
/// With "[]" behind what is a list. The first is for fields_dropped_by_schema (watchers/served_schema.h), and
/// so is the second.
std::vector<std::string> sriov_policy_fields();
std::vector<std::string> device_attributes_fields();

/// Keys that the daemon publishes itself, and all of resource.kubernetes.io/: nobody else may set them.
/// Makes the list of own attributes anew each time: for decoding, not for what is asked of each device.
bool is_reserved_attribute(const std::string& full_key, const std::string& driver);

}  // namespace sliced::policy
