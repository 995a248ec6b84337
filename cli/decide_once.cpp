#include "cli/decide_once.h"

namespace sliced::cli {

std::unique_ptr<Daemon> decide_once(Process& process, const config::Options& options) {
  auto daemon = std::make_unique<Daemon>(process.daemon_ports(/*live_events=*/false), options);
  daemon->start();
  if (!process.run_until([&] { return daemon->decision() != nullptr; }, kDecideMax)) {
    complain("no decision after " + std::to_string(kDecideMax.count() / 1000) + " s; still waited for:");
    for (const std::string& who : daemon->waiting_for()) complain("  " + who);
    return nullptr;
  }
  return daemon;
}

}  // namespace sliced::cli
