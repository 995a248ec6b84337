#pragma once
// What /metrics tells of any process of ours. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/status/exposition.h"

namespace sliced::status {

/// Of the process itself.
struct ProcessMetrics {
  double started = 0, cpu = 0;  // seconds since 1970; of processor time
  uint64_t resident_bytes = 0;
  // Turns of the loop that took a tenth of a second or longer; lines of the log that nobody read in time.
  uint64_t long_turns = 0, lost_lines = 0;
};

void write_process(Exposition& out, const std::string& version, const ProcessMetrics& process);
/// What /readyz of the same process answers.
void write_ready(Exposition& out, bool is_ready);

/// Of this process, by /proc/self/stat: starttime, utime, stime, rss. boot: seconds since 1970 at which the machine
/// started. Zeroes where the text is none.
/// ticks_per_second: sysconf(_SC_CLK_TCK); page_bytes: of a page of rss (proc_pid_stat(5)).
void read_process_stat(std::string_view stat, double boot, double ticks_per_second, uint64_t page_bytes,
                       ProcessMetrics& into);

}  // namespace sliced::status
