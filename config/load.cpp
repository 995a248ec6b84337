#include "config/load.h"

#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "config/option_table.h"
#include "kube/objects/yaml.h"
#include "reactor/base/duration.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::config {
namespace {

constexpr size_t kFileBytesMax = 1u << 20;
constexpr int kFirstLongOption = 1000;  // getopt values of options without a short form, above every char

using Problems = std::vector<std::string>;

struct Setting {
  const OptionInfo* option;
  std::string text;
  std::string where;  // "--settle", "environment SLICED_SETTLE", "/etc/sliced.yaml:3: settle"
};

struct CommandLine {
  Program program;
  std::vector<Setting> settings;
  std::vector<std::string> words;  // the command and its arguments
  bool version = false;
  bool is_kubectls_cluster = false;  // --cluster without a value is kubectl's own cluster for kubectl-sliced
  Problems problems;
};

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates,
                         std::string_view prefix = "") {
  std::string near = nearest(word, candidates);
  for (const std::string_view candidate : candidates)  // an abbreviation is not similar to its word
    if (near.empty() && word.size() >= 2 && candidate.substr(0, word.size()) == word) near = candidate;
  return near.empty() ? "" : "; did you mean " + std::string(prefix) + near + "?";
}

std::string see_help(Program program) {
  return "; see " + std::string(info_of(program).invocation) + " --help";
}

std::vector<std::string_view> option_names(Program program) {
  std::vector<std::string_view> names;
  for (const OptionInfo& option : option_table())
    if (takes(program, option)) names.push_back(option.name);
  return names;
}

std::vector<std::string_view> command_names(Program program) {
  std::vector<std::string_view> names;
  for (const CommandInfo* command : commands_of(program)) names.push_back(command->name);
  return names;
}

std::string unknown_option(Program program, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (name.substr(0, 2) != "--") return escaped(name) + ": unknown option" + see_help(program);
  return escaped(name) + ": unknown option" + did_you_mean(name.substr(2), option_names(program), "--");
}

// The table in getopt's form, with the options of every program: one of another program is then refused with
// its name. The views in the table are literals, so they end in NUL.
struct GetoptTable {
  std::vector<::option> longs;
  std::string shorts = ":";  // distinguishes a missing argument from an unknown option

  GetoptTable() {
    int value = kFirstLongOption;
    for (const OptionInfo& info : option_table()) {
      // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a literal
      longs.push_back({info.name.data(), info.placeholder.empty() ? optional_argument : required_argument,
                       nullptr, value++});
      if (info.short_name == 0) continue;
      shorts += info.short_name;
      if (!info.placeholder.empty()) shorts += ':';
    }
    longs.push_back({"version", no_argument, nullptr, value});
    longs.push_back({nullptr, 0, nullptr, 0});
  }
  const OptionInfo* option_for(int value) const {
    for (const OptionInfo& info : option_table())
      if (info.short_name != 0 && value == info.short_name) return &info;
    const size_t index = static_cast<size_t>(value - kFirstLongOption);
    return value >= kFirstLongOption && index < option_table().size() ? &option_table()[index] : nullptr;
  }
};

// getopt accepts any unambiguous prefix of a long name. A script that relies on that breaks when an option is
// added.
bool is_abbreviated(std::string_view word, std::string_view name) {
  return word.substr(0, 2) == "--" && word.substr(2, word.find('=') - 2) != name;
}

void read_option(const GetoptTable& table, int value, std::string_view word, const char* argument,
                 CommandLine& line) {
  const OptionInfo* option = table.option_for(value);
  const std::string_view name = option == nullptr ? "version" : option->name;
  if (is_abbreviated(word, name)) return line.problems.push_back(unknown_option(line.program, word));
  if (option == nullptr) {
    line.version = true;
    return;
  }
  const bool is_switch = option->placeholder.empty();
  line.settings.push_back({option,
                           argument != nullptr ? argument
                           : is_switch         ? "true"
                                               : "",
                           "--" + std::string(name)});
}

