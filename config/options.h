#pragma once
// What the administrator asked for, as plain values. Made by config/load.h from flags, environment, file and
// defaults; the defaults are the initial values here, and help and manual page print them from here.
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

/// The three programs (config/command_table.h names them). A process is one of them from its start to its end.
enum class Program : uint8_t {
  kNode,        // sliced, on each node
  kController,  // sliced-controller, once per cluster
  kKubectl,     // kubectl-sliced, on a workstation
};

/// The subcommands.
/// kVersion, kHelp, kMan, kCompletion and kConfig need neither host nor cluster.
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

/// How the cluster is reached (--cluster), or what stands in its place.
/// Its token's file is rewritten by the kubelet while we run, and is read anew.
struct InCluster {  // the service account that Kubernetes mounts into a pod
  bool operator==(const InCluster&) const = default;
};
/// Read as kubectl reads it; its current context says who and where.
/// others: further files as KUBECONFIG names them, which count where the first says nothing.
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
struct ClusterSnapshot {  // the objects of the snapshot that --host names; no value of --cluster
  bool operator==(const ClusterSnapshot&) const = default;
};
/// A process has one of them from its start to its end.
using ClusterSpec = std::variant<InCluster, KubeconfigFile, ClusterDirectory, ClusterSnapshot>;
std::string describe(const ClusterSpec& cluster);  // the text that --cluster takes
/// Whether it is one of Kubernetes: what else there is neither fails for a while nor tells of its nodes.
bool has_api_server(const ClusterSpec& cluster);

/// How a command prints what it found. kDiff: of `plan` alone; kWide, a table with more columns: of tables of the fleet.
/// The forms are interfaces (docs/command-line.md): scripts read them.
enum class OutputFormat { kTable, kYaml, kJson, kDiff, kWide };

/// Of what can be left out as a whole.
enum class Switch { kOff, kOn };

/// As which kind of policy `migrate` says what it has read: kAuto is the first that can say it, SriovResourcePolicies
/// before DeviceExposurePolicies.
enum class PolicyForm { kAuto, kSriov, kExposure };

/// Who moves interfaces into pods: we do, by the container runtime's word (NRI) and CNI plugins, or Multus does.
/// STANDALONE and MULTUS, as dra-driver-sriov's option of the same name has them.
/// Fixed for the process: what one has put into pods the other does not take out.
enum class ConfigurationMode { kStandalone, kMultus };

/// Which settings of a VF through its PF (VLAN, trust, ...) a NetworkAttachmentDefinition may make.
enum class VfSettings { kAll, kNone };

/// What the published attribute resource.kubernetes.io/numaNode is: one number, or a list of the device's node and its neighbors.
enum class NumaNodeAttribute { kScalar, kList };

/// How the scheduler sees that a PF as a whole and its parts exclude each other: by shared counters alone, or also by compatibility groups.
enum class ExclusionForm { kCounters, kCompatibilityGroups };

/// Who says that the hardware of this node is configured (watchers/configured/sign.h). With kNothing nobody is asked.
struct ConfiguredBy {
  enum class How { kNothing, kAnnotation, kFile, kNodeState };
  How how = How::kNothing;
  std::string path = {};      // of kFile
  bool allows_empty = false;  // of kNodeState: one that is not there, or wants nothing, is a sign too
  bool operator==(const ConfiguredBy&) const = default;
};

/// A value, copied and compared. Which of it may change while the daemon runs is in the table
/// (OptionInfo::reloadable); the rest stays as it was at the start.
/// Paths are as they were given: nobody has looked whether they are there. Intervals are within the bounds
/// below; names are valid by Kubernetes' rules.
struct Options {
  Program program = Program::kNode;
  Command command = Command::kNone;
  std::vector<std::string> arguments;  // what follows the command and is no option: a device, files, a shell
  std::string config_file;             // "" none

