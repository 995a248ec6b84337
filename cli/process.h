#pragma once
// The real ports of the daemon, made from the options: loop, threads, log, cluster and host.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "daemon/daemon.h"
#include "hotplug/event_source.h"
#include "hotplug/host_view.h"
#include "kube/cluster.h"
#include "reactor/base/line_writer.h"
#include "reactor/base/log_sinks.h"
#include "reactor/loop.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/thread_executor.h"
#include "snapshot/recording.h"

namespace sliced::cli {

/// Exit codes are an interface (docs/command-line.md). No command has two of those that are 2.
/// Others say 2 in the sense of one of these: policies --diff and migrate --check (kExitChanges), why
/// (kExitNone); status, that a daemon is not ready.
inline constexpr int kExitSame = 0;     // nothing to change, all well
inline constexpr int kExitError = 1;    // the command could not do its work
inline constexpr int kExitChanges = 2;  // plan: something would be written
inline constexpr int kExitNone = 2;     // match: an answer, and nothing matches
inline constexpr int kExitDrift = 2;    // drift: a field differs
inline constexpr int kExitUnsure = 3;   // why: an answer, and not a sure one

/// Ownership: whatever is made from its ports is dropped before it. Members are in the order in which they
/// depend on each other: the loop goes last.
/// Threads: the loop's, but for the executor's workers and the log's writer.
/// Log: one-shot commands are silent below a warning where nobody asked for more: their output is what they
/// did.
class Process {
 public:
  /// Errors: a host root or cluster that cannot be opened; the text names it.
  /// Nothing is sent to the API server yet. Credentials are read later, on the executor; what is looked at
  /// here is whether they are there, and ask for a proxy that we cannot use.
  static Result<std::unique_ptr<Process>> open(const config::Options& options);
  /// Without a cluster: for commands that look at the host alone. `cluster` stays null.
  static Result<std::unique_ptr<Process>> open_host_only(const config::Options& options);
  /// Without host and cluster: both stay null.
  static std::unique_ptr<Process> open_bare(const config::Options& options);
  ~Process();

  /// Without live events (one-shot commands) the host is read once and not followed.
  /// Each call makes sources of its own; they are opened by who is given them.
  daemon::Ports daemon_ports(bool live_events);
  hotplug::HostSource::Ports host_ports(bool live_events);

  /// Turns the loop until done() is true or the time is over; false when it was.
  /// done is asked between turns, first before any.
  bool run_until(const std::function<bool()>& done, Millis longest);
  void run() { loop.run(); }

  /// Leaves at once where a read on a worker hangs, or where nobody reads what is written: waiting could take
  /// for ever.
  /// status, where all is well, to be returned from main(); waits up to a second for the log and the output.
  /// is_busy: a worker that is not of `executor` still works.
  int leave(int status, bool is_busy = false);

  reactor::Loop loop;
  std::unique_ptr<SinkLog> log;
  std::unique_ptr<reactor::ThreadExecutor> executor;
  std::unique_ptr<kube::Cluster> cluster;
  std::shared_ptr<const hotplug::HostView> host;
  /// Where `host` is a snapshot: what its PFs enforced, else nullptr.
  std::shared_ptr<const snapshot::RecordedHost> recorded;
  /// Standard output of what goes on for long: print() waits for whoever reads.
  LineWriter out;

 private:
  explicit Process(const config::Options& options);
  Result<Unit> open_cluster();
  const config::Options options_;
  std::vector<kube::Json> recorded_objects_;  // of `recorded`, until the cluster has them
};

/// SIGHUP: the file and the environment are read again, and what may change while running takes effect. False: there are problems,
/// which the log has, and nothing does.
bool reload(Process& process, config::Options& running, const std::vector<std::string>& arguments);

/// Of a listen address as options have it (config::parse_listen_address); nullopt of "".
std::optional<reactor::net::Endpoint> endpoint_of(const std::string& address);

/// Before anything else is opened: no file or connection of ours gets the number of a standard file that whoever starts us
/// has closed. What is printed then fails, as it should.
void open_standard_files();

/// Writes to stdout and says on stderr when that fails (a full disk, a closed pipe).
/// False then; who prints more ends with kExitError.
bool print(std::string_view text);
/// On stderr, "sliced: ...": a line, or several. What others wrote among it is made fit for a terminal.
void complain(std::string_view text);

}  // namespace sliced::cli