CommandLine read_command_line(Program program, const std::vector<std::string>& arguments) {
  static const GetoptTable table;
  CommandLine line{.program = program, .settings = {}, .words = {}, .problems = {}};
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), std::string(info_of(program).name));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  opterr = 0;
  optind = 0;  // glibc: resets the scan
  for (;;) {
    const int value = getopt_long(argc, argv.data(), table.shorts.c_str(), table.longs.data(), nullptr);
    if (value == -1) break;
    const bool argument_apart = optarg != nullptr && optind >= 2 && argv[optind - 1] == optarg;
    const std::string_view word = argv[optind - (argument_apart ? 2 : 1)];
    if (value == ':' && program == Program::kKubectl && word == "--cluster") {
      line.is_kubectls_cluster = true;
    } else if (value == ':') {
      line.problems.push_back(escaped(word) + ": its value is missing");
    } else if (value != '?') {
      read_option(table, value, word, optarg, line);
    } else if (optopt > 0 && optopt < kFirstLongOption) {
      line.problems.push_back(unknown_option(line.program, std::string("-") + static_cast<char>(optopt)));
    } else if (optopt >= kFirstLongOption) {
      line.problems.push_back(escaped(word.substr(0, word.find('='))) + ": takes no value");
    } else {
      line.problems.push_back(unknown_option(line.program, word));
    }
  }
  for (int i = optind; i < argc; ++i) line.words.emplace_back(argv[i]);
  return line;
}

// ---- the file

// Returns a value of the file as text for an option's parser; without a text, *problem is the reason.
std::optional<std::string> scalar_text(const kube::Json& value) {
  if (const auto* text = value.string()) return *text;
  if (const auto* truth = value.boolean()) return *truth ? "true" : "false";
  if (const auto* number = value.integer()) return std::to_string(*number);
  return std::nullopt;
}

std::optional<std::string> list_text(const kube::Json::Array& items) {
  std::vector<std::string> parts;
  for (const kube::Json& item : items) {
    if (item.string() == nullptr || item.string()->find(',') != std::string::npos) return std::nullopt;
    parts.push_back(*item.string());
  }
  return join(parts, ",");
}

std::optional<std::string> map_text(const kube::Json::Object& members) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : members) {
    if (value.string() == nullptr || value.string()->find(',') != std::string::npos) return std::nullopt;
    parts.push_back(key + "=" + *value.string());
  }
  return join(parts, ",");
}

void read_member(const std::string& at, const OptionInfo& option, const kube::Json& value,
                 std::vector<Setting>& settings, Problems& problems) {
  const bool takes_map = option.placeholder.find('=') != std::string_view::npos;
  const bool takes_fields = option.placeholder.starts_with('{');
  const bool takes_list =
      !takes_map && !takes_fields && option.placeholder.find(",...") != std::string_view::npos;
  std::optional<std::string> text = scalar_text(value);
  if (value.array() != nullptr && takes_list) text = list_text(*value.array());
  if (value.object() != nullptr && takes_map) text = map_text(*value.object());
  if (value.object() != nullptr && takes_fields) text = kube::encode_json(value);
  if (text) return settings.push_back({&option, std::move(*text), at});
  problems.push_back(at + ": is a " + std::string(value.kind_name()) + "; must be " +
                     (takes_fields ? "a map"
                      : takes_map  ? "a map of strings (quote numbers and booleans)"
                      : takes_list ? "a list of strings"
                                   : "one value"));
}

void read_file_keys(const std::string& path, const kube::Json& document, std::vector<Setting>& settings,
                    Problems& problems) {
  if (document.object() == nullptr)
    return problems.push_back(path + ": is a " + std::string(document.kind_name()) +
                              "; must be a map of settings");
  std::vector<std::string_view> known;
  for (const OptionInfo& option : option_table())
    if (!option.file_key.empty()) known.push_back(option.file_key);
  size_t unknown = 0;
  for (const auto& [key, value] : *document.object()) {
    const std::string at =
        path + (value.line() > 0 ? ":" + std::to_string(value.line()) : "") + ": " + escaped(key);
    const OptionInfo* match = nullptr;
    for (const OptionInfo& option : option_table())
      if (!option.file_key.empty() && option.file_key == key) match = &option;
    if (match != nullptr)
      read_member(at, *match, value, settings, problems);
    else if (++unknown <= kProblemsMax)
      problems.push_back(at + ": unknown setting" + did_you_mean(key, known));
  }
  if (unknown > kProblemsMax)
    problems.push_back(path + ": " + and_more(unknown - kProblemsMax, "unknown setting"));
}

