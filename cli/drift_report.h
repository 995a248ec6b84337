#pragma once
// What `drift` says: the answer of policy/node_state/drift.h as a table and as data. Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "policy/node_state/drift.h"

namespace sliced::cli {

struct DriftReport {
  policy::SriovNodeState state;
  std::vector<policy::InterfaceDrift> interfaces;

  /// kExitSame: all is as it is wanted. kExitDrift: a field differs. kExitError: none does of what could be told,
  /// and something could not.
  int exit_code() const;
};

/// A line with syncStatus and lastSyncError, then
/// INTERFACE DEVICE VF FIELD WANTED FOUND REPORTED: a row for each field that differs, or that cannot be told; one for
/// an interface without any. What was not asked for a reason is counted there, and stands in the data alone.
std::string drift_table(const DriftReport& report);
kube::Json json_of(const DriftReport& report);

}  // namespace sliced::cli
