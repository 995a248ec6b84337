#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "controller/commands.h"
#include "controller/webhook/server.h"
#include "daemon/process.h"
#include "daemon/process_metrics.h"
#include "daemon/status/listeners.h"
#include "daemon/status/probe.h"
#include "daemon/status/service_metrics.h"
#include "reactor/signal.h"
#include "reactor/thread_executor.h"

namespace sliced::controller {
namespace {

constexpr Millis kAnswersMax{2'000};  // for connected clients at the end
constexpr size_t kSelectorWorkers = 2;

status::WebhookMetrics webhook_metrics(const daemon::Process& process, const webhook::Server& server) {
  const webhook::Admission& admission = server.admission();
  const webhook::Admission::Counters& counters = admission.counters();
  return {.version = SLICED_VERSION,
          .process = daemon::process_metrics(process),
          .is_ready = status::are_passed(server.readiness()),
          .certificate_ends = server.certificate_ends(),
          .reviews = {{"admitted", counters.admitted},
                      {"refused", counters.refused},
                      {"not-applicable", counters.not_ours},
                      {"not-checked", counters.unjudged},
                      {"failed", counters.failed}},
          .took = counters.took,
          .waiting = admission.reviews(),
          .body_bytes = admission.bytes()};
}

// Served at another address than reviews, because the pages contain data that no request contains.
status::Pages webhook_pages(const daemon::Process& process, const webhook::Server& server) {
  const status::ShortPages pages =
      status::service_pages([&server] { return server.readiness(); },
                            [&process, &server] { return exposition_of(webhook_metrics(process, server)); });
  return {pages.begin(), pages.end()};
}

void serve(daemon::Process& process, reactor::Executor& selectors, const cli::Invocation& invocation) {
  config::Options running = invocation.options;
  webhook::Server server({process.loop, *process.executor, selectors, *process.log,
                          [] { return static_cast<int64_t>(std::time(nullptr)); }},
                         {*daemon::endpoint_of(running.webhook_address),
                          {running.tls_cert_file, running.tls_private_key_file, ""}},
                         {running.sriov_driver_name, running.exposure_driver_name, running.namespace_});
  std::optional<status::StatusListeners> door;
  if (const auto address = daemon::endpoint_of(running.health_address))
    door.emplace(status::StatusListenerDeps{process.loop, *process.log,
                                            [] { return static_cast<int64_t>(std::time(nullptr)); }},
                 status::StatusListeners::Places{.directory = "", .pod_uid = "", .address = address},
                 status::serve_pages(webhook_pages(process, server)));
  const reactor::Task end = [&] { server.shut_down(kAnswersMax, [&] { process.loop.stop(); }); };
  const reactor::Task again = [&] { reload(process, running, invocation.arguments); };
  std::vector<std::unique_ptr<reactor::Signal>> signals;
  for (const auto& [number, task] :
       {std::pair(SIGTERM, &end), std::pair(SIGINT, &end), std::pair(SIGHUP, &again)})
    if (auto signal = reactor::Signal::open(process.loop, number, *task))
      signals.push_back(std::move(*signal));
    else
      process.log->warning("signal handler not installed", {{"signal", number}});
  process.run();
  process.log->info("stopping");
}

}  // namespace

int webhook(const cli::Invocation& invocation) {
  const auto process = daemon::Process::open_bare(invocation.options);
  process->log->info("starting", {{"version", SLICED_VERSION},
                                  {"address", invocation.options.webhook_address},
                                  {"certificate", invocation.options.tls_cert_file}});
  reactor::ThreadExecutor selectors(process->loop, {.workers = kSelectorWorkers});
  serve(*process, selectors, invocation);
  return process->leave(daemon::kExitSame, selectors.busy());
}

}  // namespace sliced::controller
