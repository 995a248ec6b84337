#include "daemon/run.h"

#include <malloc.h>

#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/boot_evidence.h"
#include "daemon/cluster_reporter.h"
#include "daemon/configured_signals.h"
#include "daemon/host_process.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/node_locks.h"
#include "daemon/service.h"
#include "daemon/status/verdict_table.h"
#include "daemon/status_server.h"
#include "policy/explain.h"
#include "reactor/orphans.h"
#include "reactor/signal.h"
#include "reactor/turn_watch.h"

namespace sliced::daemon {
namespace {

// A write in progress is completed: after an abort its result would be unknown.
constexpr Millis kDrainMax{1'500};
// A claim in progress is completed too, so that the next daemon finds consistent files.
constexpr Millis kPluginDrainMax{4'000};

constexpr Millis kTrimAfter{2'000};

// --show: the device table, and later its rows that differ from the last one.
class Display final : public Observer {
 public:
  Display(LineWriter& out, Daemon& daemon) : out_(out), subscription_(daemon.observers(), *this) {}
  void on_decided(const policy::Decision& decision) override {
    status::VerdictsTable now = status::verdicts_table(decision);
    if (now.text == last_) return;
    const std::time_t clock = std::time(nullptr);
    const size_t policies =
        decision.inputs->policies->sriov.size() + decision.inputs->policies->exposures.size();
    char stamp[32] = "";
    std::tm local{};
    std::strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&clock, &local));
    out_.put("\n" + std::string(stamp) + "  " + std::to_string(decision.verdicts.size()) +
             (decision.verdicts.size() == 1 ? " device" : " devices") + " discovered, " +
             std::to_string(now.offered) + " allowed by " + std::to_string(policies) +
             (policies == 1 ? " policy\n" : " policies\n") + status::changed_rows(last_, now.text));
    last_ = std::move(now.text);
  }

 private:
  LineWriter& out_;
  std::string last_;
  Subscription subscription_;
};

// A list or a large write leaves free memory behind. It is returned to the kernel once no decision follows
// for a while.
class MemoryTrimmer final : public Observer {
 public:
  MemoryTrimmer(reactor::Scheduler& scheduler, Daemon& daemon)
      : scheduler_(scheduler), subscription_(daemon.observers(), *this) {}
  void on_decided(const policy::Decision&) override {
    timer_ = scheduler_.after(kTrimAfter, [] { malloc_trim(0); });
  }

 private:
  reactor::Scheduler& scheduler_;
  reactor::Ticket timer_;
  Subscription subscription_;
};

// Logs callbacks that block the event loop for long.
void log_long_turns(HostProcess& process) {
  process.loop.on_long_turn([&process](const reactor::LongTurn& turn) {
    process.log->warning("event loop blocked: all other work was delayed",
                         {{"took_ms", turn.took.count()},
                          {"on_cpu_ms", turn.on_cpu.count()},
                          {"longest", turn.what},
                          {"longest_ms", turn.what_took.count()},
                          {"suppressed", turn.unreported}});
  });
}

// Signal handlers, installed while this object exists.
class Signals {
 public:
  explicit Signals(HostProcess& process) : process_(process) {}
  void on(int number, reactor::Task task) {
    if (auto signal = reactor::Signal::open(process_.loop, number, std::move(task)))
      signals_.push_back(std::move(*signal));
    else
      process_.log->warning("signal handler not installed", {{"signal", number}});
  }

 private:
  HostProcess& process_;
  std::vector<std::unique_ptr<reactor::Signal>> signals_;
};

// Accepts no more requests and waits for those in progress, at most kPluginDrainMax.
void drain(HostProcess& process, KubeletPlugin& plugin) {
  plugin.stop_accepting();
  if (plugin.idle()) return;
  process.log->info("daemon stops when claims in progress are done");
  if (!process.run_until([&] { return plugin.idle(); }, kPluginDrainMax))
    process.log->warning(
        "daemon stops before a claim is prepared: the next daemon of this node completes it");
}

// --until-configured: the daemon adds nothing to the published slices until the signal.
class ConfigurationWait {
 public:
  ConfigurationWait(HostProcess& process, const config::Options& options, Daemon& daemon)
      : daemon_(daemon),
        signal_(make_configured_signal(process, options, options.until_configured, /*is_daemon=*/true,
                                       [this] { daemon_.await_configuration(signal_->awaited()); })) {
    daemon_.await_configuration(signal_->awaited());
  }
  // Returns whether there is a signal to watch; the daemon itself watches a node state.
  static bool is_needed(const config::Options& options) {
    using How = config::ConfiguredBy::How;
    const How how = options.until_configured.how;
    return how != How::kNothing && how != How::kNodeState;
  }
  void start() { signal_->start(); }

 private:
  Daemon& daemon_;
  const std::unique_ptr<configured::ConfiguredSignal> signal_;
};

DaemonPorts daemon_ports(HostProcess& process, const config::Options& options) {
  DaemonPorts ports = process.daemon_ports(/*live_events=*/true);
  ports.boot = boot_of(process, options);
  return ports;
}

void warn_without_plugin(HostProcess& process, const config::Options& options) {
  if (options.skip_node_operations == config::Switch::kOn) return;
  process.log->warning(
      "kubelet plugin off: devices are published, and pods with claims do not start on this node",
      {{"remedy", "--kubelet-plugin on, unless another program serves the kubelet for these drivers"}});
}

// Serves the node until a signal ends it. When it returns, nothing is prepared, and no new write begins.
void serve(HostProcess& process, const std::vector<std::string>& arguments, const std::string& lock_directory,
           reactor::ServiceAddress service_address, config::Options& running, Daemon& daemon,
           NodeLocks& locks) {
  std::optional<Display> display;
  if (running.show) display.emplace(process.out, daemon);
  const std::unique_ptr<KubeletPlugin> plugin = open_kubelet_plugin(process, running, daemon);
  if (!plugin && config::has_api_server(running.cluster)) warn_without_plugin(process, running);
  Service service(process, std::move(service_address), daemon);
  status::History history;
  ClusterReporter reporter(process, running, daemon, history, plugin.get());
  StatusServer status(process, running, lock_directory, daemon, locks, plugin.get(), reporter, history);
  MemoryTrimmer trimmer(process.loop.scheduler(), daemon);
  std::optional<ConfigurationWait> configuration;
  if (ConfigurationWait::is_needed(running)) configuration.emplace(process, running, daemon);
  // A container's init inherits the orphans of its pod.
  auto reaper = reactor::OrphanReaper::open_for_init(process.loop);
  if (!reaper) process.log->warning("orphaned processes cannot be reaped", {{"why", reaper.error().what}});

  Signals reloads(process);
  reloads.on(SIGHUP, [&] {
    service.on_reloading();
    if (reload(process, running, arguments)) daemon.reload(running);
    service.on_reloaded();
  });

  // Devices of pods look changed to a daemon that does not know the prepared claims, so it writes nothing
  // before.
  bool is_stopping = false;
  const auto on_plugin_changed = [&] {
    std::set<std::string> others;
    for (const auto& [driver, where] : plugin->other_programs()) others.insert(driver);
    daemon.permit_writes(!is_stopping && plugin->is_known(), std::move(others));
    reporter.on_plugin_changed();
  };
  locks.acquire([&] {
    service.on_writer();
    reporter.permit(true);
    if (plugin)
      plugin->start(on_plugin_changed);
    else
      daemon.permit_writes(true);
  });
  if (configuration) configuration->start();
  daemon.start();
  reporter.start();
  service.start();
  process.run();

  is_stopping = true;
  locks.stop_waiting();
  service.on_stopping();
  daemon.permit_writes(false);
  reporter.permit(false);
  if (plugin) drain(process, *plugin);
}

}  // namespace

int run(const config::Options& options, const std::vector<std::string>& arguments) {
  reactor::ServiceAddress service_address = reactor::take_service_address();
  const auto lock_directory = NodeLocks::prepare(options);
  if (!lock_directory) {
    print_error(lock_directory.error().what);
    return kExitError;
  }
  config::Options located = options;
  located.runtime_directory = *lock_directory;
  auto process = HostProcess::open(located);
  if (!process) {
    print_error(process.error().what);
    return kExitError;
  }
  log_long_turns(**process);
  (*process)->log->info("starting", {{"version", SLICED_VERSION},
                                     {"node", options.node_name},
                                     {"cluster", (*process)->cluster->describe()},
                                     {"namespace", options.namespace_},
                                     {"host", options.host_root}});
  config::Options running = options;
  Daemon daemon(daemon_ports(**process, running), running);
  // Other processes of this node wait until no worker of this one writes.
  NodeLocks locks(**process, running, *lock_directory);
  // Until the end: another signal while the last writes are awaited does not kill the process.
  Signals signals(**process);
  for (const int number : {SIGTERM, SIGINT}) signals.on(number, [&] { (*process)->loop.stop(); });
  signals.on(SIGHUP, [] {});
  serve(**process, arguments, *lock_directory, std::move(service_address), running, daemon, locks);
  if (!(*process)->run_until([&] { return daemon.idle(); }, kDrainMax))
    (*process)->log->warning("stopping without the answer to a write");
  (*process)->log->info("stopping: ResourceSlices remain published", {{"node", running.node_name}});
  return (*process)->leave(kExitSame);
}

}  // namespace sliced::daemon
