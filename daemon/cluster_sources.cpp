#include "daemon/cluster_sources.h"

#include <utility>

#include "kube/objects/kinds.h"

namespace sliced::daemon {
namespace {

using watchers::Standing;

std::string describe(const std::string& name, const Standing& standing) {
  return name + ": " + std::string(watchers::describe(standing.state)) +
         (standing.why.empty() ? "" : ": " + standing.why);
}

std::vector<SchemaCheck::Kind> schemas_of(const ClusterSources::Scope& scope) {
  std::vector<SchemaCheck::Kind> out;
  for (const auto& driver : scope.drivers)
    for (const PolicyKind& kind : driver.kinds) out.push_back({kind.resource, kind.fields});
  return out;
}

}  // namespace

ClusterSources::ClusterSources(kube::Ports ports, const Scope& scope, Handlers handlers)
    : handlers_(std::move(handlers)),
      is_directory_(scope.is_directory),
      sources_(make_sources(ports, scope)),
      schemas_(ports.cluster, ports.log, schemas_of(scope)),
      reach_(ports.scheduler, ports.random, watched(), handlers_.on_change) {}

std::vector<ClusterSources::Named> ClusterSources::make_sources(const kube::Ports& ports,
                                                                const Scope& scope) {
  const auto on_standing = [this](const Standing&) {
    reach_.note();
    handlers_.on_standing();
  };
  std::vector<Named> out;
  out.push_back(
      {"node " + scope.node, kube::kNodes,
       watchers::make_node_watcher(
           ports, scope.node, [this](const auto& event) { handlers_.on_node(event); }, on_standing)});
  for (size_t i = 0; i < scope.drivers.size(); ++i) {
    const Driver& driver = scope.drivers[i];
    out.push_back(
        {driver.slices, kube::kResourceSlices,
         watchers::make_slice_watcher(
             ports, driver.name, scope.node, [this, i](const auto& event) { handlers_.on_slices(i, event); },
             on_standing, true, driver.slices_bytes_max)});
    for (const PolicyKind& kind : driver.kinds)
      out.push_back({kind.source, kind.resource, make_policies(ports, kind, on_standing)});
  }
  return out;
}

std::unique_ptr<watchers::Source> ClusterSources::make_policies(
    const kube::Ports& ports, const PolicyKind& kind, watchers::PolicyWatcher::OnStanding on_standing) {
  const auto on_event = [this, resource = kind.resource](const PolicyBook::Event& event) {
    if (std::holds_alternative<Relisted<PolicyBook::Item>>(event)) schemas_.listed(resource);
    handlers_.on_policies(resource, event);
  };
  watchers::PolicyWatcher::KeepMissing keep;
  if (handlers_.keeps_missing)
    keep = [this, resource = kind.resource](const auto& missing) {
      return handlers_.keeps_missing(resource, missing);
    };
  return watchers::make_policy_watcher(ports, kind.resource, kind.namespace_, kind.decoding, on_event,
                                       std::move(on_standing), std::move(keep));
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
  for (const bool slices : {false, true})  // what there is to decide first
    for (const Named& source : sources_)
      if (const Standing& standing = source.watcher->standing();
          (source.kind.kind == kube::kResourceSlices.kind) == slices && !standing.known && wanted(standing))
        out.push_back(describe(source.name, standing));
  return out;
}

std::vector<std::string> ClusterSources::silent() const {
  return described([](const Standing&) { return true; });
}

std::vector<std::string> ClusterSources::missing() const {
  return described([this](const Standing& standing) {
    // A directory that cannot be read now is not on its way, as a server may be.
    return standing.state == Standing::State::kDenied || standing.is_unserved ||
           (is_directory_ && standing.state == Standing::State::kUnreachable);
  });
}

void ClusterSources::for_each(
    const std::function<void(const std::string&, const watchers::Source&)>& say) const {
  for (const Named& source : sources_) say(source.name, *source.watcher);
}

bool ClusterSources::is_absent(const kube::Resource& kind) const {
  for (const Named& source : sources_)
    if (source.kind.kind == kind.kind) return source.watcher->standing().state == Standing::State::kAbsent;
  return false;
}

}  // namespace sliced::daemon
