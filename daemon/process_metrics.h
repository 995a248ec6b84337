#pragma once
// Metrics of this process for every page /metrics.
#include "daemon/process.h"
#include "daemon/status/process_metrics.h"

namespace sliced::daemon {

/// Values that the kernel does not report are 0.
status::ProcessMetrics process_metrics(const Process& process);

}  // namespace sliced::daemon
