#include "daemon/status_server.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "daemon/node_report_builder.h"
#include "daemon/prepared_page.h"
#include "daemon/process_metrics.h"
#include "daemon/status/guard.h"
#include "daemon/status/pages.h"
#include "daemon/status/verdict_table.h"
#include "daemon/verdicts.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr size_t kHistoryPieceBytes = 32u << 10;
constexpr size_t kVerdictsAtOnce = 2;  // of the executor's workers, which others need too

status::Report::Driver driver_of(const PoolPublisher& offer, TimePoint now) {
  const publishers::Publisher& publisher = offer.publisher();
  status::Report::Driver out{.name = offer.driver(),
                             .slices = publisher.observed().size(),
                             .is_settled = publisher.converged(),
                             .writes = publisher.writes(),
                             .failure = publisher.last_failure()};
  if (const auto& at = publisher.counters().stored_at)
    out.since_taken = std::chrono::duration_cast<Millis>(now - *at);
  for (const policy::DesiredPool& pool : publisher.desired()) out.entries += pool.devices.size();
  return out;
}

std::string name_of(kube::Verb verb) {
  return verb == kube::Verb::kCreate ? "create" : verb == kube::Verb::kUpdate ? "update" : "delete";
}

std::string name_of(publishers::Publisher::WriteResult answered) {
  switch (answered) {
    case publishers::Publisher::WriteResult::kStored:
      return "succeeded";
    case publishers::Publisher::WriteResult::kConflict:
      return "conflict";
    case publishers::Publisher::WriteResult::kRefused:
      return "refused";
    case publishers::Publisher::WriteResult::kFailed:
      break;
  }
  return "failed";
}

status::Metrics::Driver counts_of(const PoolPublisher& offer) {
  const publishers::Publisher::Counters& counters = offer.publisher().counters();
  status::Metrics::Driver out{
      .name = offer.driver(), .took = counters.took, .failed_syncs = counters.failed_syncs};
  // Prometheus does not see growth in a series that begins above 0, so series for alerts exist from the
  // start.
  auto writes = counters.writes;
  for (const kube::Verb verb : {kube::Verb::kCreate, kube::Verb::kUpdate, kube::Verb::kDelete})
    writes[{verb, publishers::Publisher::WriteResult::kRefused}];
  for (const auto& [key, count] : writes)
    out.writes.push_back({name_of(key.first), name_of(key.second), count});
  return out;
}

}  // namespace

std::variant<status::Answer, status::Fragments> verdicts_page(const Daemon& daemon, std::string_view query) {
  if (daemon.decision() == nullptr)
    return status::Answer{.status = 503,
                          .body = "no decision yet; waits for " + join(daemon.waiting_for(), "; ") + "\n"};
  if (query.empty()) {
    const auto list = std::make_shared<VerdictList>(snapshot_of(daemon));
    return status::Fragments{"application/json", [list] { return list->next(); }};
  }
  const std::string name = status::query_value(query, "device");
  const auto id = policy::find_device(*daemon.decision()->inputs->inventory, name);
  if (!id && id.error().code != Errc::kNotFound)
    return status::Answer{.status = 409, .body = id.error().what + "\n"};
  if (!id)
    return status::Answer{
        .status = 404,
        .body =
            "this host has no device " + in_quotes(name) +
            "; /verdicts?device=NAME accepts a PCI address, a device name or an interface name, /verdicts shows all devices\n"};
  return status::Fragments{
      "application/json", [snapshot = snapshot_of(daemon), id = *id, is_made = false]() mutable {
        if (std::exchange(is_made, true)) return std::string();
        return kube::encode_json_pretty(status::json_of(explain_as_published(snapshot, id)));
      }};
}

status::Fragments history_page(const status::History& history, std::string_view query) {
  return {"application/json", [all = history.all(), name = status::query_value(query, "name"), at = size_t{0},
                               is_first = true, is_over = false]() mutable {
            if (is_over) return std::string();
            std::string out = at == 0 ? R"({"items":[)" : "";
            for (; at < all.size() && out.size() < kHistoryPieceBytes; ++at) {
              if (!status::is_about(all[at]->change, name)) continue;
              out += (std::exchange(is_first, false) ? "\n" : ",\n") +
                     kube::encode_json(status::json_of(*all[at]));
            }
            is_over = at == all.size();
            return is_over ? out + "\n]}\n" : out;
          }};
}

status::Metrics::Problems problems_in(const Daemon& daemon) {
  status::Metrics::Problems out;
  const policy::Decision* decision = daemon.decision();
  if (decision == nullptr) return out;
  daemon.for_each_policy_problem([&](const std::string&) { ++out.all; });
  out.all += decision->notes.size();
  const policy::PolicySet& set = *decision->inputs->policies;
  for (size_t i = 0; i < set.sriov.size(); ++i)
    if (!problems_of(*set.sriov[i]).empty() || decision->sriov_problems.contains(static_cast<int32_t>(i)))
      ++out.sriov;
  for (size_t i = 0; i < set.exposures.size(); ++i)
    if (!set.exposures[i]->problems.empty() ||
        selector_problem(*decision, static_cast<int32_t>(i)) != nullptr ||
        decision->exposure_problems.contains(static_cast<int32_t>(i)))
      ++out.exposures;
  for (const auto& one : set.attributes)
    if (!one->problems.empty()) ++out.attributes;
  return out;
}

