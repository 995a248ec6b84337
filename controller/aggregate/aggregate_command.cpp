#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/aggregate/aggregator.h"
#include "controller/aggregate/election.h"
#include "controller/commands.h"
#include "daemon/process.h"
#include "daemon/process_metrics.h"
#include "daemon/status/listeners.h"
#include "daemon/status/probe.h"
#include "daemon/status/service_metrics.h"
#include "reactor/signal.h"

namespace sliced::controller {
namespace {

constexpr const char* kLease = "sliced-aggregate";
constexpr Millis kResignMax{1'500};  // time for releasing the Lease

// Returns "2026-11-21T00:17:41Z"; with_micros, as in Leases: "2026-11-21T00:17:41.296000Z".
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

// Returns the identity of this process. A restarted pod has another one.
std::string identity_of(const config::Options& options) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return (options.pod_name.empty() ? std::string(host) : options.pod_name) + "_" +
         std::to_string(::getpid()) + "_" + std::to_string(::time(nullptr));
}

// The election, and the aggregator while elected.
struct AggregateState {
  const aggregate::Election& election;
  const std::unique_ptr<aggregate::Aggregator>& aggregator;
  /// Counts of aggregators of earlier elections.
  const aggregate::Aggregator::Counters& before;
};

// Returns the checks of readiness: the Lease is read, and an elected process has listed all sources.
std::vector<status::Check> aggregate_readiness(const AggregateState& state) {
  const aggregate::Election& election = state.election;
  const std::string lease = !election.last_failure().empty() ? election.last_failure()
                            : election.holder().empty()      ? "it has not been read yet"
                                                             : "";
  return {{"lease", lease, "held by " + election.holder()},
          {"reports", state.aggregator ? state.aggregator->waits_for() : "",
           state.aggregator ? "" : "another one sums them up"}};
}

aggregate::Aggregator::Counters sum_of_counters(aggregate::Aggregator::Counters all,
                                                const aggregate::Aggregator::Counters& more) {
  all.sums += more.sums;
  all.written += more.written;
  all.failed += more.failed;
  return all;
}

status::AggregateMetrics aggregate_metrics(const daemon::Process& process, const AggregateState& state) {
  status::AggregateMetrics out{.version = SLICED_VERSION,
                               .process = daemon::process_metrics(process),
                               .is_ready = status::are_passed(aggregate_readiness(state)),
                               .is_elected = state.election.is_elected()};
  aggregate::Aggregator::Counters counters = state.before;
  if (const aggregate::Aggregator* now = state.aggregator.get()) {
    counters = sum_of_counters(counters, now->counters());
    out.reports = now->nodes();
    for (const auto& [kind, count] : now->policies()) out.policies[kind] = count;
    for (const auto& [kind, count] : now->invalid_policies()) out.invalid[kind] = count;
    out.pending = now->pending();
    out.yielded = now->yielded();
    out.leases = now->silent_nodes().leases();
    out.silent = now->silent_nodes().silent();
    out.outdated = now->outdated();
    for (const auto& [state, count] : now->kubelet_plugins()) out.plugins[state] = count;
  }
  out.sums = counters.sums;
  out.written = counters.written;
  out.failed = counters.failed;
  return out;
}

status::Pages aggregate_pages(const daemon::Process& process, const AggregateState& state) {
  const status::ShortPages pages =
      status::service_pages([state] { return aggregate_readiness(state); },
                            [&process, state] { return exposition_of(aggregate_metrics(process, state)); });
  return {pages.begin(), pages.end()};
}

void serve(daemon::Process& process, const config::Options& options) {
  const kube::ClusterPorts ports{*process.cluster, process.loop.scheduler(), *process.log,
                                 reactor::system_random()};
  std::unique_ptr<aggregate::Aggregator> aggregator;
  aggregate::Aggregator::Counters before;
  // A process that is not elected only reads the Lease.
  aggregate::Election election(
      ports, {options.namespace_, kLease, identity_of(options), [] { return utc_now(true); }},
      [&](bool elected) {
        if (aggregator) before = sum_of_counters(before, aggregator->counters());
        aggregator.reset();
        if (!elected) return;
        aggregator = std::make_unique<aggregate::Aggregator>(
            ports, aggregate::Aggregator::Settings{.namespace_ = options.namespace_,
                                                   .now = [] { return utc_now(false); },
                                                   .event_time = [] { return utc_now(true); },
                                                   .version = SLICED_VERSION});
        aggregator->start();
      });
  std::optional<status::StatusListeners> door;
  if (const auto address = daemon::endpoint_of(options.health_address))
    door.emplace(status::StatusListenerDeps{process.loop, *process.log,
                                            [] { return static_cast<int64_t>(std::time(nullptr)); }},
                 status::StatusListeners::Places{.directory = "", .pod_uid = "", .address = address},
                 status::serve_pages(aggregate_pages(process, {election, aggregator, before})));
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
  auto opened = daemon::Process::open(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  (*opened)->log->info("starting", {{"version", SLICED_VERSION},
                                    {"cluster", (*opened)->cluster->describe()},
                                    {"namespace", options.namespace_}});
  serve(**opened, options);
  return (*opened)->leave(daemon::kExitSame);
}

}  // namespace sliced::controller