std::vector<Setting> read_config_file(const std::string& path, const ProcessInputs& process,
                                      Problems& problems) {
  std::vector<Setting> settings;
  const Result<std::string> text = process.read_file(path);
  if (!text) {
    problems.push_back(path + ": " + text.error().what);
    return settings;
  }
  const kube::YamlDocuments yaml = kube::decode_yaml(*text);
  for (const auto& problem : yaml.problems)
    problems.push_back(path + ":" + std::to_string(problem.line) + ": " + problem.what);
  if (yaml.documents.size() > 1) problems.push_back(path + ": holds several documents; must be one");
  if (!yaml.documents.empty()) read_file_keys(path, yaml.documents.front(), settings, problems);
  return settings;
}

// ---- all sources together

const Setting* last_of(const std::vector<Setting>& settings, std::string_view name) {
  const Setting* last = nullptr;
  for (const Setting& setting : settings)
    if (setting.option->name == name) last = &setting;
  return last;
}

// Returns the environment's settings that the command accepts and no flag overrides. An empty variable counts
// as unset.
std::vector<Setting> read_environment(const std::vector<Setting>& flags, const CommandInfo& command,
                                      const ProcessInputs& process) {
  std::vector<Setting> settings;
  for (const OptionInfo& option : option_table()) {
    if (option.env == nullptr || !takes(command, option) || last_of(flags, option.name) != nullptr) continue;
    if ((option.not_from_env & bit(command.id)) != 0) continue;
    const auto text = process.env(option.env);
    if (text && !text->empty())
      settings.push_back({&option, *text, std::string("environment ") + option.env});
  }
  return settings;
}

void apply(const std::vector<Setting>& settings, Options& options, Problems& problems) {
  for (const Setting& setting : settings) {
    const std::string wrong = setting.option->parse(setting.text, options);
    if (!wrong.empty()) problems.push_back(setting.where + ": " + in_quotes(setting.text) + " " + wrong);
  }
}

void check_flags(Program program, const CommandInfo& command, const std::vector<Setting>& flags,
                 Problems& problems) {
  for (const Setting& flag : flags) {
    if (takes(command, *flag.option)) continue;
    problems.push_back(flag.where + ": is not an option of " + std::string(command.name) +
                       "; it belongs to " + join(takers(program, *flag.option), ", "));
  }
}

void check_arguments(const CommandInfo& command, const Options& options, Problems& problems) {
  const auto& arguments = options.arguments;
  // kubectl also accepts pod/NAME.
  const size_t slash =
      command.id == Command::kWhy && !arguments.empty() ? arguments[0].find('/') : std::string::npos;
  const size_t joined = slash == std::string::npos ? 0 : 1;
  if (arguments.size() + joined < command.arguments_min) {
    // For `KIND NAME` with a given kind, only the name is missing.
    std::string_view missing = command.arguments;
    for (size_t i = 0; i < arguments.size() && missing.find(' ') != std::string_view::npos; ++i)
      missing.remove_prefix(missing.find(' ') + 1);
    problems.push_back(std::string(command.name) + ": " + std::string(missing) + " is missing");
  }
  const size_t arguments_max = command.arguments_max - joined;
  if (arguments.size() > arguments_max)
    problems.push_back(std::string(command.name) + ": " + in_quotes(arguments[arguments_max]) +
                       " is one word too many");
  if (command.choices.empty() || arguments.empty()) return;
  const std::string word = arguments[0].substr(0, slash);
  for (const std::string_view choice : command.choices)
    if (choice == word) return;
  problems.push_back(std::string(command.name) + ": " + in_quotes(word) + " must be one of " +
                     join({command.choices.begin(), command.choices.end()}, ", ") +
                     did_you_mean(word, {command.choices.begin(), command.choices.end()}));
}

bool is_fleet_table(Command command) {
  return command == Command::kNodes || command == Command::kDevices || command == Command::kTop ||
         command == Command::kPolicies;
}

