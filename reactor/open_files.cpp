#include "reactor/open_files.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace sliced::reactor {
namespace {

// The soft limit at the start of the process; 0: it was not raised.
std::atomic<uint64_t> original{0};

// Uses prlimit(2) instead of setrlimit(2), because system call filters allow it.
bool set_soft(uint64_t soft, rlimit& limit) {
  limit.rlim_cur = soft;
  return ::prlimit(0, RLIMIT_NOFILE, &limit, nullptr) == 0;
}

// Runs between fork(2) and exec(2) of libuv, so it uses only system calls and no locks.
void give_back() {
  rlimit limit{};
  const uint64_t before = original.load(std::memory_order_relaxed);
  if (before != 0 && ::prlimit(0, RLIMIT_NOFILE, nullptr, &limit) == 0) (void)set_soft(before, limit);
}

}  // namespace

Result<OpenFiles> raise_open_files() {
  const auto refused = [](const char* what) {
    return Error{Errc::kIo, std::string(what) + " RLIMIT_NOFILE: " + std::strerror(errno)};
  };
  rlimit limit{};
  if (::prlimit(0, RLIMIT_NOFILE, nullptr, &limit) != 0) return refused("read");
  const uint64_t before = limit.rlim_cur, now = std::min<uint64_t>(limit.rlim_max, kOpenFilesMax);
  if (now <= before) return OpenFiles{before, before};
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, &give_back);
  if (kRegistered != 0)
    return Error{Errc::kIo,
                 "child programs would keep the raised limit of open files: pthread_atfork failed"};
  if (!set_soft(now, limit)) return refused("set");
  original.store(before, std::memory_order_relaxed);
  return OpenFiles{before, now};
}

}  // namespace sliced::reactor