  // Who this is and where it works.
  ClusterSpec cluster = InCluster{};
  std::string node_name;  // a DNS subdomain; never empty after a load without problems
  std::map<std::string, std::string> node_labels;  // for a directory cluster without a Node object
  /// Whose SriovResourcePolicies and DeviceAttributes count.
  std::string namespace_ = "dra-driver-sriov";
  /// Where the SR-IOV network operator keeps its SriovNetworkNodeStates.
  std::string node_state_namespace = "sriov-network-operator";
  /// What of its status is passed over: kFailed, kEarlierBoot.
  std::set<std::string> ignore_node_state;
  /// Below another root, or in a file of `sliced snapshot`, another host is read.
  std::string host_root = "/";  // "/" is the running system
  /// spec.driver of our ResourceSlices; two different names, of at most 63 bytes.
  std::string sriov_driver_name = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver_name = "dra.networking";
  /// Private: others can neither write to it nor open it. Made where only its parent is there.
  std::string runtime_directory;  // where a lock stands; "": daemon/node_locks.h finds it
  std::string health_address;     // "127.0.0.1:9810", where the status is read by TCP; "" nowhere
  /// Where the API server has NodeDeviceReport; nothing that is offered depends on it.
  Switch report = Switch::kOn;  // what this node has is written into its NodeDeviceReport
  Switch events = Switch::kOn;  // what is worth one is told as Events
  /// Of kube-scheduler: devices that exclude each other, and shared ones, are offered beside each other from
  /// 1.36.2 on.
  std::string scheduler_version;  // "v1.36.3"; "": that of the API server
  // Where the kubelet finds this.
  // Off, the daemon publishes and prepares nothing, and the options below are not used.
  Switch kubelet_plugin = Switch::kOff;
  /// Of a daemon without the kubelet plugin: kubelets start pods with its devices although no plugin prepares them.
  Switch skip_node_operations = Switch::kOff;
  /// A list is published only where the API server takes list attributes (gate DRAListTypeAttributes).
  NumaNodeAttribute numa_node_attribute = NumaNodeAttribute::kScalar;
  /// Groups are published only where the API server stores them (gate DRADeviceCompatibilityGroups).
  ExclusionForm exclusion = ExclusionForm::kCounters;
  /// Both are the kubelet's own: its plugin watcher looks into the second for sockets (k8s.io/kubelet
  /// pluginregistration/v1).
  std::string kubelet_plugins_directory = "/var/lib/kubelet/plugins";
  std::string kubelet_registrar_directory = "/var/lib/kubelet/plugins_registry";
  std::string cdi_root = "/var/run/cdi";  // where container runtimes look
  /// In the names of sockets, so that those of an old pod and of a new one stand beside each other.
  std::string pod_uid;  // "": sockets with the drivers' names alone
  // How interfaces come into pods.
  ConfigurationMode configuration_mode = ConfigurationMode::kStandalone;
  /// Of STANDALONE alone, as cni_path and nri_socket are.
  std::string interface_prefix = "vfnet";  // of who has no ifName
  // The first that has a plugin's file counts.
  std::string cni_path = "/opt/cni/bin";  // directories, joined by ':'
  /// CNI plugins, and features of them such as "bridge.ipMasq", that definitions may use where the policy of the device has no
  /// supportedCNIPlugins: of a device that one claim has alone, and of one that several share.
  std::set<std::string> cni_plugins_exclusive = {"host-device", "ib-sriov", "sriov"};
  std::set<std::string> cni_plugins_shared = {"bridge", "ipoib", "ipvlan", "macvlan", "macvtap", "vlan"};
  VfSettings vf_settings = VfSettings::kAll;
  std::string nri_socket = "/var/run/nri/nri.sock";
  // By these two the runtime tells plugins apart, in the order of the indexes as texts.
  std::string nri_plugin_name = "dra-driver-sriov";
  std::string nri_plugin_index = "42";
  // What containers and their pods are told and asked.
  /// Mounted into containers; KubeVirt finds its PCI functions there.
  bool enable_device_metadata = false;  // files with what is published of their devices
  bool kubevirt_environment = false;    // PCI_RESOURCE_<claim>_<request>
  /// With it each pod with a claim is read (get on pods).
  std::string mac_annotation;  // of pods, with the MAC addresses that they ask for; "" is not read

  // Where the webhook is reached, and as whom it answers.
  /// HTTPS. The files are PEM, the key is not encrypted; both are read again when they change.
  std::string webhook_address = "[::]:9443";
  std::string tls_cert_file = "/etc/sliced/webhook/tls.crt";
  std::string tls_private_key_file = "/etc/sliced/webhook/tls.key";

