#pragma once
// What a decision is made from, gathered of everybody who knows a part of it. Returns values; changes nothing.
// Called on the loop; what it returns is immutable, so that a worker may decide from it.
#include <array>

#include "config/options.h"
#include "daemon/decider.h"
#include "daemon/offer.h"
#include "daemon/settling.h"
#include "hotplug/facts.h"
#include "kube/objects/selector.h"
#include "policy/decision.h"
#include "policy/policy_set.h"
#include "policy/readiness/track.h"
#include "publishers/abilities.h"
#include "publishers/charges.h"
#include "publishers/recall.h"

namespace sliced::daemon {

/// The drivers, as indices of offers: other rooms know them by name.
enum Driver : size_t { kSriov, kExposure };
using Offers = std::array<Offer, 2>;

/// Everybody who knows a part of it; used during the call only.
struct Knowledge {
  const config::Options& options;
  const hotplug::InventoryPtr& inventory;
  const policy::PolicySetPtr& policies;
  const kube::NodeView& node;
  const publishers::Abilities& abilities;
  const publishers::Charges& charges;
  const Settling& settling;
  const Offers& offers;
  const policy::Decision* decision;  // that stands; nullptr none
  const policy::ReadinessBook& tracks;
  TimePoint now;
  const std::string& unconfigured;  // what is waited for; "" nothing
  const policy::ToldAt* told_at;    // nullptr: whatever is known of PFs' word counts
  const policy::AllNotReturned& not_returned;
};
/// Never nullptr: whether everybody has synced is asked before.
/// Copies what the ledger holds; inventory, policies and what the last decision made are shared.
Decider::InputsPtr gather_inputs(const Knowledge& known);

/// The slices that each driver has published, as the watches and our own answers have them: what recall reads
/// the time before this process from. Valid as long as both are.
publishers::OwnSlices own_slices(const Offers& offers, const config::Options& options);

}  // namespace sliced::daemon
