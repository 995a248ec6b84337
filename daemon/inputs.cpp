#include "daemon/inputs.h"

#include <memory>
#include <utility>

#include "policy/sriov/match.h"

namespace sliced::daemon {
namespace {

using publishers::ServerFeature;

policy::Settings settings_of(const config::Options& options,
                             const publishers::ServerFeatures& server_features) {
  policy::Settings settings;
  settings.sriov_driver = options.sriov_driver_name;
  settings.exposure_driver = options.exposure_driver_name;
  settings.list_attributes = server_features.has(ServerFeature::kListAttributes);
  settings.lists_numa_nodes =
      options.numa_node_attribute == config::NumaNodeAttribute::kList && settings.list_attributes;
  settings.dranet_attributes = options.dranet_attributes == config::Switch::kOn;
  settings.counters = server_features.has(ServerFeature::kCounters);
  settings.compatibility_groups = options.exclusion == config::ExclusionForm::kCompatibilityGroups &&
                                  server_features.has(ServerFeature::kCounters) &&
                                  server_features.has(ServerFeature::kCompatibilityGroups);
  settings.shared_devices = server_features.has(ServerFeature::kSharedDevices);
  settings.skip_node_operations = options.skip_node_operations == config::Switch::kOn &&
                                  server_features.has(ServerFeature::kSkipNodeOperations);
  settings.binding_conditions =
      options.kubelet_plugin == config::Switch::kOn && server_features.has(ServerFeature::kBindingConditions);
  settings.readiness = options.readiness;
  return settings;
}

policy::DesiredPoolsPtr pools_before(const PoolPublishers& offers) {
  policy::DesiredPools pools;
  for (const PoolPublisher& offer : offers) pools[offer.driver()] = offer.desired_last();
  return std::make_shared<const policy::DesiredPools>(std::move(pools));
}

std::vector<Shared<policy::SriovPolicy>> policies_asked(const policy::Decision& decision) {
  std::vector<Shared<policy::SriovPolicy>> out;
  for (const int32_t one : decision.asked_sriov)
    out.push_back(decision.inputs->policies->sriov[static_cast<size_t>(one)]);
  return out;
}

}  // namespace

Decider::InputsPtr make_snapshot(const SnapshotSources& from) {
  const policy::PolicySetPtr& policies = from.state.policies.set();
  const policy::Decision* decision = from.state.decision.get();
  const policy::ReadinessBook& readiness = from.state.readiness;
  const auto& ledger = from.reservations.ledger();
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = from.inventory;
  inputs->policies = policies;
  inputs->node = from.state.node.view();
  inputs->settings = settings_of(from.options, from.server_features);
  inputs->quarantine = {from.offers[kSriov].quarantine(), from.offers[kExposure].quarantine()};
  inputs->holdings = ledger.holdings();
  inputs->unverified = ledger.unverified();
  inputs->awaits_pod_claims = from.reservations.awaits_pods(!policies->exposures.empty());
  if (decision != nullptr) {
    inputs->selectors = decision->selectors;
    inputs->entries = decision->entries;
  }
  inputs->settling = from.settling.of(*from.inventory);
  inputs->now = from.now;
  inputs->tracks = readiness.now();
  inputs->node_state = readiness.node_state();
  if (from.query_times != nullptr) inputs->query_times = *from.query_times;
  if (decision != nullptr) inputs->pf_queries = decision->pf_queries;
  // A put-off offer was not published: the current slices are of an earlier process.
  const bool looks_back = policies->looks_back || policy::looks_back(from.options.readiness) ||
                          readiness.is_any_unfinished() || readiness.is_any_assumed();
  const bool has_before = decision != nullptr && !from.offers[kSriov].is_deferred();
  const bool is_unknown = !policies->sriov.empty() && policy::is_any_unknown(*from.inventory);
  if (!inputs->settling.empty() || ((looks_back || is_unknown) && has_before))
    inputs->before = pools_before(from.offers);
  if (is_unknown && has_before) inputs->asked_before = policies_asked(*decision);
  if (has_before) inputs->before_at = decision->inputs->now;
  // Without exposure policies and holdings, the SR-IOV driver does not wait for the exposure driver.
  const bool has_exposures = !policies->exposures.empty() || !inputs->holdings.empty();
  if (has_exposures || inputs->awaits_pod_claims) inputs->sriov_holdings = ledger.sriov_holdings();
  if (has_exposures) inputs->is_sriov_unverified = ledger.is_sriov_unverified();
  if (has_exposures || ((looks_back || is_unknown) && !has_before))
    inputs->published =
        publishers::published(own_slices(from.offers, from.options), *from.inventory, inputs->holdings);
  if (!from.state.unconfigured.empty())
    inputs->unconfigured = publishers::unconfigured(own_slices(from.offers, from.options),
                                                    from.inventory->boot_id, from.state.unconfigured);
  inputs->not_returned = from.state.not_returned;
  inputs->published.is_sriov_pool_there = from.offers[kSriov].is_there(from.options.node_name);
  return inputs;
}

publishers::OwnSlices own_slices(const PoolPublishers& offers, const config::Options& options) {
  return {offers[kSriov].publisher().observed(), offers[kExposure].publisher().observed(),
          options.sriov_driver_name, options.exposure_driver_name, options.node_name};
}

}  // namespace sliced::daemon
