#include "config/load.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "config/command_table.h"

namespace sliced::config {
namespace {

using Words = std::vector<std::string>;

struct World {
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> files;
  std::string host_name = "Node-A";

  ProcessInputs inputs() const {
    return {[this](const char* name) -> std::optional<std::string> {
              const auto found = environment.find(name);
              return found == environment.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& path) -> Result<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return Error{Errc::kIo, "No such file or directory"};
              return found->second;
            },
            host_name};
  }
  Loaded load(const Words& arguments) const {
    return config::load(program_of(arguments), arguments, inputs());
  }
  Loaded load(Program program, const Words& arguments) const {
    return config::load(program, arguments, inputs());
  }
  // The first program that has a command among the words; sliced where there is none.
  static Program program_of(const Words& arguments) {
    for (const std::string& word : arguments)
      if (const CommandInfo* command = find_command(word))
        for (const ProgramInfo& program : program_table())
          if (has_command(program.id, *command)) return program.id;
    return Program::kNode;
  }
};

TEST(Load, DefaultsOfRun) {
  const Loaded loaded = World{}.load({"run"});
  EXPECT_EQ(loaded.problems, Words{});
  Options wanted;
  wanted.command = Command::kRun;
  wanted.node_name = "node-a";
  EXPECT_EQ(loaded.options, wanted);
  EXPECT_EQ(loaded.options.sync_interval, Millis(300'000));
  EXPECT_EQ(loaded.options.namespace_, "dra-driver-sriov");
  EXPECT_EQ(loaded.options.sriov_driver_name, "sriovnetwork.k8snetworkplumbingwg.io");
}

// Red when the error for an old command line does not name the present command.
TEST(Load, NamesTheProgramAndPackageOfAForeignCommand) {
  const struct {
    Program program;
    Words words;
    const char* wanted;
  } rows[] = {
      {Program::kNode,
       {"why", "pod", "a/b"},
       "\"why\" is not a command of sliced; run \"kubectl sliced why\" on a workstation (package kubectl-sliced)"},
      {Program::kNode,
       {"webhook"},
       "\"webhook\" is not a command of sliced; run \"sliced-controller webhook\" once per cluster (package sliced-controller)"},
      {Program::kNode,
       {"help", "aggregate"},
       "\"aggregate\" is not a command of sliced; run \"sliced-controller aggregate\" once per cluster (package "
       "sliced-controller)"},
      {Program::kNode,
       {"page", "--help"},
       "\"page\" is not a command of sliced; run \"kubectl sliced page\" on a workstation (package kubectl-sliced)"},
      {Program::kKubectl,
       {"explain"},
       "\"explain\" is not a command of kubectl-sliced; run \"sliced explain\" on the node (package sliced)"},
      {Program::kController,
       {"validate", "a.yaml"},
       "\"validate\" is not a command of sliced-controller; run \"sliced validate\" on the node (package sliced), or run \"kubectl "
       "sliced validate\" on a workstation (package kubectl-sliced)"},
      {Program::kKubectl,
       {"nods"},
       "\"nods\" is not a command; did you mean nodes?; see kubectl sliced --help"},
      {Program::kController, {"nods"}, "\"nods\" is not a command; see sliced-controller --help"},
  };
  for (const auto& row : rows) EXPECT_EQ(World{}.load(row.program, row.words).problems, Words{row.wanted});
}

// Red when an option of another program is called unknown, or belongs to commands that this program has not.
TEST(Load, NamesTheCommandsOfAForeignOption) {
  EXPECT_EQ(World{}.load(Program::kNode, {"run", "--once"}).problems,
            Words{"--once: is not an option of run; it belongs to kubectl sliced top"});
  EXPECT_EQ(World{}.load(Program::kController, {"webhook", "--kubelet-plugin", "on"}).problems,
            Words{"--kubelet-plugin: is not an option of webhook; it belongs to sliced run"});
}

TEST(Load, AcceptsEveryCommandInItsProgram) {
  for (const CommandInfo& command : command_table()) {
    EXPECT_NE(command.programs, 0) << command.name;
    for (const ProgramInfo& program : program_table()) {
      const Loaded loaded = World{}.load(program.id, {std::string(command.name), "--help"});
      EXPECT_EQ(loaded.wants_help, has_command(program.id, command)) << program.name << " " << command.name;
      EXPECT_EQ(loaded.options.program, program.id);
    }
  }
}

TEST(Load, AcceptsEveryFormOfAFlag) {
  const Loaded loaded = World{}.load({"plan", "--cluster", "dir:/p", "--host=/h", "-ojson", "-n", "apps",
                                      "--node-name", "n1", "--node-labels", "a=1,b=2"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_EQ(loaded.options.command, Command::kPlan);
  EXPECT_EQ(loaded.options.cluster, ClusterSpec(ClusterDirectory{"/p"}));
  EXPECT_EQ(loaded.options.host_root, "/h");
  EXPECT_EQ(loaded.options.output, OutputFormat::kJson);
  EXPECT_EQ(loaded.options.namespace_, "apps");
  EXPECT_EQ(loaded.options.node_name, "n1");
  EXPECT_EQ(loaded.options.node_labels, (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
}

// Red when `kubectl sliced` asks another cluster than kubectl does, or takes the daemon's namespace for the user's.
TEST(Load, CommandsFindTheClusterLikeKubectl) {
  const Words why = {"why", "pod", "a"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), why.begin(), why.end());
    return more;
  };
  World world;
  world.environment = {{"HOME", "/home/a"}, {"NAMESPACE", "dra-driver-sriov"}};
  EXPECT_EQ(world.load(why).options.cluster, ClusterSpec(KubeconfigFile{"/home/a/.kube/config"}));
  EXPECT_EQ(world.load(why).options.namespace_, "") << "that of the context";
  for (const Words& words :
       {Words{"why", "pod/a"}, {"why", "pods/a"}, {"why", "resourceclaim/a"}, {"why", "claims", "a"}})
    EXPECT_EQ(world.load(words).problems, Words{}) << words[1];
  EXPECT_EQ(world.load({"why", "pod/a", "b"}).problems, Words{"why: \"b\" is one word too many"});
  EXPECT_EQ(world.load({"why", "node/a"}).problems.size(), 1u);
  EXPECT_EQ(world.load(with({"-n", "apps"})).options.namespace_, "apps");
  EXPECT_EQ(world.load(with({"--context", "c"})).options.cluster,
            ClusterSpec(KubeconfigFile{"/home/a/.kube/config", "c"}));
  world.environment["KUBECONFIG"] = "/x::/y";
  EXPECT_EQ(world.load(why).options.cluster, ClusterSpec(KubeconfigFile{"/x", "", {"/y"}}));
  EXPECT_EQ(world.load(with({"--kubeconfig", "/k"})).options.cluster, ClusterSpec(KubeconfigFile{"/k"}));
  EXPECT_EQ(world.load(with({"--cluster", "dir:/d"})).options.cluster, ClusterSpec(ClusterDirectory{"/d"}));
  EXPECT_EQ(world.load(with({"--cluster", "dir:/d", "--context", "c"})).problems.size(), 1u);
  world.environment["SLICED_CLUSTER"] = "dir:/e";
  EXPECT_EQ(world.load(why).options.cluster, ClusterSpec(ClusterDirectory{"/e"}));
  EXPECT_EQ(World{}.load(why).problems,
            Words{"no cluster is named: give --kubeconfig or --cluster, or set KUBECONFIG"});
  EXPECT_EQ(world.load({"plan", "--kubeconfig", "/k"}).problems.size(), 1u);
}

TEST(Load, MatchReadsSeveralSliceFiles) {
  const Loaded loaded = World{}.load({"match", "--slices", "-f", "a.yaml", "--file", "-", "true"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_TRUE(loaded.options.published);
  EXPECT_EQ(loaded.options.files, (Words{"a.yaml", "-"}));
  EXPECT_EQ(loaded.options.arguments, Words{"true"});
}

TEST(Load, AcceptsOptionsBeforeAndAfterArguments) {
  const Loaded loaded = World{}.load({"--log-level", "debug", "validate", "a.yaml", "--sriov-driver-name",
                                      "x.org", "b.yaml", "--", "--c.yaml"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_EQ(loaded.options.command, Command::kValidate);
  EXPECT_EQ(loaded.options.arguments, (Words{"a.yaml", "b.yaml", "--c.yaml"}));
  EXPECT_EQ(loaded.options.log_level, Level::kDebug);
}

TEST(Load, PrefersFlagOverEnvironmentOverFileOverDefault) {
  World world;
  world.files["/c.yaml"] = "namespace: from-file\nsyncInterval: 2m\nlogLevel: error\n";
  world.environment = {{"NAMESPACE", "from-env"}, {"SLICED_SYNC_INTERVAL", "3m"}, {"NODE_NAME", "env-node"}};
  const Loaded loaded = world.load({"run", "-c", "/c.yaml", "--namespace", "from-flag"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_EQ(loaded.options.namespace_, "from-flag");
  EXPECT_EQ(loaded.options.sync_interval, Millis(180'000)) << "environment over file";
  EXPECT_EQ(loaded.options.log_level, Level::kError) << "file over default";
  EXPECT_EQ(loaded.options.node_name, "env-node");
  EXPECT_EQ(loaded.options.settle, Millis(100));
}

TEST(Load, ASwitchCanBeTurnedOffAgain) {
  World world;
  world.environment["SLICED_ALLOW_SHORT_SYNC"] = "true";
  EXPECT_TRUE(world.load({"run"}).options.allow_short_sync);
  EXPECT_FALSE(world.load({"run", "--allow-short-sync=false"}).options.allow_short_sync);
  EXPECT_TRUE(World{}.load({"run", "--allow-short-sync"}).options.allow_short_sync);
}

TEST(Load, AnEmptyVariableIsUnset) {
  World world;
  world.environment = {{"NODE_NAME", ""}, {"NAMESPACE", ""}};
  const Loaded loaded = world.load({"run"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_EQ(loaded.options.node_name, "node-a");
}

TEST(Load, FileAcceptsListsAndMaps) {
  World world;
  world.files["f"] =
      "kindsOff: [DeviceAttributes]\nnodeLabels:\n  zone: a\n  rack: \"7\"\nallowShortSync: true\n"
      "readiness:\n  require: [adminMac]\n  mtuAtLeast: 9000\n";
  const Loaded loaded = world.load({"run", "--config", "f"});
  EXPECT_EQ(loaded.problems, Words{});
  EXPECT_EQ(policy::text_of(loaded.options.readiness), "{require: [adminMac], mtuAtLeast: 9000}");
  EXPECT_EQ(loaded.options.kinds_off, std::set<std::string>{"DeviceAttributes"});
  EXPECT_EQ(loaded.options.node_labels, (std::map<std::string, std::string>{{"rack", "7"}, {"zone", "a"}}));
  EXPECT_TRUE(loaded.options.allow_short_sync);
}

TEST(Load, Problems) {
  const struct {
    const char* why;
    Words arguments;
    Words problems;
  } rows[] = {
      {"a mistyped option",
       {"run", "--nodename", "x"},
       {"--nodename: unknown option; did you mean --node-name?", "run: \"x\" is one word too many"}},
      {"an abbreviation would break when options are added",
       {"run", "--node-n=x"},
       {"--node-n: unknown option; did you mean --node-name?"}},
      {"an ambiguous abbreviation",
       {"run", "--node=x"},
       {"--node: unknown option; did you mean --node-name?"}},
      {"an unknown short option", {"run", "-x"}, {"-x: unknown option; see sliced --help"}},
      {"no value", {"run", "--cluster"}, {"--cluster: its value is missing"}},
      {"no value for a short one", {"plan", "-o"}, {"-o: its value is missing"}},
      {"an option of other commands",
       {"run", "-o", "json"},
       {"--output: is not an option of run; it belongs to plan, explain, discover, match, drift, status, history"}},
      {"files of slices beside a question to the host",
       {"match", "--file", "a.yaml", "true"},
       {"--file: holds slices, which are asked with --slices; add it"}},
      {"no command", {"--log-level", "info"}, {"no command is given; see sliced --help"}},
      {"an unknown command", {"pln"}, {"\"pln\" is not a command; did you mean plan?; see sliced --help"}},
      {"too many words", {"explain", "a", "b"}, {"explain: \"b\" is one word too many"}},
      {"too few", {"migrate"}, {"migrate: FILE... is missing"}},
      {"nothing to check", {"validate"}, {"validate: FILE... is missing; give it, or --cluster"}},
      {"files and a cluster to check",
       {"validate", "--cluster", "dir:/x", "a.yaml"},
       {"--cluster: contradicts \"a.yaml\", which is checked without a cluster; give one of them"}},
      {"a word that is none of the choices",
       {"completion", "bsh"},
       {"completion: \"bsh\" must be one of bash, zsh, fish; did you mean bash?"}},
      {"below the minimum",
       {"run", "--sync-interval", "59s"},
       {"sync-interval: 59s is out of bounds; must be at least 1m (30s with --allow-short-sync) and at most "
        "24h"}},
      {"below the lower minimum",
       {"run", "--sync-interval", "29s", "--allow-short-sync"},
       {"sync-interval: 29s is out of bounds; must be at least 1m (30s with --allow-short-sync) and at most "
        "24h"}},
      {"above the maximum",
       {"run", "--sync-interval", "25h"},
       {"sync-interval: 25h is out of bounds; must be at least 1m (30s with --allow-short-sync) and at most "
        "24h"}},
      {"settle windows", {"run", "--settle", "2s"}, {"settle: 2s is longer than settle-max, which is 1s"}},
      {"readiness-poll",
       {"run", "--readiness-poll", "50ms"},
       {"readiness-poll: 50ms is out of bounds; must be at least 100ms and at most 1m"}},
      {"settle-max", {"run", "--settle-max", "61s"}, {"settle-max: 1m1s is above the limit of 1m"}},
      {"diff is plan's",
       {"explain", "-o", "diff"},
       {"--output: \"diff\" is for plan only; must be table, yaml or json"}},
      {"wide is the fleet's",
       {"explain", "-o", "wide"},
       {"--output: \"wide\" is for nodes, devices, top and policies; must be table, yaml or json"}},
      {"devices of no node",
       {"devices", "--kubeconfig", "/kc"},
       {"devices: NODE is missing; kubectl sliced nodes lists them"}},
      {"devices of two nodes",
       {"devices", "--kubeconfig", "/kc", "--on", "w1", "w2"},
       {"devices: \"w2\" contradicts --on w1; give one of them"}},
      {"devices of what is not a node",
       {"devices", "--kubeconfig", "/kc", "W!"},
       {"devices: \"W!\" must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes"}},
      {"a kind without a name", {"why", "--kubeconfig", "/kc", "pod"}, {"why: [NAMESPACE/]NAME is missing"}},
      {"a page nowhere",
       {"page", "--kubeconfig", "/kc", "--page-address", ""},
       {"page-address: is empty, and the page is served nowhere else; leave it out, or give one"}},
      {"a webhook nowhere",
       {"webhook", "--webhook-address="},
       {"webhook-address: is empty, so no client can connect; leave it out, or set an address"}},
      {"a file that is not there", {"run", "-c", "/none"}, {"/none: No such file or directory"}},
      {"every problem, not the first",
       {"run", "--clustr", "--log-level", "x", "--settle", "y", "z"},
       {"--clustr: unknown option; did you mean --cluster?", "run: \"z\" is one word too many",
        "--log-level: \"x\" must be one of debug, info, warning, error",
        "--settle: \"y\" must be a duration such as 5m, 90s, 1m30s or 100ms"}},
      {"bytes that steer a terminal",
       {"run", "--namespace", "\x1b[2J"},
       {"--namespace: \"\\x1b[2J\" must be a namespace: lower-case letters, digits and '-', at most 63 "
        "bytes"}},
  };
  for (const auto& row : rows) EXPECT_EQ(World{}.load(row.arguments).problems, row.problems) << row.why;
}

// Red when the plugin of kubectl requires an option for the cluster that kubectl uses.
TEST(Load, ValidateOfThePluginTakesKubectlsCluster) {
  for (const Words& words :
       {Words{"validate"}, Words{"validate", "--cluster"}, Words{"validate", "--context", "c"}}) {
    World world;
    world.environment["KUBECONFIG"] = "/kc";
    const Loaded loaded = world.load(Program::kKubectl, words);
    EXPECT_EQ(loaded.problems, Words{});
    const auto* file = std::get_if<KubeconfigFile>(&loaded.options.cluster);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->path, "/kc");
  }
  EXPECT_EQ(World{}.load(Program::kKubectl, {"validate", "a.yaml", "--cluster"}).problems,
            Words{"--cluster: contradicts \"a.yaml\", which is checked without a cluster; give one of them"});
  EXPECT_EQ(World{}.load(Program::kKubectl, {"validate", "a.yaml"}).problems, Words{})
      << "files need no cluster";
  EXPECT_EQ(
      World{}.load(Program::kNode, {"validate", "--cluster"}).problems,
      (Words{"--cluster: its value is missing", "validate: FILE... is missing; give it, or --cluster"}));
}

TEST(Load, TheNodeOfDevicesIsAnArgument) {
  EXPECT_EQ(World{}.load({"devices", "--kubeconfig", "/kc", "worker-1"}).options.on_node, "worker-1");
  EXPECT_EQ(World{}.load({"devices", "--kubeconfig", "/kc", "worker-1", "--on", "worker-1"}).problems,
            Words{});
}

// Red when the error for a mistyped option describes the pod that another option requires.
TEST(Load, ReportsAnInvalidSignalOnce) {
  EXPECT_EQ(
      World{}.load({"wait-for-config", "--for", "anotation"}).problems,
      (Words{
          "--for: \"anotation\" must be annotation, node-state, node-state:allow-empty or file:/PATH, such as "
          "file:/run/sliced/configured; did you mean annotation?"}));
  for (const Words& line : {Words{"wait-for-config"},
                            {"wait-for-config", "--for", ""},
                            {"wait-for-config", "--for", "annotation"}})
    EXPECT_EQ(World{}.load(line).problems.size(), 1u) << "the pod is not named";
}

// Red when the page accepts a source that can be read only once.
TEST(Load, ThePageFollowsAFile) {
  World world;
  world.environment["HOME"] = "/h";
  EXPECT_EQ(world.load({"page", "--diff", "p.yaml"}).problems, Words{});
  EXPECT_EQ(world.load({"policies", "--diff", "-"}).problems, Words{});
  EXPECT_EQ(
      world.load({"page", "--diff", "-"}).problems,
      (Words{
          "--diff: \"-\" is standard input, and the page reads what it shows again as it changes; give a file"}));
}

TEST(Load, ShortSyncIntervalsAtTheLimits) {
  EXPECT_EQ(World{}.load({"run", "--sync-interval", "1m"}).problems, Words{});
  EXPECT_EQ(World{}.load({"run", "--sync-interval", "30s", "--allow-short-sync"}).problems, Words{});
}

TEST(Load, FileProblemsHaveTheirLines) {
  World world;
  world.files["f"] = "logLevel: loud\nnodeNam: x\nsettle: [1s]\nnodeLabels: {a: 1}\ncluster:\n";
  EXPECT_EQ(world.load({"run", "-c", "f", "--log-level", "info"}).problems,
            (Words{"f:2: nodeNam: unknown setting; did you mean nodeName?",
                   "f:3: settle: is a list; must be one value",
                   "f:4: nodeLabels: is a map; must be a map of strings (quote numbers and booleans)",
                   "f:5: cluster: is a null; must be one value",
                   "f:1: logLevel: \"loud\" must be one of debug, info, warning, error"}))
      << "a wrong setting is told also where a flag overrides it";
}

TEST(Load, RefusesFilesThatHoldNoSettings) {
  World world;
  world.files["list"] = "- a\n";
  world.files["two"] = "logLevel: info\n---\nlogLevel: debug\n";
  world.files["empty"] = "# nothing\n";
  EXPECT_EQ(world.load({"run", "-c", "list"}).problems, Words{"list: is a list; must be a map of settings"});
  EXPECT_EQ(world.load({"run", "-c", "two"}).problems, Words{"two: holds several documents; must be one"});
  EXPECT_EQ(world.load({"run", "-c", "empty"}).problems, Words{});
  world.files["broken"] = "logLevel: info\nx: [\n";
  const Words problems = world.load({"run", "-c", "broken"}).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].rfind("broken:", 0), 0u) << problems[0];
}

TEST(Load, EnvironmentProblemsNameTheVariable) {
  World world;
  world.environment = {{"NODE_NAME", "A_B"}, {"SLICED_SETTLE", "x"}};
  EXPECT_EQ(world.load({"discover"}).problems, Words{"environment NODE_NAME: \"A_B\" must be the name of a "
                                                     "Node: lower-case letters, digits, '-' and '.', at "
                                                     "most 253 bytes"})
      << "discover takes no --settle, so its variable says nothing";
  EXPECT_EQ(world.load({"discover", "--node-name", "a"}).problems, Words{})
      << "an overridden variable is not looked at";
}

TEST(Load, RefusesAHostNameThatIsNotANodeName) {
  World world;
  world.host_name = "my_host";
  EXPECT_EQ(world.load({"run"}).problems,
            Words{"host name \"my_host\" cannot stand for the node's: must be the name of a Node: lower-case "
                  "letters, digits, "
                  "'-' and '.', at most 253 bytes; give --node-name or NODE_NAME"});
  EXPECT_EQ(world.load({"run", "--node-name", "n"}).problems, Words{});
  EXPECT_EQ(world.load({"version"}).problems, Words{});
}

// Red when help about a command that is misspelt is help in general: a script would take it for done.
TEST(Load, HelpAboutNoCommandIsRefused) {
  for (const Words& arguments : {Words{"pln", "--help"}, Words{"--help", "pln"}, Words{"help", "pln"}}) {
    const Loaded loaded = World{}.load(arguments);
    EXPECT_FALSE(loaded.wants_help);
    EXPECT_EQ(loaded.problems, Words{"\"pln\" is not a command; did you mean plan?; see sliced --help"});
  }
}

TEST(Load, RecognizesRequestsForHelp) {
  const struct {
    Words arguments;
    Command about;
  } rows[] = {
      {{}, Command::kNone},
      {{"--help"}, Command::kNone},
      {{"-h"}, Command::kNone},
      {{"help"}, Command::kNone},
      {{"help", "plan"}, Command::kPlan},
      {{"plan", "--help"}, Command::kPlan},
      {{"plan", "--no-such", "-h"}, Command::kPlan},
      {{"--help", "run"}, Command::kRun},
      {{"help", "help"}, Command::kHelp},
  };
  for (const auto& row : rows) {
    const Loaded loaded = World{}.load(row.arguments);
    EXPECT_TRUE(loaded.wants_help);
    EXPECT_EQ(loaded.problems, Words{});
    EXPECT_EQ(loaded.options.command, row.about);
  }
  EXPECT_EQ(World{}.load({"help", "rn"}).problems,
            Words{"\"rn\" is not a command; did you mean run?; see sliced --help"});
  EXPECT_EQ(World{}.load({"help", "run", "x"}).problems, Words{"help: \"x\" is one word too many"});
  EXPECT_EQ(World{}.load({"--version"}).options.command, Command::kVersion);
}

TEST(Reload, AppliesReloadableOptionsAndNamesTheOthers) {
  World world;
  world.files["f"] = "syncInterval: 5m\nnamespace: a\n";
  const Words arguments = {"run", "-c", "f", "--settle", "200ms"};
  const Loaded loaded = world.load(arguments);
  ASSERT_EQ(loaded.problems, Words{});

  world.files["f"] = "syncInterval: 10m\nnamespace: b\nsettle: 1s\n";
  Reloaded reloaded = reload(loaded.options, arguments, world.inputs());
  EXPECT_EQ(reloaded.problems, Words{});
  EXPECT_EQ(reloaded.changed, Words{"sync-interval"}) << "the flag still overrides settle";
  EXPECT_EQ(reloaded.needs_restart, Words{"namespace"});
  EXPECT_EQ(reloaded.options.sync_interval, Millis(600'000));
  EXPECT_EQ(reloaded.options.namespace_, "a");

  world.files["f"] = "syncInterval: 1s\n";
  reloaded = reload(reloaded.options, arguments, world.inputs());
  EXPECT_EQ(reloaded.problems.size(), 1u);
  EXPECT_EQ(reloaded.changed, Words{});
  EXPECT_EQ(reloaded.options.sync_interval, Millis(600'000)) << "a wrong file changes nothing";
}

TEST(ProcessPorts, ReadsFilesWithinBounds) {
  const ProcessInputs inputs = process_inputs();
  const auto directory =
      std::filesystem::temp_directory_path() / ("sliced-config-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "small") << "a: b\n";
  std::ofstream(directory / "large") << std::string((1u << 20) + 1, '#');
  EXPECT_EQ(inputs.read_file(directory / "small").value_or(""), "a: b\n");
  EXPECT_EQ(inputs.read_file(directory / "large").error(), (Error{Errc::kTooLarge, "is larger than 1 MiB"}));
  EXPECT_EQ(inputs.read_file(directory / "none").error(), (Error{Errc::kIo, "No such file or directory"}));
  EXPECT_FALSE(inputs.read_file(directory).ok());
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(inputs.read_file(directory / "pipe").error(),
            (Error{Errc::kInvalid, "is a pipe; must be a file"}))
      << "who reloads waits for nobody";
  std::filesystem::remove_all(directory);
  EXPECT_FALSE(inputs.host_name.empty());
}

}  // namespace
}  // namespace sliced::config
