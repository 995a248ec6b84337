#include "config/option_rows.h"

namespace sliced::config {
namespace {

constexpr OptionInfo kAskingOptions[] = {
    option<&Options::watch, parse_word<bool>>(
        {.name = "watch",
         .short_name = 'w',
         .commands = bit(Command::kDiscover),
         .help = "Continue, and print each change; one JSON object per line with -o json."}),
    option<&Options::published, parse_word<bool>>(
        {.name = "slices",
         .commands = bit(Command::kMatch),
         .help =
             "Evaluate the expression for the devices published for this node, by any driver, and not for the"
             " host. It is then that of a DeviceClass or a claim."}),
    option<&Options::files, add_path>(
        {.name = "file",
         .short_name = 'f',
         .placeholder = "FILE",
         .commands = bit(Command::kMatch) | bit(Command::kHistory),
         .help =
             "match --slices: read the ResourceSlices, of any node, from this YAML or JSON file, such as the "
             "output of kubectl get resourceslices -o yaml. history: read the changes from the output of "
             "journalctl -u sliced -o json. - is standard input. May be repeated."}),
    option<&Options::since, parse_time>(
        {.name = "since",
         .placeholder = "TIME",
         .commands = bit(Command::kHistory),
         .help = "Only changes that are not older, for example 1h. Default: all."}),
    option<&Options::form, parse_word<PolicyForm>>(
        {.name = "as",
         .placeholder = "FORM",
         .commands = bit(Command::kMigrate),
         .choices = kTexts<PolicyForm>,
         .help =
             "sriov: print SriovResourcePolicies, which offer VFs. exposure: print DeviceExposurePolicies, "
             "which also offer PFs and NICs and can require RDMA. auto: DeviceExposurePolicies only where "
             "they are necessary."}),
    option<&Options::resource_prefix, parse_resource_prefix>(
        {.name = "resource-prefix",
         .placeholder = "DOMAIN",
         .commands = bit(Command::kMigrate),
         .help = "Prefix of resource names without one, as --resource-prefix of the device plugin. Default: "
                 "intel.com; for SriovNetworkNodePolicies openshift.io."}),
    option<&Options::check, parse_word<bool>>(
        {.name = "check",
         .commands = bit(Command::kMigrate),
         .help =
             "Print no objects, but for each device of this host, or of --host, the resource that offered it "
             "and the one that the new objects would offer it as."}),
    option<&Options::raw, parse_word<bool>>(
        {.name = "raw",
         .commands = bit(Command::kSnapshot),
         .help = "Keep MAC addresses, GUIDs, switch ids and the node name."}),
    option<&Options::on_node, parse_node_name>({.name = "on",
                                                .placeholder = "NODE",
                                                .commands = bit(Command::kDevices),
                                                .help = "Node whose devices are shown."}),
    option<&Options::page_address, parse_listen_address>(
        {.name = "page-address",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kPage),
         .help = "Listening address of the page. Every client that can reach it reads the cluster with your "
                 "permissions. :PORT is 127.0.0.1:PORT."}),
    option<&Options::diff_file, parse_path>(
        {.name = "diff",
         .placeholder = "FILE",
         .commands = bit(Command::kPolicies) | bit(Command::kPage),
         .help =
             "Show the changes on every node if the policies in this YAML or JSON file replaced those of the "
             "same names. - is standard input (not for page, which watches the file). Nothing is written."}),
    option<&Options::diff_delete, parse_path>(
        {.name = "diff-delete",
         .placeholder = "KIND/NAME,...",
         .commands = bit(Command::kPolicies),
         .help =
             "Show the changes on every node if these policies were deleted. KIND is srp, dep or devattr, or "
             "another name of the kind that kubectl accepts. May be combined with --diff. Nothing is written."}),
    option<&Options::all_namespaces, parse_word<bool>>(
        {.name = "all-namespaces",
         .short_name = 'A',
         .commands = bit(Command::kPolicies),
         .help = "Show SriovResourcePolicies of all namespaces, and mark those in namespaces that no daemon "
                 "reads: they have no effect."}),
    option<&Options::once, parse_word<bool>>(
        {.name = "once",
         .commands = bit(Command::kTop),
         .help = "Print one table and end, as if standard output were no terminal."}),
    option<&Options::node_state, parse_path>(
        {.name = "node-state",
         .placeholder = "FILE",
         .commands = bit(Command::kDrift),
         .help =
             "YAML or JSON file with the SriovNetworkNodeState; - is standard input. cluster: the object with"
             " the name of the node in the cluster."}),
};

}  // namespace

std::span<const OptionInfo> asking_options() { return kAskingOptions; }

}  // namespace sliced::config