// has_sign: --for is given, even if invalid, which is reported elsewhere.
void check_sign(const Options& options, bool has_sign, Problems& problems) {
  const bool waits = options.command == Command::kWaitForConfig;
  const ConfiguredBy::How sign = waits ? options.wait_for.how : options.until_configured.how;
  const bool is_by_pod =
      (waits && sign == ConfiguredBy::How::kNothing && !has_sign) ||
      ((waits || options.command == Command::kRun) && sign == ConfiguredBy::How::kAnnotation);
  if (is_by_pod && (options.pod_name.empty() || options.pod_namespace.empty()))
    problems.push_back(
        "the annotation is set on this pod, which is not named: give --pod-name and --pod-namespace, or POD_NAME and "
        "POD_NAMESPACE (fieldRef metadata.name and metadata.namespace)");
  if (options.command == Command::kConfigured && options.wait_for.how == ConfiguredBy::How::kNodeState)
    problems.push_back(
        "--for: a node state is the SR-IOV network operator's to write; must be annotation or file:/PATH");
}

// Checks across options.
void check_together(const Options& options, Problems& problems) {
  const Millis sync_min = options.allow_short_sync ? kSyncIntervalShortMin : kSyncIntervalMin;
  if (options.sync_interval < sync_min || options.sync_interval > kSyncIntervalMax)
    problems.push_back("sync-interval: " + format_duration(options.sync_interval) +
                       " is out of bounds; must be at least " + format_duration(kSyncIntervalMin) + " (" +
                       format_duration(kSyncIntervalShortMin) + " with --allow-short-sync) and at most " +
                       format_duration(kSyncIntervalMax));
  if (options.skip_node_operations == Switch::kOn && options.kubelet_plugin == Switch::kOn)
    problems.push_back(
        "skip-node-operations: is on, and kubelet-plugin is on: the plugin would not be asked; set one of them to off");
  if (options.exposure_driver_name == options.sriov_driver_name)
    problems.push_back("exposure-driver-name: " + in_quotes(options.exposure_driver_name) +
                       " is the driver name of SriovResourcePolicies too; give one of them another");
  if (options.readiness_poll < kReadinessPollMin || options.readiness_poll > kReadinessPollMax)
    problems.push_back("readiness-poll: " + format_duration(options.readiness_poll) +
                       " is out of bounds; must be at least " + format_duration(kReadinessPollMin) +
                       " and at most " + format_duration(kReadinessPollMax));
  if (options.settle_max > kSettleMax)
    problems.push_back("settle-max: " + format_duration(options.settle_max) + " is above the limit of " +
                       format_duration(kSettleMax));
  if (options.settle > options.settle_max)
    problems.push_back("settle: " + format_duration(options.settle) +
                       " is longer than settle-max, which is " + format_duration(options.settle_max));
  if (options.output == OutputFormat::kDiff && options.command != Command::kPlan)
    problems.push_back("--output: \"diff\" is for plan only; must be table, yaml or json");
  if (options.output == OutputFormat::kWide && !is_fleet_table(options.command))
    problems.push_back(
        "--output: \"wide\" is for nodes, devices, top and policies; must be table, yaml or json");
  if (options.command == Command::kDevices && options.on_node.empty() && options.arguments.empty())
    problems.push_back("devices: NODE is missing; kubectl sliced nodes lists them");
  if (options.command == Command::kPage && options.page_address.empty())
    problems.push_back(
        "page-address: is empty, and the page is served nowhere else; leave it out, or give one");
  if (options.command == Command::kPage && options.diff_file == "-")
    problems.push_back(
        "--diff: \"-\" is standard input, and the page reads what it shows again as it changes; give a file");
  if (options.command == Command::kWebhook && options.webhook_address.empty())
    problems.push_back(
        "webhook-address: is empty, so no client can connect; leave it out, or set an address");
  if (options.command == Command::kMatch && !options.files.empty() && !options.published)
    problems.push_back("--file: holds slices, which are asked with --slices; add it");
}

void default_node_name(const CommandInfo& command, const ProcessInputs& process, Options& options,
                       Problems& problems) {
  const OptionInfo& option = *find_option("node-name");
  const bool is_asked =
      options.command != Command::kWaitForConfig || options.wait_for.how == ConfiguredBy::How::kNodeState;
  if (!takes(command, option) || !options.node_name.empty() || !is_asked) return;
  const std::string wrong = option.parse(lower(process.host_name), options);
  if (!wrong.empty())
    problems.push_back("host name " + in_quotes(process.host_name) +
                       " cannot stand for the node's: " + wrong + "; give --node-name or NODE_NAME");
}

