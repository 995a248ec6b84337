#include "daemon/cluster_sources.h"

#include <utility>

#include "kube/objects/kinds.h"

namespace sliced::daemon {
namespace {

using watchers::SyncState;

std::string describe(const std::string& name, const SyncState& sync) {
  return name + ": " + std::string(watchers::describe(sync.state)) +
         (sync.why.empty() ? "" : ": " + sync.why);
}

std::vector<SchemaCheck::Kind> schemas_of(const PolicyResources& policies) {
  std::vector<SchemaCheck::Kind> out;
  const auto add = [&](const auto& kind) {
    if (kind) out.push_back({kind->resource, kind->fields});
  };
  add(policies.sriov);
  add(policies.attributes);
  add(policies.exposures);
  return out;
}

}  // namespace

ClusterSources::ClusterSources(kube::ClusterPorts ports, const Scope& scope, ClusterEvents& events)
    : events_(events),
      is_directory_(scope.is_directory),
      sources_(make_sources(ports, scope)),
      schemas_(ports, schemas_of(scope.policies)),
      connectivity_(ports.scheduler, ports.random, watched(),
                    [this](const Connectivity::Change& change) { events_.on_connectivity_change(change); }) {}

void ClusterSources::on_sync_state() {
  connectivity_.note();
  events_.on_sync_state();
}

std::vector<ClusterSources::Named> ClusterSources::make_sources(const kube::ClusterPorts& ports,
                                                                const Scope& scope) {
  std::vector<Named> out;
  out.push_back({"node " + scope.node, kube::kNodes,
                 watchers::make_node_watcher(
                     ports, scope.node, [this](const auto& event) { events_.on_node(event); },
                     [this](const SyncState&) { on_sync_state(); })});
  add_slices(out, ports, scope, 0);
  add_policies(out, ports, scope.policies.sriov);
  add_policies(out, ports, scope.policies.attributes);
  add_slices(out, ports, scope, 1);
  add_policies(out, ports, scope.policies.exposures);
  return out;
}

void ClusterSources::add_slices(std::vector<Named>& out, const kube::ClusterPorts& ports, const Scope& scope,
                                size_t i) {
  const Driver& driver = scope.drivers[i];
  auto watcher = watchers::make_slice_watcher(
      ports, driver.name, scope.node, [this, i](const auto& event) { events_.on_slices(i, event); },
      [this](const SyncState&) { on_sync_state(); }, true, driver.slices_bytes_max);
  watcher->set_find([this, i](const watchers::ObjectHead& head) { return events_.find_slice(i, head); });
  out.push_back({driver.slices, kube::kResourceSlices, std::move(watcher)});
}

template <class Policy>
void ClusterSources::add_policies(std::vector<Named>& out, const kube::ClusterPorts& ports,
                                  const std::optional<PolicyResource<Policy>>& kind) {
  if (!kind) return;
  const auto on_event = [this, resource = kind->resource](const PolicyEvent<Policy>& event) {
    if (std::holds_alternative<Relisted<WatchedPolicy<Policy>>>(event)) schemas_.listed(resource);
    events_.on_policies(event);
  };
  const auto keep = [this, resource = kind->resource](const std::vector<watchers::ObjectId>& missing) {
    return events_.keeps_missing(resource, missing);
  };
  out.push_back({kind->source, kind->resource,
                 watchers::make_policy_watcher<Policy>(
                     ports, kind->resource, kind->namespace_, kind->decoding, on_event,
                     [this](const SyncState&) { on_sync_state(); }, keep)});
}

std::vector<watchers::Source*> ClusterSources::watched() const {
  std::vector<watchers::Source*> out;
  for (const Named& source : sources_) out.push_back(source.watcher.get());
  return out;
}

void ClusterSources::start() {
  for (const Named& source : sources_) source.watcher->start();
}

template <class Wanted>
std::vector<std::string> ClusterSources::described(Wanted wanted) const {
  std::vector<std::string> out;
  for (const bool slices : {false, true})  // sources of decisions first
    for (const Named& source : sources_)
      if (const SyncState& sync = source.watcher->sync_state();
          (source.kind.kind == kube::kResourceSlices.kind) == slices && !sync.known && wanted(sync))
        out.push_back(describe(source.name, sync));
  return out;
}

std::vector<std::string> ClusterSources::unsynced_sources() const {
  return described([](const SyncState&) { return true; });
}

std::vector<std::string> ClusterSources::missing() const {
  return described([this](const SyncState& sync) {
    // An unreachable server may return without help; an unreadable directory does not.
    return sync.state == SyncState::State::kDenied || sync.is_unserved ||
           (is_directory_ && sync.state == SyncState::State::kUnreachable);
  });
}

void ClusterSources::for_each(
    const std::function<void(const std::string&, const watchers::Source&)>& say) const {
  for (const Named& source : sources_) say(source.name, *source.watcher);
}

bool ClusterSources::is_absent(const kube::Resource& kind) const {
  for (const Named& source : sources_)
    if (source.kind.kind == kind.kind) return source.watcher->sync_state().state == SyncState::State::kAbsent;
  return false;
}

}  // namespace sliced::daemon
