#include "daemon/boot_evidence.h"

#include <memory>
#include <string>
#include <utility>

#include "daemon/node_locks.h"
#include "reactor/durable_file.h"
#include "reactor/small_file.h"

namespace sliced::daemon {
namespace {

constexpr Millis kNoteMax{5'000};

}  // namespace

// Only the daemon with the interlock writes it. A file that cannot be read is not evidence.
NodeStateSource::Boot boot_of(HostProcess& process, const config::Options& options) {
  NodeStateSource::Boot out{.uptime = uptime_of(process.host)};
  const std::string directory = runtime_directory(options);
  const std::string boot_id = process.host->read("proc/sys/kernel/random/boot_id").value_or("");
  if (directory.empty() || boot_id.empty()) return out;
  const std::string path = directory + "/node-state-of-" + options.node_name;
  const auto text_of = [boot_id](const std::string& uid) { return boot_id + " " + uid + "\n"; };
  out.has_evidence = [path, text_of](const std::string& uid) {
    const auto text = reactor::read_small_file(path);
    return text.ok() && *text == text_of(uid);
  };
  if (options.command != config::Command::kRun) return out;
  const auto job = std::make_shared<std::unique_ptr<reactor::Job>>();
  out.save_evidence = [&process, path, text_of, job](const std::string& uid) {
    const auto written = std::make_shared<Result<Unit>>(Unit{});
    *job = process.executor->run(
        [path, text = text_of(uid), written] { *written = reactor::write_durably(path, text, 0600); },
        kNoteMax,
        [&process, written, path](bool finished) {
          if (!finished || !written->ok())
            process.log->warning(
                "evidence of the SriovNetworkNodeState not saved: after a restart the daemon waits for the operator's next status update",
                {{"file", path}, {"why", finished ? written->error().what : "writing it hangs"}});
        });
  };
  return out;
}

}  // namespace sliced::daemon
