#include "cli/commands.h"
#include "cli/decide_once.h"
#include "cli/show.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

int explain_one(const policy::Decision& decision, const std::string& name, config::OutputFormat format) {
  const std::string id = find_device(*decision.inputs->inventory, name);
  if (id.empty()) {
    complain("this host has no device " + quoted(name) + "; `sliced discover` lists them by address and interface name");
    return kExitError;
  }
  const policy::Explanation explanation = policy::explain(decision, id);
  const bool table = format == config::OutputFormat::kTable;
  return print(table ? explanation_text(explanation) : formatted(json_of(explanation), format)) ? kExitSame : kExitError;
}

int explain_all(const policy::Decision& decision, config::OutputFormat format) {
  if (format == config::OutputFormat::kTable) return print(verdicts_table(decision)) ? kExitSame : kExitError;
  std::vector<kube::Json> items;
  for (const auto& [id, verdict] : decision.verdicts) items.push_back(json_of(policy::explain(decision, id)));
  return print(formatted(list_of(std::move(items)), format)) ? kExitSame : kExitError;
}

}  // namespace

int explain(const config::Options& options) {
  auto process = Process::open(options);
  if (!process) return complain(process.error().what), kExitError;
  auto daemon = decide_once(**process, options);
  if (!daemon) return (*process)->leave(kExitError);
  const int status = options.arguments.empty() ? explain_all(*daemon->decision(), options.output)
                                               : explain_one(*daemon->decision(), options.arguments[0], options.output);
  daemon.reset();
  return (*process)->leave(status);
}

}  // namespace sliced::cli
