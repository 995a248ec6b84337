#pragma once
// What a node's daemon says of itself to the cluster, as a value: the NodeDeviceReport of networking.dra.io/v1alpha1,
// cluster-scoped, named as its node and owned by it. Written by the node alone, read by whoever asks about many nodes.
//
// Everything stands below `status`, without a subresource. It changes when what is decided or published changes, never
// by itself: no times but that of the last change, nothing volatile (carrier, speed), nothing of a pod's own interfaces.
//
// Texts:     at most 256 bytes each when they are written, made fit for people; the beginning says what is
//            meant. What has been written once is written again as it is, so that a report that is read back
//            and sent differs in nothing.
// Absent:    0 and "" are left out but in `counts`, and are what is read where nothing stands.
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

/// Of the object as JSON that is sent, but for what others have added to its metadata.
inline constexpr size_t kReportBytesMax = 32u << 10;
/// Devices that a report may stand for, when it is read back: what a node can have.
inline constexpr size_t kReportedDevicesMax = 65'536;

/// A policy of either kind.
struct PolicyRef {
  std::string kind;              // "SriovResourcePolicy", "DeviceExposurePolicy"
  std::string namespace_, name;  // namespace_ "": cluster-scoped
  auto operator<=>(const PolicyRef&) const = default;
};

using Counts = std::map<std::string, int64_t>;  // by outcome (policy/verdict.h), none of 0

/// Of one policy that is asked on this node.
struct PolicyReport {
  PolicyRef policy;
  int64_t generation = 0;  // that was decided from
  std::string action;      // "expose", "exclude"
  /// Devices that it takes: in each it is the first of its kind (and suffix) that matches. matched = offered + those in
  /// hidden, which of an exclude are those that it excludes.
  int64_t matched = 0, offered = 0;
  Counts hidden;
  std::string problem;        // the first, "field: what"; "" it is used as it is written
  int64_t more_problems = 0;  // beside it
  /// Devices beside those that it would take as well, if another one of its kind (and suffix) were not asked first, which offers
  /// them in another way: under another resource name, as another exposure. Who has most of them: "ns/name", "name".
  int64_t overruled = 0;
  std::string overruled_by = {};
  bool operator==(const PolicyReport&) const = default;
};

/// As the API server holds it: what was observed, which may be behind or ahead of what is decided.
struct PoolReport {
  std::string driver, name;
  int64_t generation = 0, devices = 0, slices = 0;
  bool operator==(const PoolReport&) const = default;
};

/// What a policy, or a gate in its way, says of the devices of a group.
struct Said {
  PolicyRef policy;     // kind "" where none speaks of it ("no-match", "no-policy", "not-a-vf")
  std::string outcome;  // name_of(policy::Outcome)
  std::string why;      // of one of the devices, where the outcome alone does not say it
  bool operator==(const Said&) const = default;
};

/// Numbers of VFs, both included.
struct VfRange {
  int first = 0, last = 0;
  bool operator==(const VfRange&) const = default;
};

/// Devices of which the same is known and said: the VFs of a PF, or one device. Facts that differ from VF to VF are
/// there where they follow from its number, else they are left out.
struct DeviceGroup {
  std::string type;              // hotplug::name_of(DeviceType)
  std::string pf, pf_name;       // of VFs: the PF's address and interface
  std::vector<VfRange> vfs;      // of VFs: "0-15,17"; ascending, none touches the next
  std::string pci_address;       // of the function; of VFs that of the lowest number
  int stride = 1;                // of VFs: routing ids from one number to the next
  std::string interface;         // its name; "" none, not known, or another for each VF
  std::string interface_base;    // of VFs: each is called so, with its number behind
  bool named_otherwise = false;  // of VFs: they have interfaces whose names do not follow from the number
  std::string vendor, product, subsystem_vendor, subsystem_product, driver;
  std::string link_type;     // "ethernet", "infiniband"; "" unknown
  std::string eswitch_mode;  // of PFs
  std::string pf_product;    // of VFs
  std::optional<int> numa_node, mtu;
  int total_vfs = 0, num_vfs = 0;  // of PFs
  bool rdma = false;
  std::string master;       // bridge or bond of the interface
  std::string host_use;     // hotplug::HostDevice::host_use
  std::string disposition;  // policy::name_of(Disposition): "offered", "hidden", "held-back", "unmatched"
  /// The SriovResourcePolicies' word first, where it is one; then one for each suffix.
  std::vector<Said> said;
  bool operator==(const DeviceGroup&) const = default;
};
size_t device_count(const DeviceGroup& group);
/// "0-15,17", and back (nullopt: it is none: not ascending, or numbers of 4,096 and more).
std::string text_of(const std::vector<VfRange>& ranges);
std::optional<std::vector<VfRange>> vf_ranges_of(std::string_view text);

