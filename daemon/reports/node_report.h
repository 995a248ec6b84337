#pragma once
// The report of a node's daemon to the cluster, as a value: the NodeDeviceReport of
// networking.dra.io/v1alpha1, cluster-scoped, named as its node and owned by it. Only the node writes it;
// fleet commands read it.
//
// All content is below `status`, without a subresource. It changes only when the decision or the slices
// change: it contains no times except that of the last change, nothing volatile (carrier, speed), nothing
// about a pod's own interfaces.
//
// Texts:     truncated to 256 bytes each and made printable when they are written. Encoding a decoded report
//            gives the same text, so that a report that is read back and sent has no difference.
// Absent:    0 and "" are omitted except in `counts`, and are the values of missing members.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/result.h"

namespace sliced::reports {

/// Limit of the sent object as JSON, without additions by others to its metadata.
inline constexpr size_t kReportBytesMax = 32u << 10;
/// Limit of the devices that a decoded report may represent: the maximum of a node.
inline constexpr size_t kReportedDevicesMax = 65'536;

/// A policy of either kind.
struct PolicyRef {
  std::string kind;              // "SriovResourcePolicy", "DeviceExposurePolicy"
  std::string namespace_, name;  // namespace_ "": cluster-scoped
  auto operator<=>(const PolicyRef&) const = default;
};

using Counts = std::map<std::string, int64_t>;  // by outcome (policy/verdict.h), without zeros

/// One policy that selects this node.
struct PolicyReport {
  PolicyRef policy;
  int64_t generation = 0;  // of the decision
  std::string action;      // "expose", "exclude"
  /// Devices for which it is the first matching policy of its kind (and suffix). matched = offered + the sum
  /// of hidden; for an exclude, hidden contains those that it excludes.
  int64_t matched = 0, offered = 0;
  Counts hidden;
  std::string problem;        // the first, "field: problem"; "" if it is used as it is written
  int64_t more_problems = 0;  // number of further ones
  /// Devices that it would also match if another policy of its kind (and suffix) did not precede it and offer
  /// them differently: under another resource name, as another exposure. overruled_by: the policy with most
  /// of them: "ns/name", "name".
  int64_t overruled = 0;
  std::string overruled_by = {};
  bool operator==(const PolicyReport&) const = default;
};

/// As observed at the API server, which may be older or newer than the decision.
struct PoolReport {
  std::string driver, name;
  int64_t generation = 0, devices = 0, slices = 0;
  bool operator==(const PoolReport&) const = default;
};

/// A policy's or a gate's verdict on the devices of a group.
struct PolicyVerdict {
  PolicyRef policy;     // kind "" if it is from no policy ("no-match", "no-policy", "not-a-vf")
  std::string outcome;  // name_of(policy::Outcome)
  std::string why;      // for one of the devices, if the outcome is not sufficient
  bool operator==(const PolicyVerdict&) const = default;
};

/// Numbers of VFs, inclusive.
struct VfRange {
  int first = 0, last = 0;
  bool operator==(const VfRange&) const = default;
};

/// Devices with equal facts and verdicts: VFs of a PF, or one device. Facts that differ between VFs are
/// included if they follow from the VF's number; otherwise they are omitted.
struct DeviceGroup {
  std::string type;              // hotplug::name_of(DeviceType)
  std::string pf, pf_name;       // VFs: the PF's address and interface
  std::vector<VfRange> vfs;      // VFs: "0-15,17"; ascending, disjoint, not adjacent
  std::string pci_address;       // of the function; for VFs that of the lowest number
  int stride = 1;                // VFs: distance of routing ids between consecutive numbers
  std::string interface;         // its name; "" if none, unknown, or different for each VF
  std::string interface_base;    // VFs: the common part of the names, followed by the VF's number
  bool named_otherwise = false;  // VFs: they have interfaces whose names do not follow from the number
  std::string vendor, product, subsystem_vendor, subsystem_product, driver;
  std::string link_type;     // "ethernet", "infiniband"; "" if unknown
  std::string eswitch_mode;  // PFs
  std::string pf_product;    // VFs
  std::optional<int> numa_node, mtu;
  int total_vfs = 0, num_vfs = 0;  // PFs
  bool rdma = false;
  std::string master;       // bridge or bond of the interface
  std::string host_use;     // hotplug::HostDevice::host_use
  std::string disposition;  // policy::name_of(Disposition): "offered", "hidden", "held-back", "unmatched"
  /// The verdict of SriovResourcePolicies first, if there is one; then one for each suffix.
  std::vector<PolicyVerdict> verdicts;
  bool operator==(const DeviceGroup&) const = default;
};
size_t device_count(const DeviceGroup& group);
/// Returns "0-15,17", and decodes it (nullopt if it is not ascending, or has numbers of 4,096 and more).
std::string text_of(const std::vector<VfRange>& ranges);
std::optional<std::vector<VfRange>> vf_ranges_of(std::string_view text);

/// Returns the devices of a group with the facts that filters and selectors of policies can evaluate. Facts
/// that DeviceGroup lacks (MAC addresses, state, speed, ...) or omits are absent. Empty if addresses or type
/// are invalid. VFs end where their addresses would exceed bus ff.
std::vector<hotplug::HostDevice> devices_of(const DeviceGroup& group);

/// The last change of the offer.
struct LastChange {
  std::string time;    // "2026-11-21T00:17:41.296Z"; "" if neither this daemon nor an earlier one knows one
  std::string change;  // "offered", "changed", "withdrawn"
  int64_t devices = 0;
  std::string policy, why;  // as in the log: "policy ns/name"; "policy ns/name changed"
  bool operator==(const LastChange&) const = default;
};

/// Members of the object and their meaning are an interface (docs/reports.md,
/// config/crd/nodedevicereports.yaml).
struct NodeReport {
  std::string node, node_uid;  // node_uid: of the owner reference
  std::string daemon_version, boot_id;
  /// State of the kubelet plugin: "on"; "off": pods with claims do not start on the node; "waiting" for
  /// another program to end; "skipped": kubelets start pods without a plugin; "" if not reported.
  std::string kubelet_plugin = {};
  std::string waits_for = {};       // the condition that delays new devices of the node: "configuration:
                                    // ..."; "" if nothing
  std::string dropped_fields = {};  // fields of policies that the API server drops (daemon/schema_check.h);
                                    // "" if none
  /// "2026-11-21T00:17:41Z": the daemon has not renewed its Lease since then. Only `sliced-controller
  /// aggregate` writes it (controller/aggregate/silent_nodes.h); the daemon's next report removes it.
  std::string silent_since = {};
  LastChange last_change;
  /// Host devices, each once; interfaces of pods and containers (type virtual) only if a policy offers them.
  int64_t devices = 0, offered = 0, held_back = 0, hidden = 0, unmatched = 0;
  Counts sriov, exposure;  // by kind of policies, as in `status`
  std::vector<PoolReport> pools;
  std::vector<PolicyReport> policies;  // that select this node, in order of evaluation
  std::vector<std::string> problems;   // lines as in the log
  std::vector<DeviceGroup> groups;     // held back, hidden, unmatched, offered; VFs first within each
  /// Numbers of elements that did not fit.
  struct LeftOut {
    int64_t pools = 0, policies = 0, problems = 0, groups = 0, devices = 0;  // devices: of the omitted groups
    bool operator==(const LeftOut&) const = default;
  } left_out;
  bool operator==(const NodeReport&) const = default;
};

/// Truncates texts, and removes the last elements of each list, until the object has at most bytes_max;
/// counts the removed ones. Problems and policies come before pools, groups last. Pure and deterministic.
/// Shares of the space after the fixed part: problems at most a quarter, policies up to 55 %, pools up to 75
/// %, groups the rest; at most 1,024 elements each. The result may be larger if the fixed part alone is.
NodeReport fit(NodeReport report, size_t bytes_max = kReportBytesMax);

/// Returns the whole object. stored: metadata of the object that it replaces, which is kept except for the
/// Node as its owner; without a resourceVersion the object is created.
kube::Json json_of(const NodeReport& report, const kube::ObjectMeta& stored = {});

/// Decodes the object. Missing, unknown and ill-typed members have their default values. Errors: kInvalid
/// without a name.
/// Bounds: those of the kind (config/crd/nodedevicereports.yaml); groups beyond kReportedDevicesMax count as
/// omitted. Numbers are limited to 10^12, so that sums over a fleet do not overflow.
Result<NodeReport> decode_node_report(const kube::Json& object);

}  // namespace sliced::reports
