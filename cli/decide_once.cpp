#include "cli/decide_once.h"

#include <utility>

#include "cli/prepared_facts.h"
#include "daemon/boot_evidence.h"
#include "daemon/configured_signals.h"

namespace sliced::cli {

std::unique_ptr<daemon::Daemon> decide_once(daemon::HostProcess& process, const config::Options& options) {
  daemon::DaemonPorts ports = process.daemon_ports(/*live_events=*/false);
  ports.boot = daemon::boot_of(process, options);
  auto daemon = std::make_unique<daemon::Daemon>(std::move(ports), options);
  daemon->allow_polling();
  if (const std::string awaited = daemon::awaited_now(process, options); !awaited.empty())
    daemon->await_configuration(awaited);
  // A running daemon decides by the facts from before a device was bound or moved for a pod.
  const std::string boot_id = process.host->read("proc/sys/kernel/random/boot_id").value_or("");
  PreparedFacts facts = read_prepared(boot_id, options);
  for (const auto& [id, held] : facts.held) daemon->hold("checkpoint", held);
  daemon->withhold(std::move(facts.not_returned));
  daemon->start();
  std::vector<std::string> missing;
  const auto is_decided = [&] {
    return daemon->decision() != nullptr && !daemon->decision()->awaits_pod_claims;
  };
  process.run_until([&] { return is_decided() || !(missing = daemon->missing()).empty(); }, kDecideMax);
  if (daemon->decision() != nullptr) return daemon;
  if (missing.empty()) {
    daemon::print_error("no decision after " + std::to_string(kDecideMax.count() / 1000) +
                        " s; still waited for:");
    missing = daemon->waiting_for();
  } else {
    daemon::print_error("no decision:");
  }
  for (const std::string& who : missing) daemon::print_error("  " + who);
  return nullptr;
}

}  // namespace sliced::cli
