#include "config/option_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "config/duration.h"
#include "reactor/base/text.h"

namespace sliced::config {
namespace {

constexpr unsigned bit(Command command) { return static_cast<unsigned>(command); }
constexpr unsigned kDeciding = bit(Command::kRun) | bit(Command::kPlan) | bit(Command::kExplain);
constexpr unsigned kWriting = bit(Command::kRun) | bit(Command::kWithdraw);
constexpr unsigned kOnCluster = kDeciding | bit(Command::kWithdraw);
constexpr unsigned kOnHost = kDeciding | bit(Command::kDiscover) | bit(Command::kMatch);
constexpr unsigned kWorking = kOnCluster | kOnHost | bit(Command::kValidate);
constexpr unsigned kEverywhere = ~0u;

constexpr size_t kNodeLabelsMax = 1000;
constexpr std::array<std::string_view, 3> kKinds = {"SriovResourcePolicy", "DeviceAttributes",
                                                    "DeviceExposurePolicy"};

std::string remark(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

// A choice from a short list of words, each standing for a value.
template <class T>
struct Word {
  std::string_view text;
  T value;
};
constexpr Word<LogFormat> kLogFormats[] = {{"auto", LogFormat::kAuto},
                                           {"text", LogFormat::kText},
                                           {"json", LogFormat::kJson},
                                           {"journald", LogFormat::kJournald}};
constexpr Word<Level> kLevels[] = {
    {"debug", Level::kDebug}, {"info", Level::kInfo}, {"warning", Level::kWarning}, {"error", Level::kError}};
constexpr Word<OutputFormat> kOutputs[] = {{"table", OutputFormat::kTable},
                                           {"yaml", OutputFormat::kYaml},
                                           {"json", OutputFormat::kJson},
                                           {"diff", OutputFormat::kDiff}};
constexpr Word<bool> kSwitch[] = {{"true", true}, {"false", false}};

template <class T, size_t kSize>
std::string parse_word(const Word<T> (&words)[kSize], std::string_view text, T& value) {
  std::vector<std::string_view> all;
  for (const auto& word : words) {
    if (word.text == text) return value = word.value, "";
    all.push_back(word.text);
  }
  return "must be one of " + join({all.begin(), all.end()}, ", ") + remark(text, all);
}

template <class T, size_t kSize>
std::string print_word(const Word<T> (&words)[kSize], T value) {
  for (const auto& word : words)
    if (word.value == value) return std::string(word.text);
  std::abort();  // an enumerator without its word
}

std::string parse_path(std::string_view text, std::string& value) {
  if (text.empty()) return "must be a path";
  if (text.find('\0') != std::string_view::npos) return "must not contain a NUL byte";
  value = text;
  return "";
}

std::string add_file(std::string_view text, std::vector<std::string>& files) {
  std::string path;
  const std::string wrong = parse_path(text, path);
  if (wrong.empty()) files.push_back(path);
  return wrong;
}

std::string parse_cluster(std::string_view text, ClusterSpec& value) {
  const size_t colon = text.find(':');
  const std::string_view form = text.substr(0, colon);
  const std::string_view path = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  std::string bytes;
  if (text == "in-cluster") return value = InCluster{}, "";
  if (form == "kubeconfig" && parse_path(path, bytes).empty()) return value = KubeconfigFile{bytes}, "";
  if (form == "dir" && parse_path(path, bytes).empty()) return value = ClusterDirectory{bytes}, "";
  const std::string wanted = "must be in-cluster, kubeconfig:PATH or dir:PATH";
  if (text.find('/') != std::string_view::npos && colon == std::string_view::npos)
    return wanted + "; did you mean dir:" + escaped(text) + " or kubeconfig:" + escaped(text) + "?";
  return wanted + remark(form, {"in-cluster", "kubeconfig", "dir"});
}

std::string parse_node_name(std::string_view text, std::string& value) {
  if (!is_dns_subdomain(text))
    return "must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes" +
           (is_dns_subdomain(lower(text)) ? "; did you mean " + lower(text) + "?" : "");
  value = text;
  return "";
}

// The part of a label's key after the '/', and a label's value: [A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?, 63
// bytes.
bool is_label_word(std::string_view text) {
  const auto inner = [](char c) { return c == '-' || c == '_' || c == '.'; };
  const auto outer = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && text.size() <= 63 && outer(text.front()) && outer(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return inner(c) || outer(c); });
}

bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_word(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_label_word(text.substr(slash + 1));
}

std::string parse_node_labels(std::string_view text, std::map<std::string, std::string>& value) {
  std::map<std::string, std::string> labels;
  if (text.empty()) return value = labels, "";
  for (const std::string_view pair : split(text, ',')) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return in_quotes(pair) + " has no '='; write key=value,key2=value2";
    const std::string_view key = pair.substr(0, equals), word = pair.substr(equals + 1);
    if (!is_label_key(key))
      return in_quotes(key) + " is no label key: [DNS name/]letters, digits, '-', '_', '.'";
    if (!word.empty() && !is_label_word(word))
      return "the value " + in_quotes(word) + " of " + std::string(key) +
             " is no label value: at most 63 letters, digits, '-', '_', '.', the first and last a letter or "
             "digit";
    if (!labels.emplace(key, word).second) return in_quotes(key) + " is there twice";
    if (labels.size() > kNodeLabelsMax) return "more than " + std::to_string(kNodeLabelsMax) + " labels";
  }
  value = std::move(labels);
  return "";
}

std::string print_node_labels(const Options& options) {
  std::vector<std::string> pairs;
  for (const auto& [key, word] : options.node_labels) pairs.push_back(key + "=" + word);
  return join(pairs, ",");
}

std::string parse_namespace(std::string_view text, std::string& value) {
  if (!is_dns_label(text)) return "must be a namespace: lower-case letters, digits and '-', at most 63 bytes";
  value = text;
  return "";
}

std::string parse_driver_name(std::string_view text, std::string& value) {
  if (!is_dns_subdomain(text, 63))
    return "must be a DNS name (lower-case letters, digits, '-', '.') of at most 63 bytes";
  value = text;
  return "";
}

std::string parse_scheduler_version(std::string_view text, std::string& value) {
  if (!text.empty() && !parse_version(text)) return "must be a version such as v1.36.3";
  value = text;
  return "";
}

std::string parse_kinds(std::string_view text, std::set<std::string>& value) {
  std::set<std::string> kinds;
  if (text.empty()) return value = kinds, "";
  for (const std::string_view word : split(text, ',')) {
    const auto kind =
        std::find_if(kKinds.begin(), kKinds.end(), [&](auto k) { return lower(k) == lower(word); });
    if (kind == kKinds.end())
      return in_quotes(word) + " is no kind that sliced watches" +
             remark(word, {kKinds.begin(), kKinds.end()});
    kinds.emplace(*kind);
  }
  value = std::move(kinds);
  return "";
}

std::string parse_time(std::string_view text, Millis& value) {
  const auto duration = parse_duration(text);
  if (!duration) return "must be a duration such as 5m, 90s, 1m30s or 100ms";
  value = *duration;
  return "";
}

// Limits between options are checked after all of them are known, in config/load.cpp.
std::vector<OptionInfo> make_options() {
  using V = std::string_view;
  using O = Options;
  return {
      {"cluster",
       0,
       "SLICED_CLUSTER",
       "cluster",
       "SPEC",
       kOnCluster | bit(Command::kMatch),
       false,
       {"in-cluster", "kubeconfig:", "dir:"},
       "Where policies come from and slices go to: in-cluster (the pod's service account), kubeconfig:PATH, "
       "or "
       "dir:PATH, a directory of YAML files in place of an API server; slices then go to "
       "PATH/resourceslices.",
       [](V text, O& o) { return parse_cluster(text, o.cluster); },
       [](const O& o) { return describe(o.cluster); }},
      {"node-name",
       0,
       "NODE_NAME",
       "nodeName",
       "NAME",
       kOnCluster | kOnHost,
       false,
       {},
       "The name of this machine's Node object. Without it the lower-cased host name is taken.",
       [](V text, O& o) { return parse_node_name(text, o.node_name); },
       [](const O& o) { return o.node_name; }},
      {"node-labels",
       0,
       "SLICED_NODE_LABELS",
       "nodeLabels",
       "KEY=VALUE,...",
       kDeciding,
       false,
       {},
       "Labels of the node, for a directory cluster that holds no Node object. An API server's Node always "
       "wins.",
       [](V text, O& o) { return parse_node_labels(text, o.node_labels); },
       print_node_labels},
      {"namespace",
       'n',
       "NAMESPACE",
       "namespace",
       "NAME",
       kOnCluster,
       false,
       {},
       "The namespace whose policies count.",
       [](V text, O& o) { return parse_namespace(text, o.namespace_); },
       [](const O& o) { return o.namespace_; }},
      {"host",
       0,
       "SLICED_HOST",
       "host",
       "ROOT",
       kOnHost,
       false,
       {},
       "Read ROOT/sys and ROOT/proc in place of the running system's. Events then come from the datagram "
       "socket "
       "ROOT/run/sliced/uevents.",
       [](V text, O& o) { return parse_path(text, o.host_root); },
       [](const O& o) { return o.host_root; }},
      {"config",
       'c',
       "SLICED_CONFIG",
       "",
       "FILE",
       kWorking,
       false,
       {},
       "A YAML file with the same settings; its keys stand beside each option in the manual page. It is read "
       "again on "
       "SIGHUP.",
       [](V text, O& o) { return parse_path(text, o.config_file); },
       [](const O& o) { return o.config_file; }},
      {"sriov-driver-name",
       0,
       "SLICED_SRIOV_DRIVER_NAME",
       "sriovDriverName",
       "NAME",
       kOnCluster | bit(Command::kValidate) | bit(Command::kMatch),
       false,
       {},
       "The DRA driver name under which SriovResourcePolicy devices are published. Two drivers must never "
       "publish "
       "under one name on one node.",
       [](V text, O& o) { return parse_driver_name(text, o.sriov_driver_name); },
       [](const O& o) { return o.sriov_driver_name; }},
      {"exposure-driver-name",
       0,
       "SLICED_EXPOSURE_DRIVER_NAME",
       "exposureDriverName",
       "NAME",
       kOnCluster | bit(Command::kValidate) | bit(Command::kMatch),
       false,
       {},
       "The DRA driver name under which DeviceExposurePolicy devices are published, and the domain of their "
       "attributes. Not that of SriovResourcePolicies.",
       [](V text, O& o) { return parse_driver_name(text, o.exposure_driver_name); },
       [](const O& o) { return o.exposure_driver_name; }},
      {"runtime-directory",
       0,
       "SLICED_RUNTIME_DIRECTORY",
       "runtimeDirectory",
       "PATH",
       kWriting,
       false,
       {},
       "Where the locks stand by which one daemon a node writes: a directory of this user that others can "
       "neither write to nor open; made with mode 0700 when only its parent is there. Without it: "
       "$RUNTIME_DIRECTORY (systemd), /run/sliced for root or where it is this user's, "
       "$XDG_RUNTIME_DIR/sliced, /run/user/UID/sliced, $HOME/.sliced.",
       [](V text, O& o) { return parse_path(text, o.runtime_directory); },
       [](const O& o) { return o.runtime_directory; }},
      {"scheduler-version",
       0,
       "SLICED_SCHEDULER_VERSION",
       "schedulerVersion",
       "VERSION",
       kDeciding,
       false,
       {},
       "The kube-scheduler's version, such as v1.36.3, where it is not the API server's. Devices that "
       "exclude "
       "each other, and shared ones, are offered beside each other only with 1.36.2 and later.",
       [](V text, O& o) { return parse_scheduler_version(text, o.scheduler_version); },
       [](const O& o) { return o.scheduler_version; }},
      {"kinds-off",
       0,
       "SLICED_KINDS_OFF",
       "kindsOff",
       "KIND,...",
       kDeciding,
       false,
       {kKinds.begin(), kKinds.end()},
       "Kinds that are neither watched nor obeyed, where the cluster does not let this node read them: "
       "SriovResourcePolicy, DeviceAttributes, DeviceExposurePolicy.",
       [](V text, O& o) { return parse_kinds(text, o.kinds_off); },
       [](const O& o) { return join({o.kinds_off.begin(), o.kinds_off.end()}, ","); }},
      {"sync-interval",
       0,
       "SLICED_SYNC_INTERVAL",
       "syncInterval",
       "TIME",
       bit(Command::kRun),
       true,
       {},
       "How often the whole host is scanned again, for what events have missed. At least 1m, or 30s with "
       "--allow-short-sync; at most 24h.",
       [](V text, O& o) { return parse_time(text, o.sync_interval); },
       [](const O& o) { return format_duration(o.sync_interval); }},
      {"allow-short-sync",
       0,
       "SLICED_ALLOW_SHORT_SYNC",
       "allowShortSync",
       "",
       bit(Command::kRun),
       true,
       {},
       "Let --sync-interval go down to 30s.",
       [](V text, O& o) { return parse_word(kSwitch, text, o.allow_short_sync); },
       [](const O& o) { return print_word(kSwitch, o.allow_short_sync); }},
      {"settle",
       0,
       "SLICED_SETTLE",
       "settle",
       "TIME",
       bit(Command::kRun),
       true,
       {},
       "How long a physical function must be quiet before what appeared on it is published. Removals never "
       "wait.",
       [](V text, O& o) { return parse_time(text, o.settle); },
       [](const O& o) { return format_duration(o.settle); }},
      {"settle-max",
       0,
       "SLICED_SETTLE_MAX",
       "settleMax",
       "TIME",
       bit(Command::kRun),
       true,
       {},
       "The longest that additions wait when it never gets quiet; at most 1m.",
       [](V text, O& o) { return parse_time(text, o.settle_max); },
       [](const O& o) { return format_duration(o.settle_max); }},
      {"show",
       0,
       "SLICED_SHOW",
       "show",
       "",
       bit(Command::kRun),
       false,
       {},
       "Print the devices, what is offered and why the rest is not, at the start and at each change.",
       [](V text, O& o) { return parse_word(kSwitch, text, o.show); },
       [](const O& o) { return print_word(kSwitch, o.show); }},
      {"watch",
       'w',
       nullptr,
       "",
       "",
       bit(Command::kDiscover),
       false,
       {},
       "Go on, and print what changes as it changes: one JSON object a line with -o json.",
       [](V text, O& o) { return parse_word(kSwitch, text, o.watch); },
       [](const O& o) { return print_word(kSwitch, o.watch); }},
      {"slices",
       0,
       nullptr,
       "",
       "",
       bit(Command::kMatch),
       false,
       {},
       "Ask what is published for this node, by any driver, and not the host: the expression is then a "
       "DeviceClass's or a claim's.",
       [](V text, O& o) { return parse_word(kSwitch, text, o.published); },
       [](const O& o) { return print_word(kSwitch, o.published); }},
      {"file",
       'f',
       nullptr,
       "",
       "FILE",
       bit(Command::kMatch),
       false,
       {},
       "With --slices: take the slices, of whatever node, from this YAML or JSON file and not from a "
       "cluster, "
       "for "
       "example what kubectl get resourceslices -o yaml prints. - is standard input. May be given more than "
       "once.",
       [](V text, O& o) { return add_file(text, o.slice_files); },
       [](const O& o) { return join(o.slice_files, " "); }},
      {"log-format",
       0,
       "SLICED_LOG_FORMAT",
       "logFormat",
       "FORMAT",
       kWorking,
       false,
       {"auto", "text", "json", "journald"},
       "text for people, json (one object a line), or journald (its native protocol). auto is journald where "
       "systemd "
       "has connected standard error to the journal, else text.",
       [](V text, O& o) { return parse_word(kLogFormats, text, o.log_format); },
       [](const O& o) { return print_word(kLogFormats, o.log_format); }},
      {"log-level",
       0,
       "SLICED_LOG_LEVEL",
       "logLevel",
       "LEVEL",
       kWorking,
       true,
       {"debug", "info", "warning", "error"},
       "The least important lines that are logged: debug, info, warning or error.",
       [](V text, O& o) { return parse_word(kLevels, text, o.log_level); },
       [](const O& o) { return print_word(kLevels, o.log_level); }},
      {"output",
       'o',
       nullptr,
       "",
       "FORMAT",
       bit(Command::kPlan) | bit(Command::kExplain) | bit(Command::kDiscover) | bit(Command::kMatch),
       false,
       {"table", "yaml", "json", "diff"},
       "table, yaml or json; for plan also diff: what would change against what is published now.",
       [](V text, O& o) { return parse_word(kOutputs, text, o.output); },
       [](const O& o) { return print_word(kOutputs, o.output); }},
      {"help",
       'h',
       nullptr,
       "",
       "",
       kEverywhere,
       false,
       {},
       "Print this help.",
       [](V, O&) { return std::string(); },
       [](const O&) { return std::string(); }},
  };
}

std::vector<CommandInfo> make_commands() {
  return {
      {Command::kRun,
       "run",
       "",
       0,
       0,
       "Keep what is offered equal to what the policies allow.",
       "Runs until SIGTERM, which leaves the slices in place: a restart must not be visible. SIGHUP reads "
       "the "
       "configuration file again.",
       {}},
      {Command::kPlan,
       "plan",
       "",
       0,
       0,
       "Print what would be published, and change nothing.",
       "With -o yaml or json it prints a List of ResourceSlice objects, with -o diff what would change "
       "against what is "
       "published now. Exit status 0: nothing to change. 2: there are changes. 1: there is no plan. Problems "
       "of single "
       "policies go to standard error and change nothing of this.",
       {}},
      {Command::kExplain,
       "explain",
       "[DEVICE]",
       0,
       1,
       "Say why each device is offered or is not.",
       "DEVICE is a PCI address, an interface name or a device name. Without it every device is explained.",
       {}},
      {Command::kDiscover,
       "discover",
       "",
       0,
       0,
       "Print the network devices of this machine with their facts.",
       "",
       {}},
      {Command::kMatch,
       "match",
       "EXPRESSION",
       1,
       1,
       "Say which devices a CEL expression matches, and what that costs.",
       "EXPRESSION is read as the selector of a DeviceExposurePolicy and asked of every device of the host: "
       "a "
       "known attribute that a device lacks is empty. With --slices it is read as a DeviceClass or a claim "
       "has it and asked of every published device: there an absent attribute is an error, and one error "
       "ends the scheduler's attempt. Exit status 0: something matches. 2: nothing does. 1: there is no "
       "answer. An error of one device is no match.",
       {}},
      {Command::kValidate,
       "validate",
       "FILE...",
       1,
       10'000,
       "Check policy files, every problem with file and line.",
       "Exit status 0: all is well. 1: there are problems.",
       {}},
      {Command::kWithdraw,
       "withdraw",
       "",
       0,
       0,
       "Delete what this node has published.",
       "For the end of a node's service, or before another driver takes over. A running daemon on the same "
       "node would "
       "publish again: stop it first.",
       {}},
      {Command::kVersion, "version", "", 0, 0, "Print the version.", "", {}},
      {Command::kHelp, "help", "[COMMAND]", 0, 1, "Print help, in general or for a command.", "", {}},
      {Command::kMan,
       "man",
       "",
       0,
       0,
       "Print the manual page, in the man macros of roff.",
       "To read it: sliced man | man -l -",
       {}},
      {Command::kCompletion,
       "completion",
       "SHELL",
       1,
       1,
       "Print the completion script for bash, zsh or fish.",
       "For the running bash: source <(sliced completion bash). For fish: sliced completion fish | source.",
       {"bash", "zsh", "fish"}},
  };
}

}  // namespace

std::string describe(const ClusterSpec& cluster) {
  if (const auto* kubeconfig = std::get_if<KubeconfigFile>(&cluster)) return "kubeconfig:" + kubeconfig->path;
  if (const auto* directory = std::get_if<ClusterDirectory>(&cluster)) return "dir:" + directory->path;
  return "in-cluster";
}

const std::vector<CommandInfo>& command_table() {
  static const std::vector<CommandInfo> table = make_commands();
  return table;
}

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> table = make_options();
  return table;
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

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : option_table())
    if (option.name == name) return &option;
  return nullptr;
}

bool takes(const CommandInfo& command, const OptionInfo& option) {
  return (option.commands & bit(command.id)) != 0;
}

}  // namespace sliced::config
