#pragma once
// One decision while it is made: what both kinds of policies get, and where they put what comes of it. Made by
// decide() for one call, on the thread that it runs on; nothing of it outlives the decision.
#include "policy/decision.h"
#include "policy/entry_memory.h"
#include "policy/gates/gates.h"
#include "policy/resolution.h"
#include "policy/same_facts.h"

namespace sliced::policy {

/// References to what decide() holds. The SriovResourcePolicies come first: what they take is noted in `now`,
/// before the others are asked.
struct Deciding {
  const Inputs& in;
  /// What selectors of DeviceExposurePolicies say, of every device of the inventory.
  const Resolutions& resolutions;
  const SameFacts& same;  // as when in.entries was made
  const Gates& gates;
  DecisionContext& now;  // the gates'; what a kind of policies takes is noted there
  Decision& out;
  EntryMemory& memory;  // for the next decision
};

}  // namespace sliced::policy
