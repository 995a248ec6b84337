#include <malloc.h>

#include <csignal>
#include <ctime>

#include "cli/commands.h"
#include "cli/node_locks.h"
#include "cli/process.h"
#include "cli/show.h"
#include "policy/explain.h"
#include "reactor/orphans.h"
#include "reactor/signal.h"
#include "reactor/turn_watch.h"

namespace sliced::cli {
namespace {

// A write that is on its way is waited for: cut off, nobody would know whether it happened.
constexpr Millis kDrainMax{1'500};

constexpr Millis kTrimAfter{2'000};

// The device table, printed when it differs from the last one.
class Display {
 public:
  explicit Display(LineWriter& out) : out_(out) {}
  void show(const policy::Decision& decision) {
    VerdictsTable now = verdicts_table(decision);
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

}  // namespace

int run(const config::Options& options, const std::vector<std::string>& arguments) {
  const auto lock_directory = NodeLocks::prepare(options);
  if (!lock_directory) return complain(lock_directory.error().what), kExitError;
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  config::Options running = options;
  Display display(process.out);
  process.loop.on_long_turn([&](const reactor::LongTurn& turn) {
    process.log->warning("a turn of the loop took long; everything else waited",
                         {{"took_ms", turn.took.count()},
                          {"on_cpu_ms", turn.on_cpu.count()},
                          {"longest", turn.what},
                          {"longest_ms", turn.what_took.count()},
                          {"not_told_before", turn.unsaid}});
  });
  process.log->info("starting", {{"version", SLICED_VERSION},
                                 {"node", options.node_name},
                                 {"cluster", process.cluster->describe()},
                                 {"namespace", options.namespace_},
                                 {"host", options.host_root}});
  {
    bool stopping = false;
    reactor::Ticket trim;
    Daemon daemon(process.daemon_ports(/*live_events=*/true), options, [&](const policy::Decision& decision) {
      if (running.show) display.show(decision);
      // A list or a large write leaves free memory behind that nobody needs before the next one.
      trim = process.loop.scheduler().after(kTrimAfter, [] { malloc_trim(0); });
    });
    NodeLocks locks(process, options, *lock_directory, [&] { daemon.permit_writes(!stopping); });
    const auto reload = [&] {
      const config::Reloaded again = config::reload(running, arguments, config::process_surroundings());
      for (const std::string& problem : again.problems)
        process.log->error("configuration not reloaded", {{"problem", problem}});
      if (!again.problems.empty()) return;
      for (const std::string& name : again.needs_restart)
        process.log->warning("option changed in the file but takes effect at the next start only",
                             {{"option", name}});
      running = again.options;
      process.log->set_level(running.log_level);
      process.log->info("configuration reloaded", {{"changed", again.changed.size()}});
      daemon.reload(running);
    };
    std::vector<std::unique_ptr<reactor::Signal>> signals;
    const auto on = [&](int number, reactor::Task task) {
      if (auto signal = reactor::Signal::open(process.loop, number, std::move(task)))
        signals.push_back(std::move(*signal));
      else
        process.log->warning("a signal cannot be caught", {{"signal", number}});
    };
    // Whatever ran before this in a container may have left processes behind.
    auto reaper = reactor::OrphanReaper::open_for_init(process.loop);
    if (!reaper) process.log->warning("orphans are not reaped", {{"why", reaper.error().what}});
    on(SIGTERM, [&] { process.loop.stop(); });
    on(SIGINT, [&] { process.loop.stop(); });
    on(SIGHUP, reload);
    daemon.start();
    process.run();
    stopping = true;
    daemon.permit_writes(false);
    if (!process.run_until([&] { return daemon.idle(); }, kDrainMax))
      process.log->warning("a write was not answered in time");
    process.log->info("stopping; slices stay as they are", {{"node", options.node_name}});
  }
  return process.leave(kExitSame);
}

}  // namespace sliced::cli