// Returns a label of sliced_nri; "" in mode MULTUS.
std::string nri_state(kubelet::Interfaces::Connection connection, bool is_problem) {
  switch (connection) {
    case kubelet::Interfaces::Connection::kUnused:
      return "unused";
    case kubelet::Interfaces::Connection::kPending:
      return "connecting";
    case kubelet::Interfaces::Connection::kConnected:
      return "connected";
    case kubelet::Interfaces::Connection::kFailed:
      return is_problem ? "missing" : "not-needed";
  }
  return "";
}

status::Metrics metrics_of(const Daemon& daemon) {
  status::Metrics out;
  out.problems = problems_in(daemon);
  const Decider::Counters& decisions = daemon.decisions();
  out.decided = decisions.decided;
  out.overtaken = decisions.overtaken;
  out.late = decisions.late;
  out.coalesced = decisions.coalesced;
  out.decisions = decisions.took;
  for (const PoolPublisher& offer : daemon.offers()) out.drivers.push_back(counts_of(offer));
  daemon.for_each_source([&](const std::string& name, const watchers::Source& source) {
    const watchers::WatchEnds& ends = source.watch_ends();
    const std::string by = status::source_name({.name = name});
    for (const auto& [reason, count] : {std::pair{"closed", ends.closed},
                                        {"failed", ends.failed},
                                        {"expired", ends.expired},
                                        {"silent", ends.silent}})
      out.watch_ends.push_back({by, reason, count});
  });
  const hotplug::HostSource::Counters& host = daemon.host_counters();
  out.host_events = host.events;
  out.host_losses = host.overflows;
  out.host_differences = host.missed;
  out.hung_reads = host.hung_reads;
  out.whole_scans = host.full_scans;
  out.partial_scans = host.partial_scans;
  return out;
}

status::Report report_of(const Daemon& daemon) {
  status::Report out;
  const bool is_read = daemon.host_inventory()->version != 0;
  out.sources.push_back({.name = "host",
                         .state = is_read ? "live" : "starting",
                         .why = is_read ? "" : "being read",
                         .has_synced = is_read,
                         .is_of_cluster = false});
  daemon.for_each_source([&](const std::string& name, const watchers::Source& source) {
    const watchers::SyncState& sync = source.sync_state();
    out.sources.push_back({.name = name,
                           .state = std::string(watchers::describe(sync.state)),
                           .why = sync.why,
                           .has_synced = sync.known});
  });
  if (const watchers::Source* node_states = daemon.node_state().source()) {
    const watchers::SyncState& sync = node_states->sync_state();
    out.sources.push_back({.name = "node state",
                           .state = std::string(watchers::describe(sync.state)),
                           .why = sync.why,
                           .has_synced = sync.known,
                           .is_waited_for = false});
    if (daemon.decision() != nullptr) {
      const policy::NodeState& now = daemon.decision()->inputs->node_state;
      out.is_node_state_in_sync = now.is_known && now.out_of_sync.empty();
    }
  }
  if (const policy::Decision* decision = daemon.decision()) {
    out.summary = policy::summarize(*decision);
    for (const auto& [reason, devices] : decision->unready)
      out.waits.push_back(policy::text_of(reason, devices));
    for (const std::string& one : decision->waits) out.waits.push_back("waits for " + one);
    const auto say = [&](const std::string& problem) {
      if (out.problems.size() < status::kStatusProblemsMax)
        out.problems.push_back(problem);
      else
        ++out.more_problems;
    };
    daemon.for_each_policy_problem(say);
    for (const std::string& note : decision->notes) say(note);
    out.more_problems += decision->notes.more();
  }
  if (daemon.decision() == nullptr) out.waiting_for = daemon.waiting_for();
  out.is_serving = daemon.is_permitted();
  out.awaits_configuration = daemon.awaits_configuration();
  for (const PoolPublisher& offer : daemon.offers()) out.drivers.push_back(driver_of(offer, daemon.now()));
  return out;
}

StatusServer::StatusServer(Process& process, const config::Options& options, const std::string& directory,
                           Daemon& daemon, const NodeLocks& locks, const KubeletPlugin* plugin,
                           const ClusterReporter& reporter, status::History& history)
    : process_(process),
      options_(options),
      daemon_(daemon),
      locks_(locks),
      plugin_(plugin),
      reporter_(reporter),
      history_(history),
      page_(*process.executor, process.loop.scheduler(), *this),
      began_(process.loop.now()),
      door_({process.loop, *process.log, [] { return static_cast<int64_t>(std::time(nullptr)); }},
            {directory, options.pod_uid, endpoint_of(options.health_address)}, serve()) {}

void StatusServer::on_offer_change(const policy::OfferChange& change) {
  history_.add(status::wall_ms(), change);
  page_.on_change(*history_.all().back());
}

