#pragma once
// The gate readiness: a device is offered after its policy's conditions are met, and a loss follows onLoss
// (withdraw, taint, keep). This header also has the published form of such an entry, the check in prepare,
// and the text for explain. Example: VF 3 waits for adminMac.
#include <optional>
#include <string>
#include <vector>

#include "policy/explanation.h"
#include "policy/gates/gate.h"
#include "policy/gates/published_before.h"
#include "policy/gates/settling.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// If the demand contains VF settings: adds them to pf_queries of the context, and if the known values are
/// too old, the PF to pfs_to_query. Called before the gates, so that the query starts even if another gate
/// withholds the offer.
void require_pf_query(DecisionContext& now, const hotplug::HostDevice& device, const Demand& demand);

/// Return the types of the conditions of holdBinding in status.devices of a claim: the device is ready; the
/// device is no longer offered.
std::string ready_condition(const std::string& driver);
std::string lost_condition(const std::string& driver);

/// Returns the published form of an offer that passed all gates.
/// - It keeps its published attributes while the device settles or its PF is queried (stale_conditions.h).
/// - It has a taint if the device is not ready and onLoss or onLinkDown is taint.
/// - It has binding conditions if its policy has holdBinding and the server supports them.
/// entry: its present form.
kube::DevicePtr as_published(const Inputs& in, const SettlingDevices& settling, const EntryCandidate& offer,
                             kube::DevicePtr entry);

/// Returns a text for an entry that stays published although its device is not ready (onLoss: taint or keep):
/// ", with taint ...: ..."; "" if the device is ready or its entry is withdrawn. place: of the entry.
std::string offered_unready(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                            const EntryPlace& place);

/// Returns why prepare refuses the device: missing conditions, and pending queries of its PF. "" if nothing
/// is missing, or if the policy tolerates the loss (onLoss or onLinkDown: keep; taint with taintEffect None).
/// is_offered: the entry is published.
std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                        bool is_offered);

/// Returns one rule for each required condition. Empty if the device is ready and the policy sets no
/// readiness. place: of the entry that is or would be offered; nullptr if none.
std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy,
                                  const EntryPlace* place);

}  // namespace sliced::policy
