#pragma once
// How many files, sockets and pipes this process may have open at once (getrlimit(2), RLIMIT_NOFILE).
#include <cstdint>

#include "reactor/base/result.h"

namespace sliced::reactor {

struct OpenFiles {
  uint64_t before = 0, now = 0;
};

/// From now on as many as its hard limit allows, and no more than kOpenFilesMax. Programs that it starts have the limit
/// of before: some close every number up to it one by one, and select(2) knows 1,024. Called again it changes nothing more.
/// Threads: before others start programs.
/// Errors: kIo: the kernel, or a filter of system calls, refuses; everything is as it was.
Result<OpenFiles> raise_open_files();
/// Of this process: each a sandbox's namespace, a pipe of a program, a connection.
inline constexpr uint64_t kOpenFilesMax = 65'536;

}  // namespace sliced::reactor
