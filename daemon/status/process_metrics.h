#pragma once
// Metrics of every process. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/status/exposition.h"

namespace sliced::status {

/// The process itself.
struct ProcessMetrics {
  double started = 0, cpu = 0;  // seconds since 1970; processor time in seconds
  uint64_t resident_bytes = 0;
  // Turns of the loop that took a tenth of a second or longer; log lines that were dropped.
  uint64_t long_turns = 0, lost_lines = 0;
};

void write_process(Exposition& out, const std::string& version, const ProcessMetrics& process);
/// Writes the state of the same process' /readyz.
void write_ready(Exposition& out, bool is_ready);

/// Decodes /proc/self/stat: starttime, utime, stime, rss. boot: seconds since 1970 at which the machine
/// started. Zeroes if the text is invalid. ticks_per_second: sysconf(_SC_CLK_TCK); page_bytes: of a page of
/// rss (proc_pid_stat(5)).
void read_process_stat(std::string_view stat, double boot, double ticks_per_second, uint64_t page_bytes,
                       ProcessMetrics& into);

}  // namespace sliced::status
