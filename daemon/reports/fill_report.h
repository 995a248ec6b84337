#pragma once
// Adds the devices of a decision to a report. Pure; linear in devices, so it runs on a worker if there may be
// many.
#include "daemon/reports/node_report.h"
#include "policy/decision.h"

namespace sliced::reports {

/// Sets counts, policies and groups of devices; the rest of the report is unchanged. Omits interfaces of type
/// virtual that are neither offered nor held back, because pods create and remove them all the time.
/// Evaluates policies once more for overruled.h; that part is VFs times policies, within the decision's
/// budget.
void fill_report(const policy::Decision& decision, NodeReport& out);

}  // namespace sliced::reports
