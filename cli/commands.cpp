#include "cli/commands.h"

#include "cli/completion.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/process.h"
#include "cli/with_snapshot.h"

namespace sliced::cli {
namespace {

using config::Command;

int printed(const std::string& text) { return print(text) ? kExitSame : kExitError; }

int version(const config::Options&) { return printed("sliced " SLICED_VERSION "\n"); }
int man(const config::Options&) { return printed(man_page(SLICED_VERSION)); }
int config_text(const config::Options&) { return printed(config_file(SLICED_VERSION)); }
int completion(const config::Options& options) { return printed(completion_script(options.arguments[0])); }

template <int (*kWork)(const config::Options&)>
int by_options(const Invocation& invocation) {
  return kWork(invocation.options);
}
// Of a command that may be asked of a snapshot (--host FILE).
template <int (*kWork)(const config::Options&)>
int of_host(const Invocation& invocation) {
  return with_snapshot(invocation.options, kWork);
}

struct Row {
  Command command;
  Work work;
};
constexpr Row kRows[] = {
    {Command::kRun, run},
    {Command::kPlan, of_host<plan>},
    {Command::kExplain, of_host<explain>},
    {Command::kWhy, by_options<why>},
    {Command::kNodes, by_options<nodes>},
    {Command::kDevices, by_options<devices>},
    {Command::kTop, by_options<top>},
    {Command::kPolicies, by_options<policies>},
    {Command::kPage, by_options<page>},
    {Command::kDiscover, of_host<discover>},
    {Command::kMatch, of_host<match>},
    {Command::kDrift, of_host<drift>},
    {Command::kValidate, by_options<validate>},
    {Command::kMigrate, of_host<migrate>},
    {Command::kSnapshot, by_options<snapshot>},
    {Command::kWithdraw, by_options<withdraw>},
    {Command::kStatus, by_options<status>},
    {Command::kWebhook, webhook},
    {Command::kAggregate, by_options<aggregate>},
    {Command::kHistory, by_options<history>},
    {Command::kWaitForConfig, by_options<wait_for_config>},
    {Command::kConfigured, by_options<configured>},
    {Command::kVersion, by_options<version>},
    {Command::kHelp, by_options<help>},
    {Command::kMan, by_options<man>},
    {Command::kConfig, by_options<config_text>},
    {Command::kCompletion, by_options<completion>},
};

}  // namespace

Work work_of(Command command) {
  for (const Row& row : kRows)
    if (row.command == command) return row.work;
  return nullptr;
}

int help(const config::Options& options) { return printed(help_text(options.command, SLICED_VERSION)); }

}  // namespace sliced::cli
