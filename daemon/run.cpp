#include "daemon/run.h"

#include <malloc.h>

#include <csignal>
#include <ctime>
#include <set>

#include "daemon/boot_evidence.h"
#include "daemon/host_process.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/node_locks.h"
#include "daemon/service.h"
#include "daemon/signs.h"
#include "daemon/status/verdict_table.h"
#include "daemon/status_door.h"
#include "daemon/telling.h"
#include "policy/explain.h"
#include "reactor/orphans.h"
#include "reactor/signal.h"
#include "reactor/turn_watch.h"

namespace sliced::cli {
namespace {

// A write that is on its way is waited for: cut off, nobody would know whether it happened.
constexpr Millis kDrainMax{1'500};
// So is a claim that is being prepared or taken back: whoever has the node next finds the files of one process.
constexpr Millis kPluginDrainMax{4'000};

constexpr Millis kTrimAfter{2'000};

// The device table, printed when it differs from the last one.
class Display {
 public:
  explicit Display(LineWriter& out) : out_(out) {}
  void show(const policy::Decision& decision) {
    status::VerdictsTable now = status::verdicts_table(decision);
    if (now.text == last_) return;
    const std::time_t clock = std::time(nullptr);
    char stamp[32] = "";
    std::tm local{};
    std::strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&clock, &local));
    out_.put("\n" + std::string(stamp) + "  " + std::to_string(decision.verdicts.size()) +
             " devices discovered, " + std::to_string(now.offered) + " allowed by " +
             std::to_string(decision.inputs->policies->sriov.size() +
                            decision.inputs->policies->exposures.size()) +
             " policies\n" + now.text);
    last_ = std::move(now.text);
  }

 private:
  LineWriter& out_;
  std::string last_;
};

// Log: turns of the loop that took long.
void tell_of_long_turns(HostProcess& process) {
  process.loop.on_long_turn([&process](const reactor::LongTurn& turn) {
    process.log->warning("a turn of the loop took long; everything else waited",
                         {{"took_ms", turn.took.count()},
                          {"on_cpu_ms", turn.on_cpu.count()},
                          {"longest", turn.what},
                          {"longest_ms", turn.what_took.count()},
                          {"not_told_before", turn.unsaid}});
  });
}

// Those that can be caught, as long as this lives.
class Signals {
 public:
  explicit Signals(HostProcess& process) : process_(process) {}
  void on(int number, reactor::Task task) {
    if (auto signal = reactor::Signal::open(process_.loop, number, std::move(task)))
      signals_.push_back(std::move(*signal));
    else
      process_.log->warning("a signal cannot be caught", {{"signal", number}});
  }

 private:
  HostProcess& process_;
  std::vector<std::unique_ptr<reactor::Signal>> signals_;
};

// No more is taken; what was begun is done, as far as that takes no longer than it may.
void drain(HostProcess& process, KubeletPlugin& plugin) {
  plugin.take_no_more();
  if (plugin.idle()) return;
  process.log->info("ends when what is being prepared is done");
  if (!process.run_until([&] { return plugin.idle(); }, kPluginDrainMax))
    process.log->warning("a claim was still being prepared; who serves this node next completes it");
}

// What --until-configured names, told to the daemon; null: nothing, or what it sees by itself.
std::unique_ptr<configured::Sign> watch_sign(HostProcess& process, const config::Options& options,
                                             daemon::Daemon& daemon) {
  using How = config::ConfiguredBy::How;
  const How how = options.until_configured.how;
  if (how == How::kNothing || how == How::kNodeState) return nullptr;
  auto held = std::make_shared<configured::Sign*>(nullptr);
  auto sign = make_sign(process, options, options.until_configured, /*goes_on=*/true,
                        [held, &daemon] { daemon.await_configuration((*held)->awaited()); });
  *held = sign.get();
  daemon.await_configuration(sign->awaited());
  return sign;
}

// Ports, daemon, interlock and signals, joined, until a signal ends them. The interlock goes when no worker writes
// any more, or with the process.
int serve(HostProcess& process, const config::Options& options, const std::vector<std::string>& arguments,
          const std::string& lock_directory, reactor::ServiceAddress service_address) {
  config::Options running = options;
  Display display(process.out);
  bool stopping = false;
  reactor::Ticket trim;
  std::unique_ptr<KubeletPlugin> plugin;
  std::unique_ptr<Service> service;
  std::unique_ptr<StatusDoor> status;
  std::unique_ptr<Telling> telling;
  daemon::Ports ports = process.daemon_ports(/*live_events=*/true);
  ports.boot = boot_of(process, running);
  daemon::Daemon daemon(std::move(ports), running, [&](const policy::Decision& decision) {
    if (running.show) display.show(decision);
    if (plugin) plugin->on_decided();
    if (service) service->on_decided();
    if (status) status->on_decided();
    if (telling) telling->on_decided();
    // A list or a large write leaves free memory behind that nobody needs before the
    // next one.
    trim = process.loop.scheduler().after(kTrimAfter, [] { malloc_trim(0); });
  });
  service = std::make_unique<Service>(process, std::move(service_address), daemon);
  plugin = open_kubelet_plugin(process, running, daemon);
  if (!plugin && config::has_api_server(running.cluster))
    process.log->warning(
        "kubelet plugin off: devices are published, and pods with claims do not start on this node",
        {{"remedy", "--kubelet-plugin on, unless another program serves the kubelet for these drivers"}});
  NodeLocks locks(process, running, lock_directory, [&] {
    if (stopping) return;
    service->on_writer();
    if (telling) telling->permit();
    // What pods have looks as if it had changed: nothing is written before that is known.
    if (plugin)
      return plugin->start([&] {
        std::set<std::string> others;
        for (const auto& [driver, where] : plugin->other_programs()) others.insert(driver);
        daemon.permit_writes(!stopping && plugin->is_known(), std::move(others));
        if (telling) telling->on_decided();
      });
    daemon.permit_writes(true);
  });
  const auto sign = watch_sign(process, running, daemon);
  status = std::make_unique<StatusDoor>(process, running, lock_directory, daemon, locks, plugin.get(),
                                        [&](status::Metrics& into) {
                                          if (telling) telling->add_to(into);
                                        });
  telling = std::make_unique<Telling>(process, running, daemon, status->history(), plugin.get());
  if (locks.acquired()) telling->permit();
  Signals signals(process);
  signals.on(SIGTERM, [&] { process.loop.stop(); });
  signals.on(SIGINT, [&] { process.loop.stop(); });
  signals.on(SIGHUP, [&] {
    service->on_reloading();
    if (reload(process, running, arguments)) daemon.reload(running);
    service->on_reloaded();
  });
  // Whatever ran before this in a container may have left processes behind.
  auto reaper = reactor::OrphanReaper::open_for_init(process.loop);
  if (!reaper) process.log->warning("orphans are not reaped", {{"why", reaper.error().what}});
  if (sign) sign->start();
  daemon.start();
  telling->start();
  service->start();
  process.run();
  stopping = true;
  service->on_stopping();
  daemon.permit_writes(false);
  telling.reset();
  if (plugin) drain(process, *plugin);
  status.reset();  // it reads the plugin; and its file goes, also where the process leaves without us
  plugin.reset();
  if (!process.run_until([&] { return daemon.idle(); }, kDrainMax))
    process.log->warning("a write was not answered in time");
  process.log->info("stopping; slices stay as they are", {{"node", running.node_name}});
  return process.leave(kExitSame);
}

}  // namespace

int run(const config::Options& options, const std::vector<std::string>& arguments) {
  reactor::ServiceAddress service_address = reactor::take_service_address();
  const auto lock_directory = NodeLocks::prepare(options);
  if (!lock_directory) return complain(lock_directory.error().what), kExitError;
  auto process = HostProcess::open(options);
  if (!process) return complain(process.error().what), kExitError;
  tell_of_long_turns(**process);
  (*process)->log->info("starting", {{"version", SLICED_VERSION},
                                     {"node", options.node_name},
                                     {"cluster", (*process)->cluster->describe()},
                                     {"namespace", options.namespace_},
                                     {"host", options.host_root}});
  return serve(**process, options, arguments, *lock_directory, std::move(service_address));
}

}  // namespace sliced::cli
