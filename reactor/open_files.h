#pragma once
// Limit of open files, sockets and pipes of this process (getrlimit(2), RLIMIT_NOFILE).
#include <cstdint>

#include "reactor/base/result.h"

namespace sliced::reactor {

struct OpenFiles {
  uint64_t before = 0, now = 0;
};

/// Raises the limit to the hard limit, at most kOpenFilesMax. Started programs get the former limit: some
/// close every number up to it, and select(2) supports 1,024. Later calls have no effect.
/// Threads: call before other threads start programs.
/// Errors: kIo if the kernel or a system call filter refuses; nothing changes then.
Result<OpenFiles> raise_open_files();
/// Descriptors of this process: one for each sandbox's namespace, pipe of a program, and connection.
inline constexpr uint64_t kOpenFilesMax = 65'536;

}  // namespace sliced::reactor
