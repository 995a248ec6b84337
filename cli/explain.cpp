#include "policy/explain.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/decide_once.h"
#include "cli/show.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr size_t kRulesOfAllMax = 50'000, kRulesOfOneMin = 10;

// What the policies allow may still be missing at the API server: no daemon runs, or the server refused the
// entry.
policy::Explanation explain_as_published(const daemon::Daemon& daemon, const std::string& id,
                                         size_t rules_max = policy::kRulesMax) {
  policy::Explanation explanation = policy::explain(*daemon.decision(), id, rules_max);
  if (explanation.entry.empty()) return explanation;
  for (const daemon::Offer& offer : daemon.offers())
    for (const auto& [name, slice] : offer.publisher().observed())
      for (const kube::Device& device : slice.devices)
        if (device.name == explanation.entry) return explanation;
  explanation.summary +=
      "; no slice holds it yet: see whether the daemon runs and what it logs about this entry";
  return explanation;
}

int explain_one(const daemon::Daemon& daemon, const std::string& name, config::OutputFormat format) {
  const policy::Decision& decision = *daemon.decision();
  const std::string id = find_device(*decision.inputs->inventory, name);
  if (id.empty()) {
    complain("this host has no device " + in_quotes(name) +
             "; `sliced discover` lists them by address and interface name");
    return kExitError;
  }
  const policy::Explanation explanation = explain_as_published(daemon, id);
  const bool table = format == config::OutputFormat::kTable;
  return print(table ? explanation_text(explanation) : formatted(json_of(explanation), format)) ? kExitSame
                                                                                                : kExitError;
}

int explain_all(const daemon::Daemon& daemon, config::OutputFormat format) {
  const policy::Decision& decision = *daemon.decision();
  if (format == config::OutputFormat::kTable)
    return print(verdicts_table(decision).text) ? kExitSame : kExitError;
  // Of all devices together no more rules than fit into memory.
  const size_t rules_max = std::clamp(kRulesOfAllMax / std::max<size_t>(decision.verdicts.size(), 1),
                                      kRulesOfOneMin, policy::kRulesMax);
  std::vector<kube::Json> items;
  for (const auto& [id, verdict] : decision.verdicts)
    items.push_back(json_of(explain_as_published(daemon, id, rules_max)));
  return print(formatted(list_of(std::move(items)), format)) ? kExitSame : kExitError;
}

}  // namespace

int explain(const config::Options& options) {
  auto process = Process::open(options);
  if (!process) return complain(process.error().what), kExitError;
  auto daemon = decide_once(**process, options);
  if (!daemon) return (*process)->leave(kExitError);
  const int status = options.arguments.empty() ? explain_all(*daemon, options.output)
                                               : explain_one(*daemon, options.arguments[0], options.output);
  daemon.reset();
  return (*process)->leave(status);
}

}  // namespace sliced::cli
