#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/recorded_process.h"
#include "daemon/configured_signals.h"
#include "daemon/host_process.h"
#include "reactor/durable_file.h"
#include "watchers/configured/release.h"

namespace sliced::cli {
namespace {

using How = config::ConfiguredBy::How;

// Limit for listing the pods and one patch for each.
constexpr Millis kReleaseMax{60'000};

// The daemon's locks may be in the same directory, so a directory that is created here is closed to other
// users.
bool make_file(const config::Options& options, const std::string& path) {
  const auto process = open_host_process(options);
  if (!process) {
    daemon::print_error("configured: " + process.error().what);
    return false;
  }
  // Never replaces a device node, a pipe or a directory.
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return daemon::print_error("configured: " + path +
                               " is there and no regular file, and stays; name another one"),
           false;
  const std::string boot_id = daemon::boot_id_of(**process);
  ::mkdir(path.substr(0, path.rfind('/')).c_str(), 0750);
  const auto written = reactor::write_durably(path, boot_id.empty() ? "" : boot_id + "\n");
  if (!written) {
    daemon::print_error("configured: " + written.error().what);
    return false;
  }
  return daemon::print(path + " is made\n");
}

bool let_go(daemon::HostProcess& process, const config::Options& options) {
  std::optional<configured::Released> released;
  configured::Release release(*process.cluster,
                              {options.pod_namespace.empty() ? options.namespace_ : options.pod_namespace,
                               options.node_name, options.let_go},
                              [&](configured::Released done) { released = std::move(done); });
  if (!process.run_until([&] { return released.has_value(); }, kReleaseMax)) {
    daemon::print_error("configured: the API server does not answer in time; run it again");
    return false;
  }
  for (const std::string& pod : released->pods)
    if (!daemon::print("pod " + pod + " is let go\n")) return false;
  for (const std::string& problem : released->problems) daemon::print_error("configured: " + problem);
  return released->problems.empty();
}

}  // namespace

int configured(const config::Options& options) {
  bool is_done = true;
  if (options.wait_for.how != How::kAnnotation)
    is_done = make_file(options,
                        options.wait_for.how == How::kFile ? options.wait_for.path : daemon::kConfiguredFile);
  if (options.wait_for.how == How::kFile) return is_done ? daemon::kExitSame : daemon::kExitError;
  auto process = open_process(options);
  if (!process) {
    daemon::print_error("configured: no pod is released: " + process.error().what +
                        "; for the file only, use --for file:" + daemon::kConfiguredFile);
    return daemon::kExitError;
  }
  is_done &= let_go(**process, options);
  return (*process)->leave(is_done ? daemon::kExitSame : daemon::kExitError);
}

}  // namespace sliced::cli