  // What is obeyed and how fast.
  /// Where the cluster does not let this node read them. Spelled as kKinds (values.h).
  std::set<std::string> kinds_off;  // kinds that are neither watched nor obeyed: "SriovResourcePolicy" ...

  policy::Readiness readiness;  // of policies, where they leave it out
  /// What of the host is set where it is missing: kAdminMac; empty: nothing of it is changed.
  std::set<std::string> configure;

  // What events do not tell is found by it, in the worst case so much later.
  Millis sync_interval = 5min;  // full rescan of the host
  /// Lets sync_interval go down to kSyncIntervalShortMin.
  bool allow_short_sync = false;
  Millis readiness_poll =
      2s;  // between two questions to a PF whose VFs wait for what it need not tell, at most
  /// Of each PF. Removals never wait.
  Millis settle = 100ms;   // quiet time before additions from the host are published
  Millis settle_max = 1s;  // the longest that additions wait when it never gets quiet

  // Until when nothing new is offered, and what wait-for-config and configured are about.
  ConfiguredBy until_configured;  // of run; nothing: it offers from the start
  ConfiguredBy
      wait_for;  // nothing: wait-for-config takes the annotation, and configured does all that it can
  Millis wait_timeout{0};               // of wait-for-config; 0: for ever
  std::string pod_name, pod_namespace;  // this pod's; "" none. configured: in which namespace pods are let go
  std::map<std::string, std::string> let_go = {{"app", "sliced"}};  // labels of those pods

  // What single commands are asked for.
  // How kubectl finds its cluster, of commands that are asked as it is.
  std::string kubeconfig;  // "": KUBECONFIG, or ~/.kube/config
  std::string context;     // "": the current one
  bool show = false;       // run prints devices and verdicts
  bool watch = false;      // discover goes on

  bool published = false;  // match asks of slices, not of the host
  /// Where match takes slices from, empty: from the cluster; and history lines, empty: from the running daemon.
  std::vector<std::string> files;

  Millis since{0};  // of history: how long ago at most; 0: all of it

  PolicyForm form = PolicyForm::kAuto;  // of what migrate prints
  std::string resource_prefix;          // of resources without one, which migrate reads; "": their tool's own
  bool check = false;                   // migrate compares, and prints no objects

  /// Otherwise cli/snapshot/aliases.h says what is replaced.
  bool raw = false;  // snapshot keeps names and addresses as they are

  /// "-" is standard input, here and in diff_file and files.
  std::string node_state = "cluster";  // where drift takes the node's SriovNetworkNodeState from, or a file

  // How things are said.
  LogFormat log_format = LogFormat::kAuto;
  Level log_level = Level::kInfo;
  OutputFormat output = OutputFormat::kTable;

  // Of the fleet.
  std::string on_node;  // of whose devices `devices` tells
  bool once = false;    // top ends behind its first table
  /// Whoever reaches it reads what this user may read of the cluster.
  std::string page_address = "127.0.0.1:9811";  // where the fleet's page is served
  std::string diff_file;                        // policies in it are compared with those that are; "" none
  bool all_namespaces = false;                  // policies of every namespace are told
  std::string diff_delete;  // "KIND/NAME,...": policies that are compared as if they were deleted; "" none

  bool operator==(const Options&) const = default;
};

/// Of Options::configure: administrative MAC addresses of VFs.
inline constexpr std::string_view kAdminMac = "admin-mac";

/// Of Options::ignore_node_state.
inline constexpr std::string_view kIgnoreFailed = "failed", kIgnoreEarlierBoot = "earlier-boot";

/// Of Options::node_state: no file.
inline constexpr std::string_view kNodeStateOfCluster = "cluster";

/// Bounds of the intervals; load() refuses what is outside of them.
inline constexpr Millis kSyncIntervalMin = 1min;
inline constexpr Millis kSyncIntervalShortMin = 30s;  // with --allow-short-sync
inline constexpr Millis kSyncIntervalMax = 24h;
/// Of --readiness-poll.
inline constexpr Millis kReadinessPollMin = 100ms, kReadinessPollMax = 1min;
/// Of --settle-max; --settle is at most that.
inline constexpr Millis kSettleMax = 1min;

}  // namespace sliced::config
