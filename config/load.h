#pragma once
// From the command line, the environment and the file to Options. Order of strength: flag, environment, file,
// default. Every problem is reported, not the first. With problems the options must not be acted on.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"
#include "reactor/base/result.h"

namespace sliced::config {

/// What the process is asked for besides its arguments; tests bring their own. host_name is gethostname(2)'s:
/// in lower case it stands for the node's name where nobody gives one.
/// read_file blocks; it is asked for one path, that of the configuration file.
struct Ports {
  std::function<std::optional<std::string>(const char* name)> env;
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::string host_name;
};
/// The process' own. Its read_file: at most 1 MiB, else kTooLarge; kIo for whatever else goes wrong.
Ports process_ports();

struct Loaded {
  Options options;
  /// Help was asked for (--help, help, no command); options.command says about what, kNone about everything.
  /// There are no problems then.
  bool wants_help = false;
  std::vector<std::string> problems;  // one line each, with where the value stands, the value and the remedy
};

/// arguments are argv[1..]. Uses getopt_long and with it its process-wide state: call it from one thread.
/// An environment variable that is empty counts as unset, and so does one of an option that the command does not take.
/// The cluster is found as kubectl finds it (--kubeconfig, KUBECONFIG, ~/.kube/config) by commands that take
/// --kubeconfig, unless --cluster or its variable says where it is.
/// The file is YAML with the options' file keys, at most 1 MiB. An option that the command does not take, one
/// that is given twice in the file, and a key that is not known are problems, each with where it stands.
/// Of settings in the file that are not known the first 20 are told, the others are counted.
/// A command of another program is a problem that names that program and its package.
Loaded load(Program program, const std::vector<std::string>& arguments, const Ports& ports);

/// What a SIGHUP changes: the file and the environment are read again below the same command line.
struct Reloaded {
  Options options;                   // the running ones with what may change now; the same ones with problems
  std::vector<std::string> changed;  // names of options that took effect
  std::vector<std::string> needs_restart;  // names of options that differ and keep their running value
  std::vector<std::string> problems;
};
/// A problem anywhere changes nothing at all: `options` are then the running ones. An option of the command
/// line stays as it was given there, whatever file and environment say.
/// Whether an option differs is told by its text (OptionInfo::print): two spellings of one value are one.
Reloaded reload(const Options& running, const std::vector<std::string>& arguments, const Ports& ports);

}  // namespace sliced::config
