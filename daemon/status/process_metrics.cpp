#include "daemon/status/process_metrics.h"

#include "reactor/base/text.h"

namespace sliced::status {

void write_process(Exposition& out, const std::string& version, const ProcessMetrics& process) {
  out.gauge("sliced_build_info", "1, with the version as a label.");
  out.sample(1, {{"version", version}});
  out.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.");
  out.seconds(process.started);
  out.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.");
  out.sample(process.resident_bytes);
  out.counter("process_cpu_seconds_total", "CPU time of the process.");
  out.seconds(process.cpu);
  out.counter("sliced_loop_long_turns_total", "Turns of the event loop that took 0.1 s or longer.");
  out.sample(process.long_turns);
  out.counter("sliced_log_lines_lost_total", "Log lines that were lost because the reader was too slow.");
  out.sample(process.lost_lines);
}

void write_ready(Exposition& out, bool is_ready) {
  out.gauge("sliced_ready", "1 when /readyz is passed.");
  out.sample(is_ready ? 1 : 0);
}

// proc_pid_stat(5): the name in parentheses may hold anything, spaces and parentheses included.
void read_process_stat(std::string_view stat, double boot, double ticks_per_second, uint64_t page_bytes,
                       ProcessMetrics& into) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > stat.size()) return;
  const auto fields = split(trim(stat.substr(name_end + 2)), ' ');
  const auto field = [&](size_t number) {  // as the manual counts: state is the third
    return number - 3 < fields.size() ? static_cast<double>(parse_int(fields[number - 3]).value_or(0)) : 0.0;
  };
  into.cpu = (field(14) + field(15)) / ticks_per_second;
  into.started = fields.size() > 22 - 3 ? boot + field(22) / ticks_per_second : 0.0;
  into.resident_bytes = static_cast<uint64_t>(field(24)) * page_bytes;
}

}  // namespace sliced::status