// Finds the cluster as kubectl does, unless --cluster is given.
void find_kubeconfig(const std::vector<Setting>& flags, const std::vector<Setting>& environment,
                     const ProcessInputs& process, Options& options, Problems& problems) {
  const bool is_named = last_of(flags, "cluster") != nullptr;
  if (is_named && (!options.kubeconfig.empty() || !options.context.empty()))
    problems.push_back("--kubeconfig and --context: contradict --cluster; give it or them");
  if (is_named) return;
  const bool is_asked = !options.kubeconfig.empty() || !options.context.empty();
  if (!is_asked && last_of(environment, "cluster") != nullptr) return;
  KubeconfigFile file{.path = options.kubeconfig, .context = options.context};
  const std::string named = process.env("KUBECONFIG").value_or("");
  if (file.path.empty())
    for (const std::string_view path : split(named, ':')) {
      if (path.empty()) continue;
      if (file.path.empty())
        file.path = path;
      else
        file.others.emplace_back(path);
    }
  if (file.path.empty()) {
    const auto home = process.env("HOME");
    if (!home || home->empty())
      return problems.push_back("no cluster is named: give --kubeconfig or --cluster, or set KUBECONFIG");
    file.path = *home + "/.kube/config";
  }
  options.cluster = std::move(file);
}

// A cluster of the daemon's configuration file does not count. Returns whether the cluster is that of
// kubectl.
bool check_validated(const std::vector<Setting>& flags, const Options& options, Problems& problems) {
  const Setting* named = last_of(flags, "cluster");
  const bool is_spec = named != nullptr;  // --cluster SPEC
  for (const char* option : {"kubeconfig", "context"})
    if (named == nullptr) named = last_of(flags, option);
  const bool is_plugin = options.program == Program::kKubectl;
  if (named == nullptr && options.arguments.empty() && !is_plugin)
    problems.push_back("validate: FILE... is missing; give it, or --cluster");
  if (named != nullptr && !options.arguments.empty())
    problems.push_back(named->where + ": contradicts " + in_quotes(options.arguments[0], 64) +
                       ", which is checked without a cluster; give one of them");
  return !is_spec && options.arguments.empty() && (named != nullptr || is_plugin);
}

// `devices NODE` is `devices --on NODE`.
void take_node(Options& options, Problems& problems) {
  if (options.arguments.empty()) return;
  const std::string& given = options.arguments[0];
  if (!options.on_node.empty() && options.on_node != given)
    return problems.push_back("devices: " + in_quotes(given, 64) + " contradicts --on " + options.on_node +
                              "; give one of them");
  const std::string wrong = find_option("on")->parse(given, options);
  if (!wrong.empty()) problems.push_back("devices: " + in_quotes(given, 64) + " " + wrong);
}

// Finds a command of the program; for nullptr, no_command() returns the reason.
const CommandInfo* command_of(Program program, std::string_view name) {
  const CommandInfo* command = find_command(name);
  return command != nullptr && has_command(program, *command) ? command : nullptr;
}

Loaded help_about(Program program, std::string_view command) {
  Loaded loaded;
  loaded.wants_help = true;
  loaded.options.program = program;
  if (const CommandInfo* info = command_of(program, command)) loaded.options.command = info->id;
  return loaded;
}

std::string no_command(Program program, std::string_view word) {
  const CommandInfo* foreign = find_command(word);
  if (foreign == nullptr)
    return in_quotes(word) + " is not a command" + did_you_mean(word, command_names(program)) +
           see_help(program);
  std::vector<std::string> others;
  for (const ProgramInfo& other : program_table())
    if (has_command(other.id, *foreign))
      others.push_back("run \"" + std::string(other.invocation) + " " + std::string(word) + "\" " +
                       std::string(other.place) + " (package " + std::string(other.name) + ")");
  return in_quotes(word) + " is not a command of " + std::string(info_of(program).name) + "; " +
         join(others, ", or ");
}

Loaded refused(Program program, Problems problems) {
  Loaded loaded;
  loaded.options.program = program;
  loaded.problems = std::move(problems);
  return loaded;
}

}  // namespace

