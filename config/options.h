#pragma once
// The configuration as plain values. config/load.h creates it from flags, environment, file and defaults. The
// initial values here are the defaults, which help and manual page print.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/readiness/readiness.h"
#include "reactor/base/log.h"
#include "reactor/base/log_sinks.h"
#include "reactor/base/time.h"

namespace sliced::config {

using namespace std::chrono_literals;

/// The three programs (config/command_table.h has their names). A process is one of them.
enum class Program : uint8_t {
  kNode,        // sliced, on each node
  kController,  // sliced-controller, once per cluster
  kKubectl,     // kubectl-sliced, on a workstation
};

/// The subcommands. kVersion, kHelp, kMan, kCompletion and kConfig use neither host nor cluster.
enum class Command : uint8_t {
  kNone,
  kRun,
  kPlan,
  kExplain,
  kWhy,
  kDiscover,
  kValidate,
  kWithdraw,
  kVersion,
  kHelp,
  kMan,
  kCompletion,
  kMatch,
  kStatus,
  kConfig,
  kWebhook,
  kMigrate,
  kHistory,
  kSnapshot,
  kWaitForConfig,
  kConfigured,
  kDrift,
  kAggregate,
  kNodes,
  kDevices,
  kTop,
  kPolicies,
  kPage,
};

/// Access to the cluster (--cluster), or its replacement. The kubelet rewrites the token's file during the
/// process, and it is read again.
struct InCluster {  // the service account that Kubernetes mounts into a pod
  bool operator==(const InCluster&) const = default;
};
/// A kubeconfig, read as by kubectl. others: further files of KUBECONFIG, which are used for values that the
/// first lacks.
struct KubeconfigFile {
  std::string path;
  std::string context = {};  // "" the current one
  std::vector<std::string> others = {};
  bool operator==(const KubeconfigFile&) const = default;
};
struct ClusterDirectory {  // a directory of YAML files instead of an API server
  std::string path;
  bool operator==(const ClusterDirectory&) const = default;
};
struct ClusterSnapshot {  // the objects of the snapshot of --host; not a value of --cluster
  bool operator==(const ClusterSnapshot&) const = default;
};
/// Fixed during the process.
using ClusterSpec = std::variant<InCluster, KubeconfigFile, ClusterDirectory, ClusterSnapshot>;
std::string describe(const ClusterSpec& cluster);  // returns the text for --cluster
/// Returns whether it is a Kubernetes API server. The others have no outages and no list of nodes.
bool has_api_server(const ClusterSpec& cluster);

/// Output format of a command. kDiff: only `plan`; kWide: tables of the fleet with more columns. The formats
/// are interfaces for scripts (docs/command-line.md).
enum class OutputFormat { kTable, kYaml, kJson, kDiff, kWide };

/// For features that can be turned off.
enum class Switch { kOff, kOn };

/// The kind of policies that `migrate` prints: kAuto is the first one that can express the input,
/// SriovResourcePolicies before DeviceExposurePolicies.
enum class PolicyForm { kAuto, kSriov, kExposure };

/// The component that moves interfaces into pods: sliced, on events of the container runtime (NRI) and with
/// CNI plugins, or Multus. STANDALONE and MULTUS, as dra-driver-sriov's option of the same name. Fixed during
/// the process, because one does not detach the interfaces of the other.
enum class ConfigurationMode { kStandalone, kMultus };

/// VF settings through the PF (VLAN, trust, ...) that a NetworkAttachmentDefinition may change.
enum class VfSettings { kAll, kNone };

/// The form of the published attribute resource.kubernetes.io/numaNode: one number, or a list of the device's
/// node and its neighbors.
enum class NumaNodeAttribute { kScalar, kList };

/// The form in which the scheduler gets the exclusion between a PF and its parts: shared counters, or
/// additionally compatibility groups.
enum class ExclusionForm { kCounters, kCompatibilityGroups };

/// The signal that the hardware of this node is configured (watchers/configured/signal.h). kNothing: no signal.
struct ConfiguredBy {
  enum class How { kNothing, kAnnotation, kFile, kNodeState };
  How how = How::kNothing;
  std::string path = {};      // for kFile
  bool allows_empty = false;  // for kNodeState: a missing or empty one also counts
  bool operator==(const ConfiguredBy&) const = default;
};

/// A value type. OptionInfo::reloadable lists the options that may change at runtime; the others are fixed.
/// Paths are unchanged and not checked for existence. Intervals are within the bounds below; names are valid
/// by Kubernetes' rules.
struct Options {
  Program program = Program::kNode;
  Command command = Command::kNone;
  std::vector<std::string> arguments;  // the command's positional arguments: a device, files, a shell
  std::string config_file;             // "" if none

