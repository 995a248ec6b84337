#include "config/command_table.h"

#include <array>
#include <cstdlib>

namespace sliced::config {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

constexpr std::array<std::string_view, 4> kPages = {"livez", "readyz", "metrics", "verdicts"};

// kubectl's names; `why pod/NAME` is one argument (check_arguments()).
constexpr std::array<std::string_view, 6> kWhyKinds = {"pod",    "claim",         "pods",
                                                       "claims", "resourceclaim", "resourceclaims"};

constexpr ProgramInfo kPrograms[] = {
    {.id = Program::kNode,
     .name = "sliced",
     .invocation = "sliced",
     .place = "on the node",
     .man_section = "8",
     .summary = "offers the network devices of a node to Kubernetes as policies allow",
     .description =
         "sliced runs on each node. It publishes the network devices that policies allow as ResourceSlices, "
         "and prepares allocated devices for pods.",
     .exit_status =
         "2: plan: changes; match: no device matches; drift: a field differs; status: the daemon is not "
         "ready; wait-for-config: not configured in time."},
    {.id = Program::kController,
     .name = "sliced-controller",
     .invocation = "sliced-controller",
     .place = "once per cluster",
     .man_section = "8",
     .summary = "validates policies and aggregates their status",
     .description =
         "sliced-controller runs once per cluster, on any node: as an admission webhook for policies, and as "
         "the controller that writes the status of each policy from the reports of the nodes. It needs no "
         "network hardware and no privileges on its host.",
     .exit_status = ""},
    {.id = Program::kKubectl,
     .name = "kubectl-sliced",
     .invocation = "kubectl sliced",
     .place = "on a workstation",
     .man_section = "1",
     .summary = "shows why pods wait for devices, and the devices of all nodes",
     .description =
         "kubectl-sliced is a plugin of kubectl. It reads the cluster with the permissions of its user and "
         "writes nothing to it. It needs neither root nor network hardware.",
     .exit_status =
         "2: why: no node has the requested devices; policies --diff and migrate --check: changes. 3: why: "
         "the result is uncertain."},
};

constexpr ProgramSet kOnNode = bit(Program::kNode);
constexpr ProgramSet kInCluster = bit(Program::kController);
constexpr ProgramSet kOnWorkstation = bit(Program::kKubectl);
constexpr ProgramSet kAll = kOnNode | kInCluster | kOnWorkstation;

constexpr CommandInfo kCommands[] = {
    {.id = Command::kRun,
     .name = "run",
     .programs = kOnNode,
     .summary = "Publish the devices that the policies allow, and serve the kubelet.",
     .description =
         "Runs until SIGTERM. The ResourceSlices remain, so that a restart is not visible. SIGHUP reads the "
         "configuration file again."},
    {.id = Command::kPlan,
     .name = "plan",
     .programs = kOnNode,
     .summary = "Print the ResourceSlices that run would publish.",
     .description =
         "Changes nothing. With -o yaml or json it prints a List of ResourceSlice objects, with -o diff the "
         "differences from the published ones. Exit status 0: no changes. 2: changes. 1: no decision. Errors "
         "of single policies are printed on standard error and do not change the exit status."},
    {.id = Command::kExplain,
     .name = "explain",
     .programs = kOnNode,
     .arguments = "[DEVICE]",
     .arguments_max = 1,
     .summary = "Explain why each device is offered or not.",
     .description = "DEVICE is a PCI address, an interface name or a device name. Default: all devices."},
    {.id = Command::kWhy,
     .name = "why",
     .programs = kOnWorkstation,
     .arguments = "KIND [NAMESPACE/]NAME",
     .arguments_min = 2,
     .arguments_max = 2,
     .summary = "Explain why a pod or a claim waits for devices.",
     .description =
         "KIND is pod or claim. KIND/NAME is accepted, too; --namespace sets the namespace. For each request "
         "the output has the number of matching, allocated and free devices of each node, the holders of "
         "allocated devices, the reasons of the nodes that are closest to a match, and the changes that would"
         " help. Selectors are evaluated and devices allocated by the rules of the scheduler. Reads nodes, "
         "pods, ResourceSlices, DeviceClasses and claims, and writes nothing. Exit status 0: the pod runs, or"
         " a node has the requested devices. 2: no node has them. 3: the result is uncertain. 1: the cluster "
         "cannot be read.",
     .choices = kWhyKinds},
    {.id = Command::kNodes,
     .name = "nodes",
     .programs = kOnWorkstation,
     .summary = "Show the offered and allocated devices of each node.",
     .description =
         "Shows for each node its pools, the numbers of offered, allocated, free and tainted devices, and "
         "problems such as a node without slices or a pool with missing slices. Reads nodes, ResourceSlices "
         "and claims in pages, and writes nothing. -o wide prints a line per pool. Exit status 0: success. 1:"
         " the cluster cannot be read."},
    {.id = Command::kDevices,
     .name = "devices",
     .programs = kOnWorkstation,
     .arguments = "NODE",
     .arguments_max = 1,
     .summary = "Show the state of each device of a node.",
     .description =
         "Shows each published device with its address, PF and holder. --on NODE is accepted, too. On the "
         "node itself, sliced explain shows more. Exit status 0: success. 1: the cluster cannot be read, or "
         "there is no such node."},
    {.id = Command::kPolicies,
     .name = "policies",
     .programs = kOnWorkstation,
     .arguments = "[NAME]",
     .arguments_max = 1,
     .summary = "Show the effect of each policy on all nodes, and of an edit.",
     .description =
         "Shows for each policy the selected nodes, the matching and offered devices, and the problems that "
         "nodes report; with NAME also the policies that have precedence, by node. --diff FILE shows the "
         "devices that would appear and disappear on every node if FILE were applied, --diff-delete those for"
         " a deletion, and the claims of allocated devices among them. Each node is evaluated as by its "
         "daemon, from the facts in its report; nodes whose report lacks facts are named. Exit status 0: "
         "success; with --diff, no changes. 2: with --diff, changes or nodes that cannot be evaluated. 1: "
         "FILE or the cluster cannot be read."},
    {.id = Command::kTop,
     .name = "top",
     .programs = kOnWorkstation,
     .summary = "Show live the allocation of each node.",
     .description =
         "Nodes sorted by allocation, updated on change; q or Ctrl-C ends it. With --once, or if standard "
         "output is not a terminal, one table. Exit status 0: success. 1: the cluster cannot be read."},
    {.id = Command::kPage,
     .name = "page",
     .programs = kOnWorkstation,
     .summary = "Serve a page of the whole fleet for a browser on this machine.",
     .description =
         "The page is at http://127.0.0.1:9811/ (--page-address). It shows the health of nodes, their devices"
         " with the holders, the effect of each policy, and why a pod waits; with --diff FILE also the "
         "changes of an edit on every node, updated with the file. It watches the cluster and changes "
         "nothing. Prints its address and runs until a signal. Exit status 0: ended by a signal. 1: it cannot"
         " start."},
    {.id = Command::kDiscover,
     .name = "discover",
     .programs = kOnNode,
     .summary = "Print the network devices of this machine with their facts."},
    {.id = Command::kMatch,
     .name = "match",
     .programs = kOnNode,
     .arguments = "EXPRESSION",
     .arguments_min = 1,
     .arguments_max = 1,
     .summary = "Print the devices that a CEL expression matches, and its cost.",
     .description =
         "EXPRESSION is evaluated as the selector of a DeviceExposurePolicy for every device of the host: a "
         "known attribute that a device lacks is empty. With --slices it is evaluated as the selector of a "
         "DeviceClass or a claim for every published device: there an absent attribute is an error, and one "
         "error ends the attempt of the scheduler. A device with an error does not match. Exit status 0: a "
         "device matches. 2: no device matches. 1: EXPRESSION does not compile, or the devices cannot be "
         "read."},
    {.id = Command::kDrift,
     .name = "drift",
     .programs = kOnNode,
     .arguments = "[FILE...]",
     .arguments_max = 10'000,
     .summary = "Compare the host with its SriovNetworkNodeState.",
     .description =
         "FILE contains the SriovNetworkNodeState (YAML or JSON, of one or several nodes); - is standard "
         "input. Default: the object in the cluster. Compares the PFs and VFs that the SR-IOV network "
         "operator requires with those of the host, and prints each field that differs with both values. "
         "Reads only. The settings of devices in pods are read from the record of the local daemon. Exit "
         "status 0: in sync. 2: drift. 1: the host or FILE cannot be read, or a field could not be read and "
         "no other differs."},
    {.id = Command::kValidate,
     .name = "validate",
     .programs = kOnNode | kOnWorkstation,
     .arguments = "[FILE...]",
     .arguments_max = 10'000,
     .summary = "Check policies, claims and network definitions.",
     .description =
         "Each problem has file and line. Without FILE the objects of a cluster are checked, of each kind "
         "that may be listed: kubectl-sliced uses the cluster of kubectl, sliced requires --cluster. "
         "NetworkAttachmentDefinitions are checked as by nodes when a claim uses one. Configurations for our "
         "drivers (VfConfig) in ResourceClaims, their templates and DeviceClasses are checked, too, and "
         "selectors of DeviceClasses for our drivers. Exit status 0: no errors. 1: errors."},
    {.id = Command::kMigrate,
     .name = "migrate",
     .programs = kOnWorkstation,
     .arguments = "FILE...",
     .arguments_min = 1,
     .arguments_max = 10'000,
     .summary = "Convert the configuration of another driver into policies.",
     .description =
         "FILE contains a ConfigMap of the SR-IOV network device plugin or its JSON; a NicClusterPolicy; "
         "SriovNetworkNodePolicies; objects of dra-driver-sriov, such as SriovResourceFilters; or DeviceClasses, "
         "ResourceClaims and their templates for dranet, with its DaemonSet; - is standard input. Further FILEs with "
         "the ConfigMap supported-nic-ids of the operator and its SriovNetworkNodeStates complete policies with "
         "deviceID, netFilter or alternative interface names. NetworkAttachmentDefinitions are added to the "
         "DeviceClasses of their resources. Prints policies, attributes, DeviceClasses with the old resource names, "
         "and claim templates, each with a comment on its origin. A setting that cannot be converted is an error with "
         "file, line and remedy; then no object is printed. For objects of dranet it is a warning, and the objects are "
         "printed without it. With --check it prints the offered devices before and after, except those of dranet. Exit "
         "status 0: all is converted; with --check, the same devices are offered. 2: with --check, differences; for "
         "dranet, settings without a counterpart. 1: errors."},
    {.id = Command::kSnapshot,
     .name = "snapshot",
     .programs = kOnNode,
     .arguments = "FILE",
     .arguments_min = 1,
     .arguments_max = 1,
     .summary = "Write the data of this host and its cluster to a file, for a bug report.",
     .description =
         "FILE is a tar archive compressed with zstd; - is standard output. It contains the data of the "
         "network devices of this host, the labels of its Node, the policies and the slices of this node. MAC"
         " addresses, GUIDs, switch ids and the node name are replaced consistently, unless --raw. plan, "
         "explain, match, discover and migrate --check read it on any machine with --host FILE. Exit status "
         "0: FILE is written. 1: it is not."},
    {.id = Command::kWithdraw,
     .name = "withdraw",
     .programs = kOnNode,
     .summary = "Delete the ResourceSlices of this node.",
     .description =
         "For the removal of a node, or before another driver is installed. Stop the daemon of this node "
         "first: it would publish the slices again."},
    {.id = Command::kStatus,
     .name = "status",
     .programs = kOnNode,
     .arguments = "[PAGE]",
     .arguments_max = 1,
     .summary = "Show the status of the local daemon.",
     .description =
         "Reads the socket in the runtime directory of the daemon: offered, hidden and withheld devices, the "
         "watched sources, and whether the daemon is active or standby. With PAGE it prints that page: livez "
         "and readyz for probes, metrics for Prometheus, verdicts as explain -o json. Exit status 0: the "
         "daemon is ready, or the check passes. 2: not ready, or the check fails. 1: no daemon answers.",
     .choices = kPages},
    {.id = Command::kWebhook,
     .name = "webhook",
     .programs = kInCluster,
     .summary = "Check objects for the API server before they are stored.",
     .description =
         "Answers AdmissionReviews by HTTPS until SIGTERM. It rejects the errors of validate with the same "
         "text, and returns its warnings. Needs neither a host nor a cluster. docs/admission.md describes the"
         " configuration of the API server."},
    {.id = Command::kAggregate,
     .name = "aggregate",
     .programs = kInCluster,
     .summary = "Write the status of each policy from the reports of the nodes.",
     .description =
         "Reads NodeDeviceReports and policies of both kinds until SIGTERM, and writes .status of each "
         "policy: the numbers of selected nodes and offered devices, and the conditions Accepted, Conflict "
         "and NotUsedAsWritten. Of several processes in one namespace, the Lease sliced-aggregate elects one."
         " Needs no host. See docs/reports.md."},
    {.id = Command::kHistory,
     .name = "history",
     .programs = kOnNode,
     .arguments = "[DEVICE|POLICY]",
     .arguments_max = 1,
     .summary = "Show the changes of the offered devices with time, reason and client.",
     .description =
         "Reads the last 1,000 changes from the socket of the local daemon, or with --file older ones from "
         "the journal. DEVICE is a device name or a PCI address, POLICY is NAMESPACE/NAME or NAME. Default: "
         "all changes. Exit status 0: success, also without changes. 1: no daemon answers, or the file cannot"
         " be read."},
    {.id = Command::kWaitForConfig,
     .name = "wait-for-config",
     .programs = kOnNode,
     .summary = "Wait until the hardware of this node is configured, as an init container.",
     .description =
         "Sets the annotation sriovnetwork.openshift.io/device-plugin-wait-config on its own pod and ends "
         "after its removal, like the init container of the SR-IOV network operator. Or it waits for a file, "
         "or for the SriovNetworkNodeState of the node. Exit status 0: configured. 1: the state cannot be "
         "read. 2: not configured within --timeout. 143: ended by SIGTERM."},
    {.id = Command::kConfigured,
     .name = "configured",
     .programs = kOnNode,
     .summary = "Report that the hardware of this node is configured.",
     .description =
         "The last step of a program that configures the hardware: creates the file with the id of this boot,"
         " and removes the annotation of the waiting pods of this node. It may be repeated. Exit status 0: "
         "success, also without waiting pods. 1: a step failed."},
    {.id = Command::kVersion, .name = "version", .programs = kAll, .summary = "Print the version."},
    {.id = Command::kHelp,
     .name = "help",
     .programs = kAll,
     .arguments = "[COMMAND]",
     .arguments_max = 1,
     .summary = "Print help, in general or for a command."},
    {.id = Command::kMan,
     .name = "man",
     .programs = kAll,
     .summary = "Print the manual page, in the man macros of roff.",
     .description = "To read it: PROGRAM man | man -l -"},
    {.id = Command::kConfig,
     .name = "config",
     .programs = kOnNode | kInCluster,
     .summary = "Print a configuration file with all options.",
     .description =
         "Each option is a comment with its default. The daemon of a package reads /etc/sliced/config.yaml."},
    {.id = Command::kCompletion,
     .name = "completion",
     .programs = kAll,
     .arguments = "SHELL",
     .arguments_min = 1,
     .arguments_max = 1,
     .summary = "Print the completion script for bash, zsh or fish.",
     .description =
         "bash: source the output, for example with source <(PROGRAM completion bash). fish: pipe it into "
         "source. Packages install it.",
     .choices = kShells},
};

}  // namespace

std::span<const ProgramInfo> program_table() { return kPrograms; }

const ProgramInfo& info_of(Program program) { return kPrograms[static_cast<size_t>(program)]; }

std::span<const CommandInfo> command_table() { return kCommands; }

std::vector<const CommandInfo*> commands_of(Program program) {
  std::vector<const CommandInfo*> out;
  for (const CommandInfo& command : command_table())
    if (has_command(program, command)) out.push_back(&command);
  return out;
}

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& command : command_table())
    if (command.name == name) return &command;
  return nullptr;
}

const CommandInfo& info_of(Command command) {
  for (const CommandInfo& info : command_table())
    if (info.id == command) return info;
  std::abort();  // Command::kNone has no row
}

}  // namespace sliced::config
