#pragma once
// The state of one decision, shared by both kinds of policies. decide() creates it for one call; it does not
// outlive the decision.
#include "policy/decision.h"
#include "policy/entry_memory.h"
#include "policy/gates/gates.h"
#include "policy/resolution.h"
#include "policy/same_facts.h"

namespace sliced::policy {

/// References to values that decide() owns. SriovResourcePolicies are evaluated first and record their
/// functions in `now`, before DeviceExposurePolicies are evaluated.
struct Deciding {
  const Inputs& in;
  /// Answers of DeviceExposurePolicies, for every device of the inventory.
  const Resolutions& resolutions;
  const SameFacts& same;  // relative to in.entries
  const Gates& gates;
  DecisionContext& now;  // shared with the gates
  Decision& out;
  EntryMemory& memory;  // for the next decision
};

}  // namespace sliced::policy
