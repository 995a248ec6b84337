#include "kubectl/fleet/ask_cluster.h"

#include <algorithm>

#include "cli/terminal.h"
#include "kube/client/credentials.h"

namespace sliced::kubectl {
namespace {

constexpr Millis kGivenUpEvery{100};

ClusterObjects::Wait wait_in(daemon::Process& process, const IsCancelled& is_cancelled) {
  return [&process, &is_cancelled](const std::function<bool()>& done, Millis longest) {
    const TimePoint until = process.loop.now() + longest;
    while (!done()) {
      const Millis left = until - process.loop.now();
      if (left <= Millis{0} || is_cancelled()) return false;
      process.run_until(done, std::min(left, kGivenUpEvery));
    }
    return true;
  };
}

}  // namespace

CommandResult run_with_cluster(const config::Options& options, const IsCancelled& is_cancelled,
                               const std::function<Result<CommandOutput>(ClusterObjects&)>& ask) {
  CommandResult out;
  const daemon::CapturedErrors complaints;
  const auto output = [&]() -> Result<CommandOutput> {
    auto process = daemon::Process::open(options);
    if (!process) return std::move(process.error());
    ClusterObjects objects(*(*process)->cluster, wait_in(**process, is_cancelled));
    return ask(objects);
  }();
  if (!output) daemon::print_error(output.error().what);
  out.exit_status = output ? output->exit : daemon::kExitError;
  if (output) out.out = output->text;
  out.err = complaints.text();
  return out;
}

int ask_cluster(const config::Options& options,
                const std::function<Result<CommandOutput>(ClusterObjects&)>& ask) {
  auto opened = daemon::Process::open(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::Process& process = **opened;
  ClusterObjects objects(*process.cluster,
                         [&](const auto& done, Millis longest) { return process.run_until(done, longest); });
  const auto output = ask(objects);
  if (!output) {
    daemon::print_error(output.error().what);
    return process.leave(daemon::kExitError);
  }
  return process.leave(daemon::print(output->text) ? output->exit : daemon::kExitError);
}

bool is_for_people(const config::Options& options) {
  return options.output == config::OutputFormat::kTable || options.output == config::OutputFormat::kWide;
}

TableStyle style_of(const config::Options& options) {
  return {options.output == config::OutputFormat::kWide, cli::has_colours(),
          kube::system_wall_clock() * 1'000};
}

void print_unread(const std::vector<std::string>& unread) {
  for (const std::string& what : unread) daemon::print_error(what);
}

}  // namespace sliced::kubectl
