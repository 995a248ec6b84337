#pragma once
// What this process has taken and lost, as every page /metrics tells it.
#include "daemon/process.h"
#include "daemon/status/process_metrics.h"

namespace sliced::cli {

/// What the kernel does not tell stays 0.
status::ProcessMetrics process_metrics(const Process& process);

}  // namespace sliced::cli
