#include "reactor/orphans.h"

#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <csignal>
#include <set>

#include "reactor/loop.h"

namespace sliced::reactor {
namespace {

constexpr Millis kAgain{10};  // libuv waits for its own in the turn of the same signal

// Includes abandoned children, whose handles exist until libuv has waited for them.
std::set<pid_t> children_of(Loop& loop) {
  std::set<pid_t> out;
  uv_walk(
      loop.raw(),
      [](uv_handle_t* handle, void* all) {
        if (uv_handle_get_type(handle) == UV_PROCESS)
          static_cast<std::set<pid_t>*>(all)->insert(
              uv_process_get_pid(reinterpret_cast<uv_process_t*>(handle)));
      },
      &out);
  return out;
}

}  // namespace

Result<std::unique_ptr<OrphanReaper>> OrphanReaper::open_for_init(Loop& loop) {
  if (::getpid() != 1) return std::unique_ptr<OrphanReaper>();
  return open(loop);
}

Result<std::unique_ptr<OrphanReaper>> OrphanReaper::open(Loop& loop) {
  std::unique_ptr<OrphanReaper> made(new OrphanReaper(loop));
  auto signal = Signal::open(loop, SIGCHLD, [reaper = made.get()] { reaper->reap(); });
  if (!signal) return std::move(signal.error()).in("reaping orphans");
  made->signal_ = std::move(*signal);
  made->again_ = loop.scheduler().after(Millis{0}, [reaper = made.get()] { reaper->reap(); });
  return made;
}

// Checks the id of an ended child before it waits for it: a status that is taken from libuv never reaches the
// Child.
void OrphanReaper::reap() {
  const std::set<pid_t> own = children_of(loop_);
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    if (own.contains(ended.si_pid)) {
      again_ = loop_.scheduler().after(kAgain, [this] { reap(); });
      return;
    }
    if (::waitpid(ended.si_pid, nullptr, WNOHANG) < 0) return;
  }
}

}  // namespace sliced::reactor
