#pragma once
// The environment of each command, opened from the options: loop, threads, log and cluster.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "daemon/console.h"
#include "kube/objects/cluster.h"
#include "reactor/base/line_writer.h"
#include "reactor/base/log_sinks.h"
#include "reactor/base/result.h"
#include "reactor/loop.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/thread_executor.h"

namespace sliced::daemon {

/// Ownership: objects that use its ports are destroyed before it. Members are in the order of their
/// dependencies: the loop is destroyed last. Threads: the loop's, except the executor's workers and the log's
/// writer. Log: one-shot commands log only warnings and errors by default, because their output is the
/// result.
class Process {
 public:
  /// Errors: a cluster that cannot be opened; the text names it. Sends nothing to the API server yet.
  /// Credentials are read later, on the executor; this function checks that they exist, and do not require an
  /// unsupported proxy.
  static Result<std::unique_ptr<Process>> open(const config::Options& options);
  /// Opens no cluster; `cluster` stays null.
  static std::unique_ptr<Process> open_bare(const config::Options& options);
  virtual ~Process();

  /// Runs the loop until done() is true or the time is over; returns false if the time is over. done is
  /// called between turns, and once before the first.
  bool run_until(const std::function<bool()>& done, Millis longest);
  void run() { loop.run(); }

  /// Exits immediately if a read on a worker hangs or the reader of the output does not read, because waiting
  /// could take forever. Otherwise returns status, for main(), after waiting up to a second for the log and
  /// the output. SIGHUP, SIGINT and SIGTERM are blocked from then on. is_busy: a worker outside `executor` still runs.
  int leave(int status, bool is_busy = false);

  reactor::Loop loop;
  std::unique_ptr<SinkLog> log;
  std::unique_ptr<reactor::ThreadExecutor> executor;
  std::unique_ptr<kube::Cluster> cluster;
  /// Standard output for continuous output. print() blocks until the reader reads.
  LineWriter out;

 protected:
  explicit Process(const config::Options& options);
  /// Errors: as open().
  Result<Unit> open_cluster();
  /// Opens the cluster of the options; not config::ClusterSnapshot, which requires a HostProcess.
  virtual Result<std::unique_ptr<kube::Cluster>> find_cluster();
  const config::Options options_;
};

/// SIGHUP: reads the file and the environment again, and applies the options that can change at runtime.
/// Returns false if there are problems, which are logged; nothing is applied then.
bool reload(Process& process, config::Options& running, const std::vector<std::string>& arguments);

/// Returns the endpoint of a listen address (config::parse_listen_address); nullopt for "".
std::optional<reactor::net::Endpoint> endpoint_of(const std::string& address);

}  // namespace sliced::daemon
