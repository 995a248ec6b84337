#include "daemon/cluster_reporter.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>

namespace sliced::daemon {
namespace {

reports::LastChange last_change_in(const status::History& history) {
  const auto all = history.all();
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const status::PastChangePtr& past) {
    return past->change.kind != policy::OfferChange::Kind::kFound;
  });
  if (last == all.rend()) return {};
  const policy::OfferChange& change = (*last)->change;
  return {.time = status::utc_text((*last)->at_ms),
          .change = std::string(name_of(change.kind)),
          .devices = static_cast<int64_t>(change.devices.size() + change.left_out),
          .policy = change.policy,
          .why = change.why};
}

// In microseconds, as Events have them.
std::string utc_micros() {
  std::string out = status::utc_text(status::wall_ms());
  return out.insert(out.size() - 1, "000");
}

// plugin: null if it is off. Pods of claims that were only read are unknown.
ClaimsByDevice allocated(const KubeletPlugin* plugin, const policy::Ledger& ledger) {
  ClaimsByDevice out;
  if (plugin != nullptr) out = claims_by_device(plugin->prepared());
  for (const auto& [device, claims] : ledger.known_claims()) {
    ClaimWithPods& holder = out[device];
    if (!holder.claim.empty()) continue;
    for (const std::string& claim : claims) holder.claim += (holder.claim.empty() ? "" : ", ") + claim;
  }
  return out;
}

}  // namespace

ClusterReporter::ClusterReporter(Process& process, const config::Options& options, Daemon& daemon,
                                 const status::History& history, const KubeletPlugin* plugin)
    : subscription_(daemon.observers(), *this) {
  if (!config::has_api_server(options.cluster)) return;
  const kube::ClusterPorts ports{*process.cluster, process.loop.scheduler(), *process.log,
                                 reactor::system_random()};
  if (options.report == config::Switch::kOn)
    reports_ = std::make_unique<NodeReportBuilder>(
        NodeReportBuilder::Dependencies{.ports = ports,
                                        .executor = *process.executor,
                                        .daemon = daemon,
                                        .node = options.node_name,
                                        .last_change = [&history] { return last_change_in(history); },
                                        .plugin = [plugin] { return state_of(plugin); }});
  if (options.report == config::Switch::kOn)
    lease_ = std::make_unique<reports::NodeLeaseWriter>(
        ports, reports::NodeLeaseWriter::Settings{.namespace_ = options.namespace_,
                                                  .node = options.node_name,
                                                  .node_uid = [&daemon] { return daemon.owner_uid(); },
                                                  .now = utc_micros});
  if (options.events == config::Switch::kOn)
    events_ = std::make_unique<NodeEvents>(NodeEvents::Dependencies{
        .ports = ports,
        .executor = *process.executor,
        .daemon = daemon,
        .node = options.node_name,
        .now = utc_micros,
        .allocated = [plugin, &daemon] { return allocated(plugin, daemon.ledger()); },
        .ignored =
            [plugin] {
              return plugin == nullptr ? std::vector<PodWithIgnored>()
                                       : pods_with_ignored(plugin->with_ignored());
            },
        .past = [&history] { return history.all(); }});
}

void ClusterReporter::start() {
  if (reports_) reports_->start();
  if (events_) events_->start();
}

void ClusterReporter::permit(bool writes) {
  if (reports_) reports_->permit(writes);
  if (lease_) lease_->permit(writes);
  if (events_) events_->permit(writes);
}

void ClusterReporter::on_decided(const policy::Decision&) { on_plugin_changed(); }

void ClusterReporter::on_plugin_changed() {
  if (reports_) reports_->on_decided();
  if (events_) events_->on_decided();
}

void ClusterReporter::add_to(status::Metrics& metrics) const {
  if (reports_) {
    const auto& counters = reports_->writer().counters();
    metrics.reports = {.made = counters.made,
                       .succeeded = counters.succeeded,
                       .failed = counters.failed,
                       .bytes = counters.bytes,
                       .is_live = reports_->writer().sync_state().state == watchers::SyncState::State::kLive};
  }
  if (lease_) metrics.lease = {{lease_->counters().renewed, lease_->counters().failed}};
  if (events_) {
    const auto& counters = events_->writer().counters();
    metrics.events = {
        {"succeeded", counters.succeeded}, {"failed", counters.failed}, {"rate-limited", counters.left_out}};
  }
}

}  // namespace sliced::daemon
