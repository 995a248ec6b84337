#include <algorithm>

#include "cli/commands.h"
#include "cli/decide_once.h"
#include "cli/prepared_facts.h"
#include "cli/recorded_process.h"
#include "cli/show.h"
#include "daemon/status/verdict_table.h"
#include "daemon/verdicts.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

// "device ENTRY: ..." of one of its entries.
bool is_of(const policy::Explanation& explanation, const std::string& note) {
  const auto names = [&](const std::string& entry) {
    return !entry.empty() &&
           (note.starts_with("device " + entry + ":") || note.starts_with("device " + entry + " "));
  };
  return names(explanation.entry) || std::any_of(explanation.personas.begin(), explanation.personas.end(),
                                                 [&](const auto& persona) { return names(persona.entry); });
}

int explain_one(const daemon::Daemon& daemon, const config::Options& options) {
  const std::string& name = options.arguments[0];
  const config::OutputFormat format = options.output;
  const policy::Decision& decision = *daemon.decision();
  const auto device = policy::find_device(*decision.inputs->inventory, name);
  if (!device) {
    daemon::print_error(device.error().what);
    return daemon::kExitError;
  }
  const std::string& id = *device;
  policy::Explanation explanation = daemon::explain_as_published(daemon::snapshot_of(daemon), id);
  const auto unknown = read_unknown_macs(*decision.inputs->inventory, options);
  if (const auto found = unknown.find(id); found != unknown.end()) explanation.mac_problem = found->second;
  const auto settings = read_unknown_settings(*decision.inputs->inventory, options);
  if (const auto found = settings.find(id); found != settings.end())
    explanation.settings_problem = found->second;
  for (const std::string& note : decision.notes)
    if (is_of(explanation, note)) daemon::print_error(note);
  const bool table = format == config::OutputFormat::kTable;
  return daemon::print(table ? status::explanation_text(explanation)
                             : formatted(status::json_of(explanation), format))
             ? daemon::kExitSame
             : daemon::kExitError;
}

int explain_all(const daemon::Daemon& daemon, config::OutputFormat format) {
  const policy::Decision& decision = *daemon.decision();
  if (format == config::OutputFormat::kTable)
    return daemon::print(status::verdicts_table(decision).text +
                         daemon::text_of(daemon::unreadable_policies(decision)))
               ? daemon::kExitSame
               : daemon::kExitError;
  const daemon::VerdictSnapshot snapshot = daemon::snapshot_of(daemon);
  const size_t rules_max = daemon::rules_max_of_all(decision);
  std::vector<kube::Json> items;
  for (const auto& [id, verdict] : decision.verdicts) {
    policy::Explanation explanation = daemon::explain_as_published(snapshot, id, rules_max);
    daemon::leave_out_unreadable(explanation);
    items.push_back(status::json_of(explanation));
  }
  return daemon::print(formatted(daemon::explanations_list(std::move(items), decision), format))
             ? daemon::kExitSame
             : daemon::kExitError;
}

}  // namespace

int explain(const config::Options& options) {
  auto process = open_process(options);
  if (!process) {
    daemon::print_error(process.error().what);
    return daemon::kExitError;
  }
  auto daemon = decide_once(**process, options);
  if (!daemon) return (*process)->leave(daemon::kExitError);
  const int status =
      options.arguments.empty() ? explain_all(*daemon, options.output) : explain_one(*daemon, options);
  daemon.reset();
  return (*process)->leave(status);
}

}  // namespace sliced::cli