  // Identity and environment.
  ClusterSpec cluster = InCluster{};
  std::string node_name;  // a DNS subdomain; never empty after a load without problems
  std::map<std::string, std::string> node_labels;  // for a directory cluster without a Node object
  /// The namespace of SriovResourcePolicies and DeviceAttributes.
  std::string namespace_ = "dra-driver-sriov";
  /// The namespace of the SR-IOV network operator's SriovNetworkNodeStates.
  std::string node_state_namespace = "sriov-network-operator";
  /// Parts of its status to ignore: kFailed, kEarlierBoot.
  std::set<std::string> ignore_node_state;
  /// Another root directory, or a file of `sliced snapshot`, is another host.
  std::string host_root = "/";  // "/" is the running system
  /// spec.driver of sliced's ResourceSlices; two different names, of at most 63 bytes.
  std::string sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver_name = "dra.networking";
  /// Private: other users can neither write nor open it. Created if its parent exists.
  std::string runtime_directory;  // directory of the locks; "": daemon/node_locks.h finds it
  std::string health_address;     // "127.0.0.1:9810", TCP address of the status pages; "" none
  /// Used if the API server has the kind NodeDeviceReport; the offer does not depend on it.
  Switch report = Switch::kOn;  // write this node's NodeDeviceReport
  Switch events = Switch::kOn;  // write Events
  /// Version of kube-scheduler: entries that exclude each other, and shared ones, are offered together from
  /// 1.36.2 on.
  std::string scheduler_version;  // "v1.36.3"; "": that of the API server
  // The kubelet plugin. If it is off, the daemon publishes and prepares nothing, and the options below are
  // not used.
  Switch kubelet_plugin = Switch::kOff;
  /// For a daemon without the kubelet plugin: kubelets start pods with its devices although no plugin
  /// prepares them.
  Switch skip_node_operations = Switch::kOff;
  /// A list is published only if the API server supports list attributes (gate DRAListTypeAttributes).
  NumaNodeAttribute numa_node_attribute = NumaNodeAttribute::kScalar;
  Switch dranet_attributes = Switch::kOff;  // attributes dra.net/ in entries of DeviceExposurePolicies
  /// Groups are published only if the API server stores them (gate DRADeviceCompatibilityGroups).
  ExclusionForm exclusion = ExclusionForm::kCounters;
  /// The kubelet's directories: its plugin watcher finds sockets in the second (k8s.io/kubelet
  /// pluginregistration/v1).
  std::string kubelet_plugins_directory = "/var/lib/kubelet/plugins";
  std::string kubelet_registrar_directory = "/var/lib/kubelet/plugins_registry";
  std::string cdi_root = "/var/run/cdi";  // read by container runtimes
  /// Part of socket names, so that those of an old and a new pod can exist together.
  std::string pod_uid;  // "": socket names contain only the driver's name
  // How interfaces are moved into pods.
  ConfigurationMode configuration_mode = ConfigurationMode::kStandalone;
  /// STANDALONE only, as are cni_path and nri_socket.
  std::string interface_prefix = "vfnet";  // for interfaces without ifName
  // Searched in order for a plugin's file.
  std::string cni_path = "/opt/cni/bin";  // directories, joined by ':'
  /// CNI plugins, and features of them such as "bridge.ipMasq", that definitions may use if the policy of the
  /// device has no supportedCNIPlugins: for an exclusive device, and for a shared one.
  std::set<std::string> cni_plugins_exclusive = {"host-device", "ib-sriov", "sriov"};
  std::set<std::string> cni_plugins_shared = {"bridge", "ipoib", "ipvlan", "macvlan", "macvtap", "vlan"};
  VfSettings vf_settings = VfSettings::kAll;
  std::string nri_socket = "/var/run/nri/nri.sock";
  // Identify the plugin to the runtime, which sorts the indexes as texts.
  std::string nri_plugin_name = "dra-driver-sriov";
  std::string nri_plugin_index = "42";
  // Features for containers and their pods. KubeVirt finds its PCI functions in the environment.
  bool enable_device_metadata = false;  // files with the published attributes of their devices
  bool kubevirt_environment = false;    // PCI_RESOURCE_<claim>_<request>
  /// If it is set, each pod with a claim is read (get on pods).
  std::string mac_annotation;  // of pods, with the requested MAC addresses; "": not read

