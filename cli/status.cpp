#include <algorithm>
#include <vector>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/status_page.h"
#include "cli/status_sockets.h"
#include "daemon/process.h"

namespace sliced::cli {
namespace {

constexpr int kExitNotReady = 2;

// Prints a page unchanged.
int show_page(const FoundSockets& found, const std::string& page) {
  const auto fetched = fetch(found.sockets[0], "/" + page);
  if (!fetched) {
    daemon::print_error("status: " + fetched.error().what);
    return daemon::kExitError;
  }
  if (!daemon::print(fetched->body)) return daemon::kExitError;
  return fetched->status == 200 ? daemon::kExitSame : kExitNotReady;
}

}  // namespace

int status(const config::Options& options) {
  const FoundSockets found = find_sockets(options);
  if (found.sockets.empty()) {
    print_no_sockets("status", found);
    return daemon::kExitError;
  }
  if (!options.arguments.empty()) return show_page(found, options.arguments[0]);
  int exit = daemon::kExitSame;
  std::vector<kube::Json> reports;
  for (const std::string& socket : found.sockets) {
    const auto fetched = fetch(socket, "/status");
    const auto report = fetched ? kube::decode_json(fetched->body) : Result<kube::Json>(fetched.error());
    if (report) {
      if (!is_so(*report, "ready")) exit = std::max(exit, kExitNotReady);
      reports.push_back(*report);
    } else if (found.sockets.size() == 1) {
      daemon::print_error("status: " + report.error().what +
                          "; does the daemon still run, and does it answer at all?");
    } else {
      daemon::print_error("status: " + report.error().what);
    }
  }
  if (reports.empty()) return daemon::kExitError;
  std::stable_partition(reports.begin(), reports.end(),
                        [](const auto& one) { return is_so(one, "serving"); });
  std::string out;
  for (const kube::Json& report : reports) out += (out.empty() ? "" : "\n") + status_text(report);
  if (options.output != config::OutputFormat::kTable)
    out = formatted(kube::list_of(std::move(reports)), options.output);
  return daemon::print(out) ? exit : daemon::kExitError;
}

}  // namespace sliced::cli