ProcessInputs process_inputs() {
  ProcessInputs process;
  process.env = [](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  process.read_file = [](const std::string& path) -> Result<std::string> {
    struct stat is{};
    // Reading a pipe would block, at a reload the loop.
    if (stat(path.c_str(), &is) == 0 && S_ISFIFO(is.st_mode))
      return Error{Errc::kInvalid, "is a pipe; must be a file"};
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string bytes(kFileBytesMax + 1, '\0');
    if (!file) return Error{Errc::kIo, std::strerror(errno)};
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file.bad()) return Error{Errc::kIo, "cannot be read (is it a directory?)"};
    bytes.resize(static_cast<size_t>(file.gcount()));
    if (bytes.size() > kFileBytesMax) return Error{Errc::kTooLarge, "is larger than 1 MiB"};
    return bytes;
  };
  char host_name[256] = {};
  if (gethostname(host_name, sizeof host_name - 1) == 0) process.host_name = host_name;
  return process;
}

Loaded load(Program program, const std::vector<std::string>& arguments, const ProcessInputs& process) {
  CommandLine line = read_command_line(program, arguments);
  const bool wants_help = last_of(line.settings, "help") != nullptr;
  if (line.version && !wants_help) line.words = {"version"};
  const std::string word = line.words.empty() ? "" : line.words[0];
  const CommandInfo* command = command_of(program, word);
  if (wants_help)
    return word.empty() || command != nullptr ? help_about(program, word)
                                              : refused(program, {no_command(program, word)});
  if (line.words.empty() && line.settings.empty() && line.problems.empty()) return help_about(program, "");
  if (command == nullptr) {
    line.problems.push_back(word.empty() ? "no command is given" + see_help(program)
                                         : no_command(program, word));
    return refused(program, std::move(line.problems));
  }
  if (command->id == Command::kHelp && line.words.size() == 2 &&
      command_of(program, line.words[1]) == nullptr)
    return refused(program, {no_command(program, line.words[1])});
  if (command->id == Command::kHelp && line.words.size() <= 2)
    return help_about(program, line.words.size() == 2 ? line.words[1] : "");

  Loaded loaded;
  Options& options = loaded.options;
  Problems& problems = loaded.problems = std::move(line.problems);
  options.program = program;
  options.command = command->id;
  options.arguments.assign(line.words.begin() + 1, line.words.end());
  const bool is_asking = takes(*command, *find_option("kubeconfig"));
  // `why` then uses the namespace of the context, and `webhook` checks namespaces only if one is given.
  if (command->id == Command::kWhy || command->id == Command::kWebhook) options.namespace_.clear();
  check_flags(program, *command, line.settings, problems);
  check_arguments(*command, options, problems);
  const std::vector<Setting> environment = read_environment(line.settings, *command, process);
  const Setting* file = last_of(line.settings, "config");
  if (file == nullptr) file = last_of(environment, "config");
  if (file != nullptr && !file->text.empty())
    apply(read_config_file(file->text, process, problems), options, problems);
  apply(environment, options, problems);
  apply(line.settings, options, problems);
  if (command->id == Command::kDevices) take_node(options, problems);
  const bool is_kubectls =
      command->id == Command::kValidate ? check_validated(line.settings, options, problems) : is_asking;
  if (line.is_kubectls_cluster && command->id == Command::kValidate && !options.arguments.empty())
    problems.push_back("--cluster: contradicts " + in_quotes(options.arguments[0], 64) +
                       ", which is checked without a cluster; give one of them");
  if (is_kubectls) find_kubeconfig(line.settings, environment, process, options, problems);
  check_together(options, problems);
  const Setting* sign = last_of(line.settings, "for");
  check_sign(options, sign != nullptr && !sign->text.empty(), problems);
  default_node_name(*command, process, options, problems);
  return loaded;
}

Reloaded reload(const Options& running, const std::vector<std::string>& arguments,
                const ProcessInputs& process) {
  Reloaded reloaded;
  reloaded.options = running;
  const Loaded loaded = load(running.program, arguments, process);
  reloaded.problems = loaded.problems;
  if (!reloaded.problems.empty()) return reloaded;
  for (const OptionInfo& option : option_table()) {
    const std::string now = option.print(loaded.options);
    if (now == option.print(running)) continue;
    (option.reloadable ? reloaded.changed : reloaded.needs_restart).emplace_back(option.name);
    if (option.reloadable) option.parse(now, reloaded.options);
  }
  return reloaded;
}

}  // namespace sliced::config
