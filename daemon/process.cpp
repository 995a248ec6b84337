#include "daemon/process.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "config/command_table.h"
#include "config/load.h"
#include "kube/client/api_cluster.h"
#include "kube/directory/directory_cluster.h"
#include "reactor/backoff.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr Millis kFlushMax{1'000};  // of log and output together, at the end

// A one-shot command reports an error immediately; a long-running one waits until it is fixed.
bool is_long_running(config::Command command) {
  return command == config::Command::kRun || command == config::Command::kWebhook ||
         command == config::Command::kAggregate || command == config::Command::kWaitForConfig;
}

// A signal that comes when its handler is gone would end the process with another status.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Process::Process(const config::Options& options)
    : out(STDOUT_FILENO,
          [name = std::string(config::info_of(options.program).name)](uint64_t count) {
            return name + ": " + std::to_string(count) + " texts lost: the reader is too slow\n";
          }),
      options_(options) {
  // A one-shot command's result is its output; only problems are logged.
  const bool quiet = !is_long_running(options.command) && options.log_level == Level::kInfo;
  log = make_log(options.log_format, quiet ? Level::kWarning : options.log_level, process_log_target());
  executor = std::make_unique<reactor::ThreadExecutor>(loop);
}

Process::~Process() = default;

std::unique_ptr<Process> Process::open_bare(const config::Options& options) {
  return std::unique_ptr<Process>(new Process(options));
}

Result<std::unique_ptr<Process>> Process::open(const config::Options& options) {
  auto process = open_bare(options);
  if (auto opened = process->open_cluster(); !opened) return std::move(opened.error());
  return process;
}

Result<Unit> Process::open_cluster() {
  auto opened = find_cluster();
  if (!opened) return std::move(opened.error()).in("--cluster " + describe(options_.cluster));
  cluster = std::move(*opened);
  return Unit{};
}

Result<std::unique_ptr<kube::Cluster>> Process::find_cluster() {
  if (const auto* directory = std::get_if<config::ClusterDirectory>(&options_.cluster)) {
    return std::unique_ptr<kube::Cluster>(
        std::make_unique<kube::DirectoryCluster>(loop, *log, directory->path, options_.namespace_));
  }
  std::unique_ptr<kube::CredentialSource> credentials;
  kube::CredentialPorts ports{loop, loop.scheduler(), *executor, *log, kube::system_wall_clock};
  if (const auto* file = std::get_if<config::KubeconfigFile>(&options_.cluster)) {
    kube::KubeconfigPlace place({file->path}, file->context);
    place.paths.insert(place.paths.end(), file->others.begin(), file->others.end());
    if (auto usable = kube::check_kubeconfig_proxy(place); !usable) return std::move(usable.error());
    if (auto read = kube::read_kubeconfig(place); !read && !is_long_running(options_.command))
      return std::move(read.error());
    credentials = kube::kubeconfig_credentials(std::move(ports), std::move(place));
  } else {
    auto paths = kube::find_in_cluster();
    if (!paths) return std::move(paths.error());
    if (auto usable = kube::check_in_cluster_proxy(*paths); !usable) return std::move(usable.error());
    credentials = kube::in_cluster_credentials(std::move(ports), std::move(*paths));
  }
  std::optional<kube::SchemaCache> schema_cache;
  if (options_.command == config::Command::kRun && !options_.runtime_directory.empty())
    schema_cache.emplace(kube::SchemaCache{*executor, options_.runtime_directory});
  return std::unique_ptr<kube::Cluster>(std::make_unique<kube::ApiCluster>(kube::ApiPorts{
      loop.scheduler(), *log, std::move(credentials),
      [this](reactor::net::Endpoint endpoint, Millis deadline, reactor::net::OnConnected done) {
        return reactor::net::connect_tcp(loop, *executor, std::move(endpoint), deadline, std::move(done));
      },
      reactor::system_random(), std::string(config::info_of(options_.program).name) + "/" SLICED_VERSION,
      std::move(schema_cache)}));
}

bool Process::run_until(const std::function<bool()>& done, Millis longest) {
  const TimePoint until = loop.now() + longest;
  while (!done()) {
    const Millis left = until - loop.now();
    if (left <= Millis{0}) return false;
    loop.turn(left);
  }
  return true;
}

int Process::leave(int status, bool is_busy) {
  block_signals();
  std::fflush(stdout);
  std::fflush(stderr);
  const auto until = Clock::now() + kFlushMax;
  const bool is_logged = log->flush(kFlushMax);
  const bool is_shown = out.flush(std::chrono::duration_cast<Millis>(until - Clock::now()));
  if (!is_logged || !is_shown || is_busy || executor->busy()) _exit(status);
  return status;
}

bool reload(Process& process, config::Options& running, const std::vector<std::string>& arguments) {
  const config::Reloaded again = config::reload(running, arguments, config::process_inputs());
  for (const std::string& problem : again.problems)
    process.log->error("configuration not reloaded", {{"problem", problem}});
  if (!again.problems.empty()) return false;
  for (const std::string& name : again.needs_restart)
    process.log->warning("changed option takes effect after a restart", {{"option", name}});
  running = again.options;
  process.log->set_level(running.log_level);
  process.log->info("configuration reloaded", {{"changed", again.changed.size()}});
  return true;
}

std::optional<reactor::net::Endpoint> endpoint_of(const std::string& address) {
  if (address.empty()) return std::nullopt;
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return reactor::net::Endpoint{host,
                                static_cast<uint16_t>(parse_int(address.substr(colon + 1)).value_or(0))};
}

}  // namespace sliced::daemon
