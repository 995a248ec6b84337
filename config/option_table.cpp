#include "config/option_table.h"

#include <array>
#include <vector>

#include "config/option_rows.h"

namespace sliced::config {
namespace {

constexpr CommandSet kOnCluster = kDeciding | bit(Command::kWithdraw);
constexpr CommandSet kOnHost = kDeciding | bit(Command::kDiscover) | bit(Command::kMatch) |
                               bit(Command::kMigrate) | bit(Command::kSnapshot) | bit(Command::kDrift);
constexpr CommandSet kWorking =
    kOnCluster | kOnHost | kSigns | bit(Command::kValidate) | bit(Command::kWebhook) | kAggregating;
constexpr CommandSet kNamingDrivers = kOnCluster | bit(Command::kValidate) | bit(Command::kMatch) |
                                      bit(Command::kWebhook) | bit(Command::kMigrate) |
                                      bit(Command::kSnapshot);
constexpr CommandSet kFleet = bit(Command::kNodes) | bit(Command::kDevices) | bit(Command::kTop) |
                              bit(Command::kPolicies) | bit(Command::kPage);
constexpr CommandSet kAsking = bit(Command::kWhy) | kFleet;  // of a whole cluster, as kubectl does
constexpr CommandSet kEverywhere = ~CommandSet{0};

constexpr std::array<std::string_view, 3> kClusters = {"in-cluster", "kubeconfig:", "dir:"};

// Options of cluster, node and host. config/load.cpp checks limits between options after all are known.
constexpr OptionInfo kPlaceOptions[] = {
    option<&Options::cluster, parse_cluster>(
        {.name = "cluster",
         .env = "SLICED_CLUSTER",
         .file_key = "cluster",
         .placeholder = "SPEC",
         .commands = kOnCluster | kSigns | bit(Command::kMatch) | bit(Command::kSnapshot) |
                     bit(Command::kDrift) | bit(Command::kValidate) | kAsking | kAggregating,
         .not_from_env = bit(Command::kValidate),
         .choices = kClusters,
         .help =
             "Source of policies and destination of slices: in-cluster (service account of the pod), "
             "kubeconfig:PATH, or dir:PATH, a directory of YAML files instead of an API server; slices are "
             "written to PATH/resourceslices."}),
    option<&Options::node_name, parse_node_name>(
        {.name = "node-name",
         .env = "NODE_NAME",
         .file_key = "nodeName",
         .placeholder = "NAME",
         .commands = kOnCluster | kOnHost | kSigns,
         .help = "Name of the Node object of this machine. Default: the host name in lower case."}),
    option<&Options::node_labels, parse_node_labels>(
        {.name = "node-labels",
         .env = "SLICED_NODE_LABELS",
         .file_key = "nodeLabels",
         .placeholder = "KEY=VALUE,...",
         .commands = kDeciding | bit(Command::kMigrate),
         .help =
             "Labels of the node, for a directory cluster without a Node object. The Node of an API server "
             "has priority."}),
    option<&Options::namespace_, parse_namespace>(
        {.name = "namespace",
         .short_name = 'n',
         .env = "NAMESPACE",
         .file_key = "namespace",
         .placeholder = "NAME",
         .commands = kOnCluster | bit(Command::kMigrate) | bit(Command::kSnapshot) |
                     bit(Command::kConfigured) | bit(Command::kWhy) | bit(Command::kNodes) |
                     bit(Command::kPolicies) | bit(Command::kTop) | bit(Command::kPage) |
                     bit(Command::kValidate) | bit(Command::kWebhook) | kAggregating,
         .not_from_env = bit(Command::kWhy) | bit(Command::kWebhook),
         .help =
             "Namespace of the policies. why: namespace of a pod or claim without one. validate and webhook "
             "warn about policies in another namespace."}),
    option<&Options::kubeconfig, parse_path>(
        {.name = "kubeconfig",
         .placeholder = "FILE",
         .commands = kAsking | bit(Command::kValidate),
         .help =
             "Kubeconfig file, if --cluster does not name another one. Default: the files in KUBECONFIG, or "
             "~/.kube/config."}),
    option<&Options::context, parse_context>(
        {.name = "context",
         .placeholder = "NAME",
         .commands = kAsking | bit(Command::kValidate),
         .help = "Context of the kubeconfig. Default: the current one."}),
    option<&Options::node_state_namespace, parse_namespace>(
        {.name = "node-state-namespace",
         .env = "SLICED_NODE_STATE_NAMESPACE",
         .file_key = "nodeStateNamespace",
         .placeholder = "NAME",
         .commands = kDeciding | bit(Command::kDrift) | bit(Command::kWaitForConfig),
         .help = "Namespace of the SriovNetworkNodeStates of the SR-IOV network operator, for drift, the "
                 "readiness condition nodeState, the signal node-state and configure. On OpenShift it is "
                 "openshift-sriov-network-operator."}),
    option<&Options::ignore_node_state, parse_ignored>(
        {.name = "ignore-node-state",
         .env = "SLICED_IGNORE_NODE_STATE",
         .file_key = "ignoreNodeState",
         .placeholder = "WHAT,...",
         .commands = kDeciding | bit(Command::kWaitForConfig),
         .choices = kIgnorable,
         .help =
             "States of a SriovNetworkNodeState that do not withhold devices. failed: syncStatus Failed. "
             "earlier-boot: a status that was written before this boot or never, for node states of another "
             "program; with the operator, devices are then offered before it has configured them again."}),
    option<&Options::host_root, parse_path>(
        {.name = "host",
         .env = "SLICED_HOST",
         .file_key = "host",
         .placeholder = "ROOT",
         .commands = kOnHost | kSigns,
         .help =
             "Read ROOT/sys and ROOT/proc instead of those of the running system. Events then come from the "
             "datagram socket ROOT/run/sliced/uevents. ROOT may be a file of sliced snapshot: then node, "
             "policies and slices are those of the file, if no cluster is set."}),
    option<&Options::config_file, parse_path>(
        {.name = "config",
         .short_name = 'c',
         .env = "SLICED_CONFIG",
         .placeholder = "FILE",
         .commands = kWorking,
         .help = "YAML file with the same options; the manual page has the key of each. It is read again on "
                 "SIGHUP."}),
    option<&Options::sriov_driver_name, parse_driver_name>(
        {.name = "sriov-driver-name",
         .env = "SLICED_SRIOV_DRIVER_NAME",
         .file_key = "sriovDriverName",
         .placeholder = "NAME",
         .commands = kNamingDrivers | bit(Command::kDrift) | kAsking,
         .help = "DRA driver name of the devices of SriovResourcePolicies. On one node, two drivers must not "
                 "publish under the same name."}),
    option<&Options::exposure_driver_name, parse_driver_name>(
        {.name = "exposure-driver-name",
         .env = "SLICED_EXPOSURE_DRIVER_NAME",
         .file_key = "exposureDriverName",
         .placeholder = "NAME",
         .commands = kNamingDrivers | kAsking,
         .help =
             "DRA driver name of the devices of DeviceExposurePolicies, and the domain of their attributes. "
             "It must differ from that of SriovResourcePolicies."}),
};

constexpr OptionInfo kOutputOptions[] = {
    option<&Options::log_format, parse_word<LogFormat>>(
        {.name = "log-format",
         .env = "SLICED_LOG_FORMAT",
         .file_key = "logFormat",
         .placeholder = "FORMAT",
         .commands = kWorking | kAsking,
         .choices = kTexts<LogFormat>,
         .help =
             "text for people, json (one object per line), or journald (its native protocol). auto: journald "
             "if systemd connected standard error to the journal, else text."}),
    option<&Options::log_level, parse_word<Level>>(
        {.name = "log-level",
         .env = "SLICED_LOG_LEVEL",
         .file_key = "logLevel",
         .placeholder = "LEVEL",
         .commands = kWorking | kAsking,
         .reloadable = true,
         .choices = kTexts<Level>,
         .help = "Lowest level of the logged lines: debug, info, warning or error."}),
    option<&Options::output, parse_word<OutputFormat>>(
        {.name = "output",
         .short_name = 'o',
         .placeholder = "FORMAT",
         .commands = bit(Command::kPlan) | bit(Command::kExplain) | bit(Command::kDiscover) |
                     bit(Command::kMatch) | bit(Command::kStatus) | bit(Command::kHistory) |
                     bit(Command::kMigrate) | bit(Command::kDrift) | (kAsking & ~bit(Command::kPage)),
         .choices = kTexts<OutputFormat>,
         .help = "table, yaml or json; for plan also diff: differences from the published slices; for nodes, "
                 "devices, top and policies also wide: a table with more columns."}),
    {.name = "help",
     .short_name = 'h',
     .commands = kEverywhere,
     .help = "Print this help.",
     .parse = [](std::string_view, Options&) { return std::string(); },
     .print = [](const Options&) { return std::string(); }},
};

}  // namespace

std::span<const OptionInfo> option_table() {
  static const std::vector<OptionInfo> kAll = [] {
    std::vector<OptionInfo> all;
    for (const std::span<const OptionInfo> some :
         {std::span<const OptionInfo>(kPlaceOptions), daemon_options(), asking_options(),
          std::span<const OptionInfo>(kOutputOptions)})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kAll;
}

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : option_table())
    if (option.name == name) return &option;
  return nullptr;
}

bool takes(const CommandInfo& command, const OptionInfo& option) {
  return (option.commands & bit(command.id)) != 0;
}

bool takes(Program program, const OptionInfo& option) {
  for (const CommandInfo* command : commands_of(program))
    if (takes(*command, option)) return true;
  return false;
}

std::vector<std::string> takers(Program program, const OptionInfo& option) {
  std::vector<std::string> out;
  for (const CommandInfo* command : commands_of(program))
    if (takes(*command, option)) out.emplace_back(command->name);
  if (!out.empty()) return out;
  for (const ProgramInfo& other : program_table())
    for (const CommandInfo* command : commands_of(other.id))
      if (takes(*command, option))
        out.push_back(std::string(other.invocation) + " " + std::string(command->name));
  return out;
}

}  // namespace sliced::config
