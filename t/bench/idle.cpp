// The floor for memory: a process with the daemon's libraries and one TLS connection to the API server, doing
// nothing.
#include <malloc.h>

#include <csignal>

#include "config/load.h"
#include "daemon/process.h"
#include "reactor/signal.h"

using namespace sliced;

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  const config::Loaded loaded =
      config::load(config::Program::kNode, {argv + 1, argv + argc}, config::process_inputs());
  auto process = daemon::Process::open(loaded.options);
  if (!loaded.problems.empty() || !process)
    return daemon::print_error("idle: wants the options of sliced run"), 1;
  kube::CallPtr call = (*process)->cluster->server_info(
      [](kube::ServerInfo info) { daemon::print(info.git_version + "\n"); },
      [](const kube::Failure& failure) { daemon::print_error(failure.what); });
  auto stop = reactor::Signal::open((*process)->loop, SIGTERM, [&] { (*process)->loop.stop(); });
  (*process)->run();
  return 0;
}
