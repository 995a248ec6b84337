#pragma once
// What a decision makes of the devices of its node, as a report tells it. Pure; linear in devices, so that it is made
// on a worker where there may be many.
#include "daemon/reports/node_report.h"
#include "policy/decision.h"

namespace sliced::reports {

/// Counts, policies and groups of devices; the rest of the report stays as it is.
/// Interfaces of type virtual that are neither offered nor held back are none of it: pods make and lose them
/// all the time.
/// Policies are asked once more for overruled.h: that part is of VFs times policies, within the decision's budget.
void fill_report(const policy::Decision& decision, NodeReport& out);

}  // namespace sliced::reports
