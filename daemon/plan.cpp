#include "daemon/plan.h"

#include <algorithm>
#include <utility>

#include "policy/exposure/resolve.h"

namespace sliced::daemon {
namespace {

// Selectors read the MAC address that the PF enforces for VFs that have no interface here.
std::set<hotplug::PciAddress> pfs_of_handed_over(const hotplug::Inventory& host) {
  std::set<hotplug::PciAddress> out;
  for (const auto& [id, device] : host.devices)
    if (device.pf && hotplug::is_handed_over(device)) out.insert(*device.pf);
  return out;
}

std::vector<Shared<policy::ExposurePolicy>> policies_selecting_by_mac(const policy::Decision& decision) {
  const auto& exposures = decision.inputs->policies->exposures;
  std::vector<Shared<policy::ExposurePolicy>> out;
  for (const int32_t one : decision.selectors->asking_for_mac)
    out.push_back(exposures[static_cast<size_t>(one)]);
  return out;
}

// Without an existing slice, a slice that will change in a moment is not published: consumers see no empty
// pool after a restart, or when another daemon took over.
bool is_deferred(const policy::Decision& decision, const PlanContext& context) {
  const PoolPublisher& offer = context.offers[kSriov];
  return decision.awaits_pod_claims && context.are_pods_being_read &&
         (!offer.publisher().has_desired() || !offer.is_there(context.node_name));
}

}  // namespace

Plan make_plan(policy::Decision decision, std::string why, PlanContext context) {
  Plan plan;
  // Only the publishers keep the entries: a node may have thousands.
  policy::DesiredPools pools = std::exchange(decision.pools, {});
  for (const Driver which : {kSriov, kExposure}) {
    const PoolPublisher& offer = context.offers[which];
    Plan::Pools& one = plan.pools[which];
    one.desired = std::move(pools.at(offer.driver()));
    one.is_deferred = which == kSriov && is_deferred(decision, context);
    // An empty offer is reported once.
    one.is_first = context.before == nullptr && (which == kSriov || !one.desired.empty());
    one.difference = offer.difference(one.desired, one.is_first);
    if (!one.difference) continue;
    // Pools that were put off were reported once, and are compared again.
    const policy::Decision* before = offer.is_deferred() ? nullptr : context.before;
    one.changes =
        policy::offer_changes_of(before, decision, which == kSriov, offer.driver(), *one.difference, why);
  }
  plan.query_again = decision.unanswered_pfs;
  plan.query_again.merge(context.out_of_sync);
  plan.query_now = decision.pfs_to_query;
  plan.selecting_by_mac = policies_selecting_by_mac(decision);
  const bool is_any_new = std::ranges::any_of(plan.selecting_by_mac, [&](const auto& one) {
    return std::ranges::find(context.selecting_by_mac, one) == context.selecting_by_mac.end();
  });
  if (is_any_new) plan.query_now.merge(pfs_of_handed_over(context.inventory));
  plan.decide_at = decision.due;
  plan.decide_again = decision.is_regrouped;
  plan.awaits_claims = decision.awaits_pod_claims && context.are_pods_being_read;
  plan.why = std::move(why);
  plan.decision = std::make_shared<const policy::Decision>(std::move(decision));
  return plan;
}

}  // namespace sliced::daemon
