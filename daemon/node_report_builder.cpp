#include "daemon/node_report_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/reports/fill_report.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr Millis kReportEvery{60'000}, kMakingMax{10'000};
constexpr size_t kProblemsTold = 64;

std::vector<reports::PoolReport> pools_of(const Daemon& daemon) {
  std::map<std::pair<std::string, std::string>, reports::PoolReport> pools;
  for (const PoolPublisher& offer : daemon.offers())
    for (const auto& [name, slice] : offer.publisher().observed()) {
      reports::PoolReport& pool = pools[{slice.driver, slice.pool.name}];
      pool.driver = slice.driver;
      pool.name = slice.pool.name;
      pool.generation = std::max(pool.generation, slice.pool.generation);
      pool.devices += static_cast<int64_t>(slice.devices.size());
      ++pool.slices;
    }
  std::vector<reports::PoolReport> out;
  for (auto& [id, pool] : pools) out.push_back(std::move(pool));
  return out;
}

void write_problems(const Daemon& daemon, const PluginState& plugin, reports::NodeReport& out) {
  const auto say = [&](const std::string& problem) {
    if (out.problems.size() < kProblemsTold)
      out.problems.push_back(problem);
    else
      ++out.left_out.problems;
  };
  if (!plugin.connection_problem.empty()) say(plugin.connection_problem);
  for (const std::string& problem : plugin.not_returned) say(problem);
  daemon.for_each_policy_problem(say);
  for (const std::string& unknown : plugin.unknown_macs) say("VF " + unknown);
  for (const std::string& problem : plugin.settings_problems) say(problem);
  for (const std::string& note : daemon.decision()->notes) say(note);
  out.left_out.problems += static_cast<int64_t>(daemon.decision()->notes.more());
}

// Returns the reasons in this order: another program that serves a driver; the hardware's configuration; each
// reason of the decision.
std::string waits_of(const Daemon& daemon, const PluginState& plugin) {
  std::vector<std::string> out;
  if (!plugin.other.empty()) out.push_back("the end of another program that serves " + plugin.other);
  if (!daemon.awaits_configuration().empty())
    out.push_back("configuration: " + daemon.awaits_configuration());
  const policy::Notes& waits = daemon.decision()->waits;
  out.insert(out.end(), waits.begin(), waits.end());
  if (waits.more() > 0) out.push_back(and_more(waits.more()));
  for (const auto& [reason, devices] : daemon.decision()->unready)
    out.push_back(policy::text_of(reason, devices));
  return join(out, "; ");
}

}  // namespace

std::string kubelet_plugin_state(const Daemon& daemon, const PluginState& plugin) {
  const policy::Decision* decision = daemon.decision();
  const bool is_skipped = decision != nullptr && decision->inputs->settings.skip_node_operations;
  return plugin.word == "off" && is_skipped ? "skipped" : plugin.word;
}

reports::NodeReport report_head_of(const Daemon& daemon, const std::string& node, const PluginState& plugin) {
  reports::NodeReport out{.node = node,
                          .node_uid = daemon.owner_uid(),
                          .daemon_version = SLICED_VERSION,
                          .boot_id = daemon.host_inventory()->boot_id,
                          .kubelet_plugin = kubelet_plugin_state(daemon, plugin)};
  out.waits_for = waits_of(daemon, plugin);
  out.dropped_fields = daemon.dropped_fields();
  out.pools = pools_of(daemon);
  write_problems(daemon, plugin, out);
  return out;
}

NodeReportBuilder::NodeReportBuilder(Dependencies deps)
    : deps_(std::move(deps)),
      writer_(deps_.ports, deps_.node,
              {.make = [this](auto on_made) { make(std::move(on_made)); },
               .is_busy = [this] { return is_busy(); }}) {}

void NodeReportBuilder::start() {
  writer_.start();
  poll_for_changes();
}

void NodeReportBuilder::poll_for_changes() {
  tick_ = deps_.ports.scheduler.after(kReportEvery, [this] {
    if (deps_.daemon.decision() != nullptr &&
        (pools_of(deps_.daemon) != reported_pools_ || deps_.plugin().unknown_macs != reported_unknown_macs_ ||
         deps_.plugin().settings_problems != reported_settings_ ||
         deps_.plugin().not_returned != reported_not_returned_ ||
         deps_.plugin().connection_problem != reported_connection_problem_ ||
         deps_.daemon.dropped_fields() != reported_dropped_fields_))
      writer_.mark();
    poll_for_changes();
  });
}

bool NodeReportBuilder::is_busy() const {
  return !std::ranges::all_of(deps_.daemon.offers(),
                              [](const PoolPublisher& offer) { return offer.publisher().converged(); });
}

void NodeReportBuilder::make(reports::ReportWriter::OnReport on_made) {
  if (deps_.daemon.decision() == nullptr || deps_.daemon.owner_uid().empty()) return on_made(std::nullopt);
  auto report =
      std::make_shared<reports::NodeReport>(report_head_of(deps_.daemon, deps_.node, deps_.plugin()));
  reported_pools_ = report->pools;
  reported_unknown_macs_ = deps_.plugin().unknown_macs;
  reported_settings_ = deps_.plugin().settings_problems;
  reported_not_returned_ = deps_.plugin().not_returned;
  reported_connection_problem_ = deps_.plugin().connection_problem;
  reported_dropped_fields_ = report->dropped_fields;
  if (deps_.last_change) report->last_change = deps_.last_change();
  job_ = deps_.executor.run(
      [report, decision = deps_.daemon.shared_decision()] { fill_report(*decision, *report); }, kMakingMax,
      [this, report, on_made = std::move(on_made)](bool finished) {
        const auto over = std::move(job_);
        on_made(finished ? std::optional(std::move(*report)) : std::nullopt);
      });
}

}  // namespace sliced::daemon
