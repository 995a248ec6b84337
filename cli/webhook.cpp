#include <csignal>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/process.h"
#include "reactor/signal.h"
#include "webhook/server.h"

namespace sliced::cli {
namespace {

constexpr Millis kAnswersMax{2'000};  // for who is here when it ends

}  // namespace

int webhook(const config::Options& options) {
  const auto process = Process::open_bare(options);
  process->log->info("starting", {{"version", SLICED_VERSION},
                                  {"address", options.webhook_address},
                                  {"certificate", options.tls_cert_file}});
  {
    webhook::Server server(
        {process->loop, *process->executor, *process->log,
         [] { return static_cast<int64_t>(std::time(nullptr)); }},
        {*endpoint_of(options.webhook_address), {options.tls_cert_file, options.tls_private_key_file, ""}},
        {options.sriov_driver_name, options.exposure_driver_name});
    std::vector<std::unique_ptr<reactor::Signal>> signals;
    const auto end = [&] { server.shut_down(kAnswersMax, [&] { process->loop.stop(); }); };
    for (const int number : {SIGTERM, SIGINT})
      if (auto signal = reactor::Signal::open(process->loop, number, end))
        signals.push_back(std::move(*signal));
      else
        process->log->warning("a signal cannot be caught", {{"signal", number}});
    process->run();
    process->log->info("stopping");
  }
  return process->leave(kExitSame);
}

}  // namespace sliced::cli