  // HTTPS server of the webhook. The files are PEM, the key is not encrypted; both are read again when they
  // change.
  std::string webhook_address = "[::]:9443";
  std::string tls_cert_file = "/etc/sliced/webhook/tls.crt";
  std::string tls_private_key_file = "/etc/sliced/webhook/tls.key";

  // Scope and timing. Kinds that the cluster does not permit this node to read can be turned off. Spelled as
  // in kKinds (values.h).
  std::set<std::string> kinds_off;  // kinds that are not watched: "SriovResourcePolicy" ...

  policy::Readiness readiness;  // default for policies without it
  /// Host settings to add if they are missing: kAdminMac; empty: the host is not changed.
  std::set<std::string> configure;

  // Finds changes without events, after this time at the latest.
  Millis sync_interval = 5min;  // full rescan of the host
  /// Lowers the limit of sync_interval to kSyncIntervalShortMin.
  bool allow_short_sync = false;
  Millis readiness_poll =
      2s;  // longest interval between queries of a PF whose VFs wait for changes that it may not report
  /// Per PF. Removals never wait.
  Millis settle = 100ms;   // quiet time before additions of the host are published
  Millis settle_max = 1s;  // longest wait for a quiet time

  // The wait before anything new is offered, and the signal of wait-for-config and configured.
  ConfiguredBy until_configured;  // for run; nothing: it offers from the start
  ConfiguredBy
      wait_for;  // nothing: wait-for-config uses the annotation, and configured sets every signal that it can
  Millis wait_timeout{0};               // for wait-for-config; 0: no limit
  std::string pod_name, pod_namespace;  // this pod's; "" if none. configured: the namespace of the pods that
                                        // it releases
  std::map<std::string, std::string> let_go = {{"app", "sliced"}};  // labels of those pods

  // Options of single commands. Cluster access for commands that find it as kubectl does.
  std::string kubeconfig;  // "": KUBECONFIG, or ~/.kube/config
  std::string context;     // "": the current one
  bool show = false;       // run prints devices and verdicts
  bool watch = false;      // discover continues after the first output

  bool published = false;  // match uses slices instead of the host
  /// Files with slices for match, empty: from the cluster; files with history lines, empty: from the running
  /// daemon.
  std::vector<std::string> files;

  Millis since{0};  // for history: maximum age; 0: all

  PolicyForm form = PolicyForm::kAuto;  // for the output of migrate
  std::string resource_prefix;          // for resources without a prefix in the input of migrate; "": their
                                        // tool's own
  bool check = false;                   // migrate compares, and prints no objects

  /// Otherwise cli/snapshot/aliases.h describes the replacements.
  bool raw = false;  // snapshot keeps names and addresses

  /// "-" is standard input, here and in diff_file and files.
  std::string node_state = "cluster";  // source of the node's SriovNetworkNodeState for drift, or a file

  // Output.
  LogFormat log_format = LogFormat::kAuto;
  Level log_level = Level::kInfo;
  OutputFormat output = OutputFormat::kTable;

  // Options of fleet commands.
  std::string on_node;  // restricts `devices` to a node
  bool once = false;    // top ends after its first table
  /// Every client of the address can read everything that this user may read of the cluster.
  std::string page_address = "127.0.0.1:9811";  // address of the fleet's page
  std::string diff_file;                        // its policies are compared with the existing ones; "" if
                                                // none
  bool all_namespaces = false;                  // policies of every namespace
  std::string diff_delete;  // "KIND/NAME,...": policies to compare as if they were deleted; "" if none

  bool operator==(const Options&) const = default;
};

/// For Options::configure: administrative MAC addresses of VFs.
inline constexpr std::string_view kAdminMac = "admin-mac";

/// For Options::ignore_node_state.
inline constexpr std::string_view kIgnoreFailed = "failed", kIgnoreEarlierBoot = "earlier-boot";

/// For Options::node_state: no file.
inline constexpr std::string_view kNodeStateOfCluster = "cluster";

/// Bounds of the intervals; load() refuses values outside.
inline constexpr Millis kSyncIntervalMin = 1min;
inline constexpr Millis kSyncIntervalShortMin = 30s;  // with --allow-short-sync
inline constexpr Millis kSyncIntervalMax = 24h;
/// For --readiness-poll.
inline constexpr Millis kReadinessPollMin = 100ms, kReadinessPollMax = 1min;
/// For --settle-max, which also limits --settle.
inline constexpr Millis kSettleMax = 1min;

}  // namespace sliced::config
