#include "cli/fleet/ask_cluster.h"

#include "cli/terminal.h"
#include "kube/credentials.h"

namespace sliced::cli {

int ask_cluster(const config::Options& options, const std::function<Result<Told>(ClusterObjects&)>& ask) {
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  ClusterObjects objects(*process.cluster,
                         [&](const auto& done, Millis longest) { return process.run_until(done, longest); });
  const auto told = ask(objects);
  if (!told) return complain(told.error().what), process.leave(kExitError);
  return process.leave(print(told->text) ? told->exit : kExitError);
}

bool is_for_people(const config::Options& options) {
  return options.output == config::OutputFormat::kTable || options.output == config::OutputFormat::kWide;
}

TableStyle style_of(const config::Options& options) {
  return {options.output == config::OutputFormat::kWide, has_colours(), kube::system_wall_clock() * 1'000};
}

void complain_of_unread(const std::vector<std::string>& unread) {
  for (const std::string& what : unread) complain(what);
}

}  // namespace sliced::cli
