#include "config/command_table.h"

#include <array>
#include <cstdlib>

namespace sliced::config {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

constexpr std::array<std::string_view, 4> kPages = {"livez", "readyz", "metrics", "verdicts"};

// As kubectl names them; `why pod/NAME` is one word (check_arguments()).
constexpr std::array<std::string_view, 6> kWhyKinds = {"pod",    "claim",         "pods",
                                                       "claims", "resourceclaim", "resourceclaims"};

constexpr ProgramInfo kPrograms[] = {
    {.id = Program::kNode,
     .name = "sliced",
     .invocation = "sliced",
     .place = "on the node",
     .man_section = "8",
     .summary = "offers a node's network devices to Kubernetes as policies allow",
     .description =
         "sliced keeps, for one node, what the API server offers in ResourceSlices equal to what the administrator's "
         "policies allow of what the kernel has, and writes only the difference.",
     .exit_status =
         "2: plan found changes; match found nothing that matches; drift found a field that differs; status: a daemon is "
         "not ready; wait-for-config: not configured in time."},
    {.id = Program::kController,
     .name = "sliced-controller",
     .invocation = "sliced-controller",
     .place = "once per cluster",
     .man_section = "8",
     .summary = "judges policies before they are stored, and writes their status",
     .description =
         "sliced-controller runs once per cluster, on any node: as an admission webhook, and as the controller that writes "
         "what nodes report of each policy into its status. It needs no network hardware and no privileges on its host.",
     .exit_status = ""},
    {.id = Program::kKubectl,
     .name = "kubectl-sliced",
     .invocation = "kubectl sliced",
     .place = "on a workstation",
     .man_section = "1",
     .summary = "shows why pods wait for devices, and what all nodes offer",
     .description =
         "kubectl-sliced is a plugin of kubectl. It reads the cluster with the permissions of its user, as kubectl does, and "
         "writes nothing into it. It needs neither root nor network hardware.",
     .exit_status =
         "2: why: no node has what the pod asks for; policies --diff and migrate --check: something would change. 3: why: the "
         "answer is uncertain."},
};

constexpr ProgramSet kOnNode = bit(Program::kNode);
constexpr ProgramSet kInCluster = bit(Program::kController);
constexpr ProgramSet kOnWorkstation = bit(Program::kKubectl);
constexpr ProgramSet kAll = kOnNode | kInCluster | kOnWorkstation;

constexpr CommandInfo kCommands[] = {
    {.id = Command::kRun,
     .name = "run",
     .programs = kOnNode,
     .summary = "Keep what is offered equal to what the policies allow.",
     .description =
         "Runs until SIGTERM, which leaves the slices in place: a restart must not be visible. SIGHUP reads "
         "the configuration file again."},
    {.id = Command::kPlan,
     .name = "plan",
     .programs = kOnNode,
     .summary = "Print what would be published, and change nothing.",
     .description =
         "With -o yaml or json it prints a List of ResourceSlice objects, with -o diff what would change "
         "against what is published now. Exit status 0: nothing to change. 2: there are changes. 1: there is "
         "no plan. Problems of single policies are printed on standard error and do not change the exit status."},
    {.id = Command::kExplain,
     .name = "explain",
     .programs = kOnNode,
     .arguments = "[DEVICE]",
     .arguments_max = 1,
     .summary = "Say why each device is offered or is not.",
     .description =
         "DEVICE is a PCI address, an interface name or a device name. Without it every device is explained."},
    {.id = Command::kWhy,
     .name = "why",
     .programs = kOnWorkstation,
     .arguments = "KIND [NAMESPACE/]NAME",
     .arguments_min = 2,
     .arguments_max = 2,
     .summary = "Say why a pod, or a claim, waits for devices.",
     .description =
         "KIND is pod or claim; KIND/NAME is accepted too, and --namespace says where. For each request of its claims it says how many devices of each node match, are "
         "allocated and by whom, and are free; what the nearest of the others lack; and what would have to be "
         "otherwise. Selectors are asked and devices allocated by the scheduler's rules. It reads nodes, pods, "
         "ResourceSlices, DeviceClasses and claims, and writes nothing. Exit status 0: the pod runs, or a node has the devices that it asks for. 2: no node has them. 3: the answer is uncertain. 1: the cluster cannot be read.",
     .choices = kWhyKinds},
    {.id = Command::kNodes,
     .name = "nodes",
     .programs = kOnWorkstation,
     .summary = "Say what each node of the cluster offers, and who has how much of it.",
     .description =
         "Per node its pools, how many devices they offer, how many of them claims have, how many are free or tainted, and "
         "what is not as it should be: a node without slices, a pool of which slices are missing. Reads nodes, "
         "ResourceSlices and claims in pages, and writes nothing. -o wide has a line for each pool. Exit status 0: success. 1: the cluster cannot be read."},
    {.id = Command::kDevices,
     .name = "devices",
     .programs = kOnWorkstation,
     .arguments = "NODE",
     .arguments_max = 1,
     .summary = "Say what becomes of each device of a node, from anywhere.",
     .description =
         "Each entry that the node publishes (--on NODE is accepted too), with its address, PF, and who has it. On the node itself `sliced explain` says more. "
         "Exit status 0: success. 1: the cluster cannot be read, or it has no such node."},
    {.id = Command::kPolicies,
     .name = "policies",
     .programs = kOnWorkstation,
     .arguments = "[NAME]",
     .arguments_max = 1,
     .summary = "Say what each policy does on all nodes, and what an edit would change.",
     .description =
         "Per policy the nodes that it selects, the devices that it matches and that are offered by it, and problems, by what "
         "nodes report; with NAME also which policies take precedence over it, and where. With --diff FILE it prints the "
         "devices that would appear and disappear on every node if FILE were applied, and with --diff-delete if policies were deleted, and "
         "which of those that disappear are allocated, to whom: each node is decided for as its daemon "
         "does, by the facts in its report, and nodes whose report has not the facts are named. Exit status 0: success; with "
         "--diff, nothing would change. 2: with --diff, something would change or cannot be judged. 1: FILE or the cluster cannot be read."},
    {.id = Command::kTop,
     .name = "top",
     .programs = kOnWorkstation,
     .summary = "Show live how much of each node's offer is allocated.",
     .description =
         "Nodes by how much of their devices is allocated, followed as it changes; q or Ctrl-C ends it. With --once, or "
         "where standard output is no terminal, one table. Exit status 0: success. 1: the cluster cannot be read."},
    {.id = Command::kPage,
     .name = "page",
     .programs = kOnWorkstation,
     .summary = "Serve a page of the whole fleet for a browser on this machine.",
     .description =
         "At http://127.0.0.1:9811/ (--page-address): nodes by health, the devices of each and who has them, what each policy "
         "does, and why a pod waits; with --diff FILE also what the policies in that file would change on every node, anew as the file changes. It "
         "follows the cluster and can change nothing. Prints its address, and goes on until a signal. Exit status 0: ended by a signal. 1: it cannot start."},
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
     .summary = "Say which devices a CEL expression matches, and what that costs.",
     .description =
         "EXPRESSION is read as the selector of a DeviceExposurePolicy and asked of every device of the host: "
         "a known attribute that a device lacks is empty. With --slices it is read as a DeviceClass or a claim "
         "has it and asked of every published device: there an absent attribute is an error, and one error "
         "ends the scheduler's attempt. Exit status 0: something matches. 2: nothing matches. 1: EXPRESSION does "
         "not compile, or the devices cannot be read. A device for which it fails does not match."},
    {.id = Command::kDrift,
     .name = "drift",
     .programs = kOnNode,
     .arguments = "[FILE...]",
     .arguments_max = 10'000,
     .summary = "Compare the host with its SriovNetworkNodeState.",
     .description =
         "FILE contains the SriovNetworkNodeState (YAML or JSON, of one node or several); - is standard input. Without FILE it is "
         "read from the cluster. "
         "Compares what the SR-IOV network operator wants of this node's PFs and VFs with what the host itself says, and "
         "prints each field that differs with both values. Reads only. What pods have is taken from the record of the "
         "daemon that runs here. Exit status 0: in sync. 2: drift. 1: the host or FILE cannot be read, or a field could not "
         "be read and no other differs."},
    {.id = Command::kValidate,
     .name = "validate",
     .programs = kOnNode | kOnWorkstation,
     .arguments = "[FILE...]",
     .arguments_max = 10'000,
     .summary = "Check policy files, every problem with file and line.",
     .description =
         "Without FILE the objects of a cluster are checked, of each kind that may be listed: kubectl-sliced finds it as kubectl does, and sliced is given --cluster. "
         "NetworkAttachmentDefinitions are checked as nodes do when a claim names one. What ResourceClaims, their templates and DeviceClasses ask of our drivers (VfConfig) is checked too, and selectors of "
         "DeviceClasses that speak of them. Exit status 0: no problems. 1: there are problems."},
    {.id = Command::kMigrate,
     .name = "migrate",
     .programs = kOnWorkstation,
     .arguments = "FILE...",
     .arguments_min = 1,
     .arguments_max = 10'000,
     .summary = "Print the objects that take the place of another way of offering VFs.",
     .description =
         "FILE contains a ConfigMap of the SR-IOV network device plugin, or its JSON alone; a NicClusterPolicy; "
         "SriovNetworkNodePolicies; objects of dra-driver-sriov, SriovResourceFilters among them; or DeviceClasses, ResourceClaims and their "
         "templates for dranet, with its DaemonSet; - is standard input. "
         "The operator's ConfigMap supported-nic-ids and its SriovNetworkNodeStates, as further FILEs, complete policies with "
         "deviceID, netFilter or alternative names of interfaces; NetworkAttachmentDefinitions have the DeviceClasses of their "
         "resources name them. Prints policies, attributes, DeviceClasses with the old resource names, and claim templates, ready to "
         "apply, each with a comment that says where it comes from. What cannot be carried over is an error with "
         "file, line and what to do; then nothing is printed. Of dranet's objects it is a warning, and the objects are printed without it. "
         "With --check it prints what is offered before and after, device by device, of all but dranet's objects. Exit status 0: everything is "
         "carried over; with --check, the same is offered. 2: with --check, something differs; of dranet's objects, something has no counterpart. "
         "1: there are errors."},
    {.id = Command::kSnapshot,
     .name = "snapshot",
     .programs = kOnNode,
     .arguments = "FILE",
     .arguments_min = 1,
     .arguments_max = 1,
     .summary = "Write what this host and its cluster say into a file, for a bug report.",
     .description =
         "FILE becomes a tar compressed with zstd; - is standard output. It holds what is read of this host's network "
         "devices, its Node's labels, the policies and this node's slices. MAC addresses, GUIDs, switch ids and the "
         "node's name are replaced by others, the same everywhere, unless --raw. plan, explain, match, discover and "
         "migrate --check answer from it anywhere with --host FILE. Exit status 0: FILE is written. 1: it is not."},
    {.id = Command::kWithdraw,
     .name = "withdraw",
     .programs = kOnNode,
     .summary = "Delete what this node has published.",
     .description =
         "For the end of a node's service, or before another driver takes over. A running daemon on the same "
         "node would publish again: stop it first."},
    {.id = Command::kStatus,
     .name = "status",
     .programs = kOnNode,
     .arguments = "[PAGE]",
     .arguments_max = 1,
     .summary = "Say how the daemon that runs here stands.",
     .description =
         "Reads the socket in the daemon's runtime directory: what is offered, hidden and held back, what is watched, "
         "whether it serves or stands by. With PAGE it prints that page as the daemon has it: livez and readyz are for "
         "probes, metrics for Prometheus, verdicts what explain -o json says. Exit status 0: the daemon is ready, or the check of that page succeeds. 2: it is not, or does not. 1: no daemon answers.",
     .choices = kPages},
    {.id = Command::kWebhook,
     .name = "webhook",
     .programs = kInCluster,
     .summary = "Judge objects for the API server before they are stored.",
     .description =
         "Answers AdmissionReviews by HTTPS until SIGTERM: what `validate` refuses is refused, with its words, and what it warns of "
         "is warned of. Needs neither a host nor a cluster. How the API server is told of it: docs/admission.md."},
    {.id = Command::kAggregate,
     .name = "aggregate",
     .programs = kInCluster,
     .summary = "Write what nodes report of each policy into its status.",
     .description =
         "Reads NodeDeviceReports and policies of both kinds until SIGTERM, and keeps .status of each policy: on how many nodes it "
         "is asked, how many devices they offer by it, and the conditions Accepted, Conflict and NotUsedAsWritten. Of several that run "
         "in one namespace the Lease sliced-aggregate elects one. Needs no host: docs/reports.md."},
    {.id = Command::kHistory,
     .name = "history",
     .programs = kOnNode,
     .arguments = "[DEVICE|POLICY]",
     .arguments_max = 1,
     .summary = "Say what has changed of the offer, when, why and by whom.",
     .description =
         "Reads the last 1,000 changes at the socket of the daemon that runs here, or with --file older ones from the "
         "journal. DEVICE is a device name or a PCI address, POLICY NAMESPACE/NAME or NAME: without one every change is "
         "printed. Exit status 0: success, also where nothing has changed. 1: no daemon answers, or the file cannot be read."},
    {.id = Command::kWaitForConfig,
     .name = "wait-for-config",
     .programs = kOnNode,
     .summary = "Wait until this node's hardware is configured, as an init container.",
     .description =
         "Sets the annotation sriovnetwork.openshift.io/device-plugin-wait-config on its own pod and ends once somebody has "
         "removed it, as the SR-IOV network operator's init container does; or waits for a file, or for the node's "
         "SriovNetworkNodeState. Exit status 0: configured. "
         "1: it cannot be found out. 2: not configured within --timeout. 143: ended by SIGTERM."},
    {.id = Command::kConfigured,
     .name = "configured",
     .programs = kOnNode,
     .summary = "Say that this node's hardware is configured.",
     .description =
         "The last line of whatever configures it: makes the file, which then names this boot, and lets go the pods of this "
         "node that wait. It may be run again. Exit status 0: success, also where no pod waits. 1: a part of it failed."},
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
     .description = "To read it, pipe it into: man -l -"},
    {.id = Command::kConfig,
     .name = "config",
     .programs = kOnNode | kInCluster,
     .summary = "Print a configuration file that shows every setting.",
     .description =
         "Each setting is a comment that shows its default. The daemon of a package reads /etc/sliced/config.yaml."},
    {.id = Command::kCompletion,
     .name = "completion",
     .programs = kAll,
     .arguments = "SHELL",
     .arguments_min = 1,
     .arguments_max = 1,
     .summary = "Print the completion script for bash, zsh or fish.",
     .description =
         "bash: source the output, for example with source <(PROGRAM completion bash). fish: pipe it into source. Packages install it.",
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
