#pragma once
// The output of `drift`: the result of policy/node_state/drift.h as a table and as data. Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "policy/node_state/drift.h"

namespace sliced::cli {

struct DriftReport {
  policy::SriovNodeState state;
  std::vector<policy::InterfaceDrift> interfaces;

  /// kExitSame: no difference. kExitDrift: a field differs. kExitError: no known field differs, and some are
  /// unknown.
  int exit_code() const;
};

/// Returns a line with syncStatus and lastSyncError, then INTERFACE DEVICE VF FIELD WANTED FOUND REPORTED: a
/// row for each field that differs or is unknown; one row for an interface without any. Fields that were
/// skipped for a reason are counted; only the data lists them.
std::string drift_table(const DriftReport& report);
kube::Json json_of(const DriftReport& report);

}  // namespace sliced::cli
