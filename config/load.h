#pragma once
// Loads the Options from the command line, the environment and the file. Precedence: flag, environment, file,
// default. Reports every problem, not only the first. With problems the options must not be used.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::config {

/// Inputs from the process other than its arguments; tests have their own. host_name: from gethostname(2); in
/// lower case it is the default of the node's name. read_file blocks; it is called for the configuration file
/// only.
struct ProcessInputs {
  std::function<std::optional<std::string>(const char* name)> env;
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::string host_name;
};
/// The process' own. Its read_file: at most 1 MiB, otherwise kTooLarge; kIo for all other errors.
ProcessInputs process_inputs();

struct Loaded {
  Options options;
  /// Help was requested (--help, help, no command); options.command selects the topic, kNone is the overview.
  /// There are no problems then.
  bool wants_help = false;
  std::vector<std::string> problems;  // one line each, with source, value and remedy
};

/// arguments: argv[1..]. Calls getopt_long, which has process-wide state: use one thread.
///  - Environment: an empty variable counts as unset, and so does one of an option that the command does not
///    accept.
///  - Cluster: found as by kubectl (--kubeconfig, KUBECONFIG, ~/.kube/config) for commands that accept
///    --kubeconfig, unless --cluster or its variable is set.
///  - File: YAML with the options' file keys, at most 1 MiB. The first 20 unknown settings are reported, the
///    others are counted.
///  - Problems, each with its source: an option that the command does not accept, an option that appears
///    twice in the file, an unknown key. A command of another program is a problem that names that program
///    and its package.
Loaded load(Program program, const std::vector<std::string>& arguments, const ProcessInputs& process);

/// The result of a SIGHUP: the file and the environment are read again, with the same command line.
struct Reloaded {
  Options options;                   // the running ones with the changes that take effect now; unchanged with
                                     // problems
  std::vector<std::string> changed;  // names of options that took effect
  std::vector<std::string> needs_restart;  // names of options that differ and keep their running value
  std::vector<std::string> problems;
};
/// With any problem nothing changes: `options` are the running ones. An option of the command line keeps its
/// value, regardless of file and environment. Options are compared by their texts (OptionInfo::print), so two
/// spellings of one value are equal.
Reloaded reload(const Options& running, const std::vector<std::string>& arguments,
                const ProcessInputs& process);

}  // namespace sliced::config
