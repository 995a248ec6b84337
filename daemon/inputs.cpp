#include "daemon/inputs.h"

#include <memory>
#include <utility>

#include "policy/sriov/match.h"

namespace sliced::daemon {
namespace {

using publishers::Ability;

policy::Settings settings_of(const config::Options& options, const publishers::Abilities& abilities) {
  policy::Settings settings;
  settings.sriov_driver = options.sriov_driver_name;
  settings.exposure_driver = options.exposure_driver_name;
  settings.list_attributes = abilities.has(Ability::kListAttributes);
  settings.counters = abilities.has(Ability::kCounters);
  settings.shared_devices = abilities.has(Ability::kSharedDevices);
  settings.skip_node_operations =
      options.skip_node_operations == config::Switch::kOn && abilities.has(Ability::kSkipNodeOperations);
  settings.readiness = options.readiness;
  return settings;
}

policy::DesiredPoolsPtr pools_before(const Offers& offers) {
  policy::DesiredPools pools;
  for (const Offer& offer : offers) pools[offer.driver()] = offer.desired_last();
  return std::make_shared<const policy::DesiredPools>(std::move(pools));
}

std::vector<Shared<policy::SriovPolicy>> policies_asked(const policy::Decision& decision) {
  std::vector<Shared<policy::SriovPolicy>> out;
  for (const int32_t one : decision.asked_sriov)
    out.push_back(decision.inputs->policies->sriov[static_cast<size_t>(one)]);
  return out;
}

}  // namespace

Decider::InputsPtr gather_inputs(const Knowledge& known) {
  const auto& ledger = known.charges.ledger();
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = known.inventory;
  inputs->policies = known.policies;
  inputs->node = known.node;
  inputs->settings = settings_of(known.options, known.abilities);
  inputs->quarantine = {known.offers[kSriov].quarantine(), known.offers[kExposure].quarantine()};
  inputs->holdings = ledger.holdings();
  inputs->doubt = ledger.doubt();
  inputs->awaits_pods = known.charges.awaits_pods(!known.policies->exposures.empty());
  if (known.decision != nullptr) {
    inputs->selectors = known.decision->selectors;
    inputs->entries = known.decision->entries;
  }
  inputs->settling = known.settling.of(*known.inventory);
  inputs->now = known.now;
  inputs->tracks = known.tracks.now();
  inputs->node_state = known.tracks.node_state();
  if (known.told_at != nullptr) inputs->told_at = *known.told_at;
  if (known.decision != nullptr) inputs->asked_of_pfs = known.decision->asked_of_pfs;
  // Of what was put off nothing was published: what stands is then of the process before.
  const bool looks_back = known.policies->looks_back || policy::looks_back(known.options.readiness) ||
                          known.tracks.is_any_unfinished() || known.tracks.is_any_taken();
  const bool has_before = known.decision != nullptr && !known.offers[kSriov].is_put_off();
  const bool is_unknown = !known.policies->sriov.empty() && policy::is_any_unknown(*known.inventory);
  if (!inputs->settling.empty() || ((looks_back || is_unknown) && has_before))
    inputs->before = pools_before(known.offers);
  if (is_unknown && has_before) inputs->asked_before = policies_asked(*known.decision);
  if (has_before) inputs->before_at = known.decision->inputs->now;
  // Where nobody uses the exposure driver, nothing of the other one waits for it.
  const bool has_exposures = !known.policies->exposures.empty() || !inputs->holdings.empty();
  if (has_exposures || inputs->awaits_pods) inputs->sriov_holdings = ledger.sriov_holdings();
  if (has_exposures) inputs->is_sriov_doubted = ledger.is_sriov_doubted();
  if (has_exposures || ((looks_back || is_unknown) && !has_before))
    inputs->published =
        publishers::published(own_slices(known.offers, known.options), *known.inventory, inputs->holdings);
  if (!known.unconfigured.empty())
    inputs->unconfigured = publishers::unconfigured(own_slices(known.offers, known.options),
                                                    known.inventory->boot_id, known.unconfigured);
  inputs->not_returned = known.not_returned;
  inputs->published.is_sriov_pool_there = known.offers[kSriov].is_there(known.options.node_name);
  return inputs;
}

publishers::OwnSlices own_slices(const Offers& offers, const config::Options& options) {
  return {offers[kSriov].publisher().observed(), offers[kExposure].publisher().observed(),
          options.sriov_driver_name, options.exposure_driver_name, options.node_name};
}

}  // namespace sliced::daemon