/// The devices of a group with the facts that it has, which filters and selectors of policies can be asked about. Facts
/// that are not in DeviceGroup (MAC addresses, state, speed, ...) are absent, whatever the devices have; so is what a
/// group leaves out. Empty where addresses or type are none. VFs end where their addresses would be beyond bus ff.
std::vector<hotplug::HostDevice> devices_of(const DeviceGroup& group);

/// The last change of what is offered.
struct LastChange {
  std::string time;  // "2026-11-21T00:17:41.296Z"; "" there was none that this daemon or the one before knew
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
  /// Whether the daemon is the kubelet's plugin: "on"; "off", and pods with claims do not start on the node;
  /// "waiting" for another program to end; "skipped", and kubelets start pods without a plugin; "" not reported.
  std::string kubelet_plugin = {};
  std::string waits_for = {};       // before anything new is offered: "configuration: ..."; "" nothing
  std::string dropped_fields = {};  // of policies, by the API server (daemon/schema_check.h); "" none
  /// "2026-11-21T00:17:41Z": the daemon has not renewed its Lease since then. Written by `sliced-controller aggregate` alone
  /// (controller/aggregate/silent_nodes.h); a daemon that writes its report takes it away.
  std::string silent_since = {};
  LastChange last_change;
  /// Host devices, each once; interfaces of pods and containers (type virtual) only where a policy offers them.
  int64_t devices = 0, offered = 0, held_back = 0, hidden = 0, unmatched = 0;
  Counts sriov, exposure;  // by kind of policies, as `status` has it
  std::vector<PoolReport> pools;
  std::vector<PolicyReport> policies;  // that select this node, in order of evaluation
  std::vector<std::string> problems;   // lines as the log has them
  std::vector<DeviceGroup> groups;     // held back, hidden, unmatched, offered; of each the VFs first
  /// How many of each did not fit.
  struct LeftOut {
    int64_t pools = 0, policies = 0, problems = 0, groups = 0, devices = 0;  // devices: of those groups
    bool operator==(const LeftOut&) const = default;
  } left_out;
  bool operator==(const NodeReport&) const = default;
};

/// Cuts texts, and leaves out the last of each list, until the object has at most bytes_max; what is left out is counted.
/// Problems and policies come before pools, groups last. Pure, and the same for the same report.
/// Shares: of what the fixed part leaves, problems take a quarter at most, policies what is there up to 55 %, pools up
///         to 75 %, groups all the rest; at most 1,024 of each. It may still be larger where the fixed part alone is.
NodeReport fit(NodeReport report, size_t bytes_max = kReportBytesMax);

/// The whole object. stored: metadata of the one that it takes the place of, which stays but for the Node as its owner;
/// without a resourceVersion it is a new one.
kube::Json json_of(const NodeReport& report, const kube::ObjectMeta& stored = {});

/// Back. What is missing, unknown or of another type is as if it had not been said; kInvalid without a name.
/// Bounds: those of the kind (config/crd/nodedevicereports.yaml); beyond kReportedDevicesMax groups are counted as left out.
///         Numbers are at most 10^12, so that whoever sums up those of a fleet need not look.
Result<NodeReport> decode_node_report(const kube::Json& object);

}  // namespace sliced::reports
