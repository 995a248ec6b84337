#include <csignal>
#include <optional>

#include "cli/commands.h"
#include "cli/recorded_process.h"
#include "daemon/configured_signals.h"
#include "daemon/host_process.h"
#include "reactor/base/duration.h"
#include "reactor/signal.h"

namespace sliced::cli {
namespace {

constexpr int kExitTimeout = 2;
constexpr int kExitOfSignal = 128;  // and the signal's number, as shells have it

}  // namespace

// Handles signals, because the kernel's default action does not end process 1 of a container.
int wait_for_config(const config::Options& options) {
  using How = config::ConfiguredBy::How;
  config::ConfiguredBy by = options.wait_for;
  if (by.how == How::kNothing) by.how = How::kAnnotation;
  auto opened = by.how == How::kFile ? open_host_process(options) : open_process(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::HostProcess& process = **opened;
  std::optional<int> exit;
  const auto end = [&](int code) {
    exit = exit.value_or(code);
    process.loop.stop();
  };
  {
    std::unique_ptr<configured::ConfiguredSignal> sign;
    sign = daemon::make_configured_signal(process, options, by, /*is_daemon=*/false, [&] {
      if (sign->is_seen()) return end(daemon::kExitSame);
      if (!sign->given_up().empty()) {
        daemon::print_error("wait-for-config: " + sign->given_up());
        end(daemon::kExitError);
      }
    });
    std::vector<std::unique_ptr<reactor::Signal>> signals;
    for (const int number : {SIGTERM, SIGINT}) {
      auto signal =
          reactor::Signal::open(process.loop, number, [end, number] { end(kExitOfSignal + number); });
      if (signal) signals.push_back(std::move(*signal));
    }
    reactor::Ticket late;
    if (options.wait_timeout > Millis{0})
      late = process.loop.scheduler().after(options.wait_timeout, [&] {
        daemon::print_error("wait-for-config: not configured within " +
                            format_duration(options.wait_timeout) + ": " + sign->awaited());
        end(kExitTimeout);
      });
    sign->start();
    while (!exit) process.run();
  }
  return process.leave(*exit);
}

}  // namespace sliced::cli
