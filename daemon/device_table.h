#pragma once
// A node's devices as the page shows them: facts of the host, what was decided, and who has them. Pure.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/status/device_rows.h"
#include "daemon/verdicts.h"
#include "kubelet/prepared.h"

namespace sliced::cli {

/// Claims ("ns/name", several joined by commas) by the address of the function, or the interface, that is prepared for them.
using PreparedFor = std::map<std::string, std::string, std::less<>>;
PreparedFor prepared_for(const kubelet::PreparedClaims& claims);

/// One row a device of which something was decided, sorted. To explain them all takes time: on a worker. Rows
/// have the summary of an explanation, not its rules.
std::vector<status::DeviceRow> device_rows(const VerdictSnapshot& snapshot, const PreparedFor& prepared);

}  // namespace sliced::cli
