#pragma once
// What each command works with, opened from the options: loop, threads, log and cluster.
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

namespace sliced::cli {

/// Ownership: whatever is made from its ports is dropped before it. Members are in the order in which they
/// depend on each other: the loop goes last.
/// Threads: the loop's, but for the executor's workers and the log's writer.
/// Log: one-shot commands are silent below a warning where nobody asked for more: their output is what they
/// did.
class Process {
 public:
  /// Errors: a cluster that cannot be opened; the text names it.
  /// Nothing is sent to the API server yet. Credentials are read later, on the executor; what is looked at
  /// here is whether they are there, and ask for a proxy that we cannot use.
  static Result<std::unique_ptr<Process>> open(const config::Options& options);
  /// Without a cluster, which stays null.
  static std::unique_ptr<Process> open_bare(const config::Options& options);
  virtual ~Process();

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
  /// Standard output of what goes on for long: print() waits for whoever reads.
  LineWriter out;

 protected:
  explicit Process(const config::Options& options);
  /// Errors as those of open().
  Result<Unit> open_cluster();
  /// The cluster that the options name; not config::ClusterSnapshot, which only a HostProcess can open.
  virtual Result<std::unique_ptr<kube::Cluster>> find_cluster();
  const config::Options options_;
};

/// SIGHUP: the file and the environment are read again, and what may change while running takes effect. False: there are problems,
/// which the log has, and nothing does.
bool reload(Process& process, config::Options& running, const std::vector<std::string>& arguments);

/// Of a listen address as options have it (config::parse_listen_address); nullopt of "".
std::optional<reactor::net::Endpoint> endpoint_of(const std::string& address);

}  // namespace sliced::cli
