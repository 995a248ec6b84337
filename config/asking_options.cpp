#include "config/option_rows.h"

namespace sliced::config {
namespace {

constexpr OptionInfo kAskingOptions[] = {
    option<&Options::watch, parse_word<bool>>(
        {.name = "watch",
         .short_name = 'w',
         .commands = bit(Command::kDiscover),
         .help = "Go on, and print what changes as it changes: one JSON object a line with -o json."}),
    option<&Options::published, parse_word<bool>>(
        {.name = "slices",
         .commands = bit(Command::kMatch),
         .help =
             "Ask what is published for this node, by any driver, and not the host: the expression is then a "
             "DeviceClass's or a claim's."}),
    option<&Options::files, add_path>(
        {.name = "file",
         .short_name = 'f',
         .placeholder = "FILE",
         .commands = bit(Command::kMatch) | bit(Command::kHistory),
         .help =
             "match --slices: take the slices, of whatever node, from this YAML or JSON file and not from a "
             "cluster, for example what kubectl get resourceslices -o yaml prints. history: take the changes from "
             "what journalctl -u sliced -o json prints. - is standard input. May be given more than once."}),
    option<&Options::since, parse_time>(
        {.name = "since",
         .placeholder = "TIME",
         .commands = bit(Command::kHistory),
         .help = "Only what is not older, for example 1h. Without it everything that is kept."}),
    option<&Options::form, parse_word<PolicyForm>>(
        {.name = "as",
         .placeholder = "FORM",
         .commands = bit(Command::kMigrate),
         .choices = kTexts<PolicyForm>,
         .help =
             "sriov: print SriovResourcePolicies, which offer VFs. exposure: print DeviceExposurePolicies, which can "
             "ask for RDMA and offer PFs and NICs, too. auto: the latter only where something needs it."}),
    option<&Options::resource_prefix, parse_resource_prefix>(
        {.name = "resource-prefix",
         .placeholder = "DOMAIN",
         .commands = bit(Command::kMigrate),
         .help =
             "The prefix of resources that name none: what --resource-prefix of the device plugin says. Without it "
             "intel.com, and openshift.io for SriovNetworkNodePolicies."}),
    option<&Options::check, parse_word<bool>>(
        {.name = "check",
         .commands = bit(Command::kMigrate),
         .help =
             "Print no objects: say of each device of this host, or of --host, under which resource it was offered, "
             "and under which the new objects would offer it."}),
    option<&Options::raw, parse_word<bool>>(
        {.name = "raw",
         .commands = bit(Command::kSnapshot),
         .help = "Keep MAC addresses, GUIDs, switch ids and the node's name as they are."}),
    option<&Options::on_node, parse_node_name>({.name = "on",
                                                .placeholder = "NODE",
                                                .commands = bit(Command::kDevices),
                                                .help = "The node whose devices are told."}),
    option<&Options::page_address, parse_listen_address>(
        {.name = "page-address",
         .placeholder = "HOST:PORT",
         .commands = bit(Command::kPage),
         .help =
             "Where the fleet's page is served. Whoever reaches it reads what you may read of the cluster. :PORT is "
             "127.0.0.1:PORT."}),
    option<&Options::diff_file, parse_path>(
        {.name = "diff",
         .placeholder = "FILE",
         .commands = bit(Command::kPolicies) | bit(Command::kPage),
         .help =
             "Say what the policies in this YAML or JSON file would change on every node, in place of those of their "
             "names; - is standard input, but not of page, which follows the file. Nothing is written."}),
    option<&Options::diff_delete, parse_path>(
        {.name = "diff-delete",
         .placeholder = "KIND/NAME,...",
         .commands = bit(Command::kPolicies),
         .help =
             "Say what deleting these policies would change on every node; KIND is srp, dep or devattr, or any other name of "
             "the kind that kubectl takes. With --diff: beside the edit. Nothing is written."}),
    option<&Options::all_namespaces, parse_word<bool>>(
        {.name = "all-namespaces",
         .short_name = 'A',
         .commands = bit(Command::kPolicies),
         .help =
             "Tell SriovResourcePolicies of every namespace, and mark those of namespaces that no daemon reads: they have no effect."}),
    option<&Options::once, parse_word<bool>>(
        {.name = "once",
         .commands = bit(Command::kTop),
         .help = "Print one table and end, as top does where standard output is no terminal."}),
    option<&Options::node_state, parse_path>(
        {.name = "node-state",
         .placeholder = "FILE",
         .commands = bit(Command::kDrift),
         .help =
             "Take the SriovNetworkNodeState from this YAML or JSON file, - is standard input; cluster: from the "
             "cluster, by the node's name."}),
};

}  // namespace

std::span<const OptionInfo> asking_options() { return kAskingOptions; }

}  // namespace sliced::config
