#include "policy/decide.h"

#include "policy/deciding.h"
#include "policy/exposure/decide_exposure.h"
#include "policy/exposure/resolve.h"
#include "policy/sriov/decide_sriov.h"

namespace sliced::policy {
namespace {

// Returns the unverified pools from which a DeviceExposurePolicy offers the PF or a VF. The other driver's
// VFs in them wait. Other PFs belong to that driver alone.
std::set<std::string> unverified_pools_of(const Inputs& in, const Resolutions& resolutions,
                                          PoolNames& names) {
  std::set<std::string> out;
  if (!in.unverified.is_any) return out;
  auto resolution = resolutions.devices.begin();
  for (const auto& [id, device] : in.inventory->devices) {
    if ((resolution++)->personas.empty()) continue;
    const std::string& pool = names.of(device);
    if (in.unverified.is_of(pool)) out.insert(pool);
  }
  return out;
}

}  // namespace

Decision decide(std::shared_ptr<const Inputs> inputs, const std::stop_token& stop) {
  Decision out;
  const Inputs& in = *inputs;
  // The policies' answers for each device: excludes first, which apply to both kinds.
  out.selectors = evaluate_selectors(in.policies->exposures, in.node, in.settings.exposure_driver,
                                     in.inventory, in.selectors, in.settings.budgets, stop, in.published);
  if (stop.stop_requested()) return out;
  const Resolutions resolutions{resolve(in.policies->exposures, *out.selectors, *in.inventory,
                                        in.settings.budgets.entries, out.exposure_problems),
                                out.selectors->exclude_record};
  // The gates, in the order of gates.cpp.
  PoolNames names(in.node.name);
  const auto& unreadable = out.selectors->node.unreadable;
  DecisionContext context{.in = in,
                          .pools = names,
                          .unreadable_exclude = unreadable.empty() ? -1 : unreadable.front(),
                          .unverified_pools = unverified_pools_of(in, resolutions, names)};
  const Gates gates(context);
  // The offers that remain, by driver. If both kinds offer a function, the SriovResourcePolicy has it.
  const SameFacts same(*in.inventory, in.entries == nullptr ? nullptr : in.entries->inventory.get());
  auto memory = std::make_shared<EntryMemory>(EntryMemory{in.inventory, in.policies, {}, {}});
  Deciding deciding{in, resolutions, same, gates, context, out, *memory};
  decide_sriov(deciding);
  decide_exposures(deciding);
  out.entries = std::move(memory);
  out.wanted = std::move(context.wanted);
  out.awaits_pod_claims = context.awaits_pod_claims;
  out.due = context.due;
  if (!context.pf_queries.empty()) {
    auto asked = std::make_shared<PfQueries>();
    asked->reserve(context.pf_queries.size());
    asked->insert(context.pf_queries.begin(), context.pf_queries.end());
    out.pf_queries = std::move(asked);
  }
  out.pfs_to_query = std::move(context.pfs_to_query);
  out.unanswered_pfs = std::move(context.unanswered_pfs);
  out.unready_since = std::move(context.unready_since);
  out.unready = std::move(context.unready);
  out.inputs = std::move(inputs);
  return out;
}

}  // namespace sliced::policy
