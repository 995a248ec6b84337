#pragma once
// The gate readiness: a device is offered after its conditions are met, and a loss follows onLoss. Also the published form of such an entry,
// the refusal of a prepare, and the text for explain.
#include <optional>
#include <string>
#include <vector>

#include "policy/explanation.h"
#include "policy/gates/gate.h"
#include "policy/gates/settling.h"
#include "policy/gates/stood.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// Called before the gates: requests a query of the PF if the policy requires VF settings, whichever gate withholds the offer.
void require_pf_query(DecisionContext& now, const hotplug::HostDevice& device, const Readiness& readiness);

/// Returns the published form of an offer that passes: unchanged while the device settles or its PF is queried (pf_word.h), with a taint if the
/// device is not ready (onLoss or onLinkDown: taint). entry: its present form.
kube::DevicePtr as_published(const Inputs& in, const Settling& settling, const Offer& offer,
                             kube::DevicePtr entry);

/// Text for an entry that stays published although its device is not ready (onLoss: taint or keep): ", with taint ...: ..."; "" if it is
/// ready. place: of the entry.
std::string offered_unready(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                            const EntryPlace& place);

/// Returns why a prepare is refused: the missing conditions, and pending queries of its PF. "" if none, or if its policy keeps it (onLoss or
/// onLinkDown: keep; taint with taintEffect None).
std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                        bool is_offered);

/// Returns a rule for each required condition, if the policy sets readiness or the device is not ready; empty otherwise. place: of the entry
/// that it offers or would offer; nullptr if none.
std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy,
                                  const EntryPlace* place);

}  // namespace sliced::policy
