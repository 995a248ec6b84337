#pragma once
// A node's devices for the page: facts of the host, verdicts, and claims. Pure.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/status/device_rows.h"
#include "daemon/verdicts.h"
#include "kubelet/prepared.h"

namespace sliced::daemon {

/// Claims ("ns/name", several joined by commas) by the PCI address or interface of the device that is
/// prepared for them.
using PreparedFor = std::map<std::string, std::string, std::less<>>;
PreparedFor prepared_for(const kubelet::PreparedClaims& claims);

/// Returns one row for each device with a verdict, sorted. Explaining all devices takes long: for a worker.
/// Rows contain the summary of an explanation, without its rules.
std::vector<status::DeviceRow> device_rows(const VerdictSnapshot& snapshot, const PreparedFor& prepared);

}  // namespace sliced::daemon