// Pages with names are protected from other origins; probes and Prometheus use any host name.
http::Serve StatusServer::serve() {
  return status::guarded(status::serve_pages(pages()), {lower(options_.node_name)}, status::nameless_pages());
}

std::optional<VerdictSnapshot> StatusServer::verdicts() const {
  if (daemon_.decision() == nullptr) return std::nullopt;
  return snapshot_of(daemon_);
}

PreparedFor StatusServer::prepared() const {
  return plugin_ == nullptr ? PreparedFor{} : prepared_for(plugin_->prepared());
}

// Starts at the wall clock, so that a page from before a restart detects the other process.
uint64_t StatusServer::moment() const {
  uint64_t out = static_cast<uint64_t>(began_ms_) + daemon_.decisions().decided;
  for (const PoolPublisher& offer : daemon_.offers()) {
    for (const auto& [key, count] : offer.publisher().counters().writes) out += count;
  }
  if (plugin_ != nullptr)
    for (const auto& [driver, counts] : plugin_->counts()) out += counts.prepared + counts.unprepared;
  return out;
}

status::Pages StatusServer::pages() {
  status::Pages out;
  for (auto& [path, page] :
       status::status_pages([this] { return report(); }, [this] { return exposition(); }))
    out[path] = std::move(page);
  out["/verdicts"] =
      status::in_fragments({*process_.executor, process_.loop.scheduler()}, kVerdictsAtOnce,
                           [this](std::string_view query) { return verdicts_page(daemon_, query); });
  out["/history"] =
      status::in_fragments({*process_.executor, process_.loop.scheduler()}, kVerdictsAtOnce,
                           [this](std::string_view query) { return history_page(history_, query); });
  out["/prepared"] = [this](std::string_view) -> status::Answer {
    const bool is_known = plugin_ == nullptr || plugin_->is_known();
    if (!is_known || !daemon_.is_permitted())
      return {.status = 503,
              .body = "which devices are prepared is not known yet, or another daemon serves\n"};
    return {
        .body = prepared_page(daemon_.host_inventory()->boot_id,
                              plugin_ == nullptr ? kubelet::PreparedClaims{} : plugin_->prepared(), options_,
                              plugin_ == nullptr ? policy::NotReturnedDevices{} : plugin_->unrestored()),
        .content_type = "application/json"};
  };
  page_.add_to(out);
  return out;
}

std::string StatusServer::exposition() const {
  status::Metrics metrics = metrics_of(daemon_);
  metrics.process = process_metrics(process_);
  if (plugin_ != nullptr) {
    metrics.attaches = plugin_->attaches();
    // Devices that are not returned and a missing NRI have metrics and alerts of their own.
    metrics.problems.all += plugin_->unknown_macs().size() + plugin_->settings_problems().size();
    metrics.nri = nri_state(plugin_->connection(), !plugin_->connection_problem().empty());
    metrics.not_returned = plugin_->not_returned().size();
    std::map<std::string, uint64_t> prepared;
    for (const auto& [key, claim] : plugin_->prepared()) ++prepared[key.first];
    kubelet::CountedPreparer::ByDriver calls = plugin_->counts();
    for (const PoolPublisher& offer : daemon_.offers()) calls[offer.driver()];  // also before the first call
    for (const auto& [driver, counts] : calls)
      metrics.claims.push_back({driver,
                                {{"prepare", "succeeded", counts.prepared},
                                 {"prepare", "failed", counts.not_prepared},
                                 {"unprepare", "succeeded", counts.unprepared},
                                 {"unprepare", "failed", counts.not_unprepared}},
                                counts.prepare,
                                prepared[driver],
                                plugin_->failing(driver)});
  }
  reporter_.add_to(metrics);
  return exposition_of(report(), metrics);
}

status::Report StatusServer::report() const {
  status::Report out = report_of(daemon_);
  out.version = SLICED_VERSION;
  out.node = options_.node_name;
  out.cluster = process_.cluster->describe();
  out.pod_uid = options_.pod_uid;
  out.pid = ::getpid();
  out.up = process_.loop.now() - began_;
  const PluginState plugin = state_of(plugin_);
  if (plugin_ != nullptr || config::has_api_server(options_.cluster))
    out.kubelet_plugin = kubelet_plugin_state(daemon_, plugin);
  out.kubelet_plugin_waits_for = plugin.other;
  out.unknown_macs = plugin.unknown_macs;
  out.settings_problems = plugin.settings_problems;
  out.not_returned = plugin.not_returned;
  out.connection_problem = plugin.connection_problem;
  out.dropped_fields = daemon_.dropped_fields();
  if (!out.is_serving)
    out.stands_by_for = !plugin.other.empty()     ? "another program serves " + plugin.other
                        : locks_.acquired()       ? "the devices of running pods are being read"
                        : locks_.holder().empty() ? "the lock of this driver and node"
                                                  : "another instance is active (" + locks_.holder() + ")";
  return out;
}

}  // namespace sliced::daemon
