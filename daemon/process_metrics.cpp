#include "daemon/process_metrics.h"

#include <unistd.h>

#include <ctime>

#include "reactor/durable_file.h"

namespace sliced::daemon {

status::ProcessMetrics process_metrics(const Process& process) {
  status::ProcessMetrics out;
  const auto stat = reactor::read_whole("/proc/self/stat", 4'096);
  timespec now{}, since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const double boot = static_cast<double>(now.tv_sec - since_boot.tv_sec) +
                      static_cast<double>(now.tv_nsec - since_boot.tv_nsec) / 1e9;
  if (stat)
    status::read_process_stat(*stat, boot, static_cast<double>(::sysconf(_SC_CLK_TCK)),
                              static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)), out);
  out.long_turns = process.loop.long_turns();
  out.lost_lines = process.log->lost();
  return out;
}

}  // namespace sliced::daemon
