#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/process.h"
#include "reactor/signal.h"
#include "reports/aggregator.h"
#include "reports/election.h"
#include "status/door.h"
#include "status/probe.h"

namespace sliced::cli {
namespace {

constexpr const char* kLease = "sliced-aggregate";
constexpr Millis kResignMax{1'500};  // for the word that others need not wait

// "2026-11-21T00:17:41Z"; with_micros, as Leases have it: "2026-11-21T00:17:41.296000Z".
std::string utc_now(bool with_micros) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[64] = "";
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (with_micros)
    std::snprintf(text + length, sizeof text - length, ".%06ldZ", now.tv_nsec / 1'000);
  else
    std::snprintf(text + length, sizeof text - length, "Z");
  return text;
}

// Of this process: a pod that is started again is another one.
std::string identity_of(const config::Options& options) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return (options.pod_name.empty() ? std::string(host) : options.pod_name) + "_" +
         std::to_string(::getpid()) + "_" + std::to_string(::time(nullptr));
}

// Whether the Lease is followed, and whether who is elected has heard all that it sums up.
status::Pages probes(const reports::Election& election,
                     const std::unique_ptr<reports::Aggregator>& aggregator) {
  const auto live = [](std::string_view query) {
    return status::probe_answer("livez", {{"loop", "", ""}}, query);
  };
  const auto ready = [&election, &aggregator](std::string_view query) {
    const std::string lease = !election.last_failure().empty() ? election.last_failure()
                              : election.holder().empty()      ? "it has not been read yet"
                                                               : "";
    return status::probe_answer("readyz",
                                {{"lease", lease, "held by " + election.holder()},
                                 {"reports", aggregator ? aggregator->waits_for() : "",
                                  aggregator ? "" : "another one sums them up"}},
                                query);
  };
  return {{"/livez", live}, {"/readyz", ready}};
}

void serve(Process& process, const config::Options& options) {
  const kube::Ports ports{*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()};
  std::unique_ptr<reports::Aggregator> aggregator;
  // Who is not elected asks for the Lease and for nothing else.
  reports::Election election(
      ports, {options.namespace_, kLease, identity_of(options), [] { return utc_now(true); }},
      [&](bool elected) {
        aggregator.reset();
        if (!elected) return;
        aggregator = std::make_unique<reports::Aggregator>(
            ports, reports::Aggregator::Settings{options.namespace_, [] { return utc_now(false); }});
        aggregator->start();
      });
  std::optional<status::Door> door;
  if (const auto address = endpoint_of(options.health_address))
    door.emplace(status::Door::Ports{process.loop, *process.log,
                                     [] { return static_cast<int64_t>(std::time(nullptr)); }},
                 status::Door::Places{.directory = "", .pod_uid = "", .address = address},
                 status::serve_pages(probes(election, aggregator)));
  std::vector<std::unique_ptr<reactor::Signal>> signals;
  for (const int number : {SIGTERM, SIGINT})
    if (auto signal = reactor::Signal::open(process.loop, number, [&] { process.loop.stop(); }))
      signals.push_back(std::move(*signal));
  election.start();
  process.run();
  bool is_resigned = false;
  election.resign([&] { is_resigned = true; });
  process.run_until([&] { return is_resigned; }, kResignMax);
  process.log->info("stopping");
}

}  // namespace

int aggregate(const config::Options& options) {
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  (*opened)->log->info("starting", {{"version", SLICED_VERSION},
                                    {"cluster", (*opened)->cluster->describe()},
                                    {"namespace", options.namespace_}});
  serve(**opened, options);
  return (*opened)->leave(kExitSame);
}

}  // namespace sliced::cli
