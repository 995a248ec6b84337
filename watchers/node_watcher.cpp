#include "watchers/node_watcher.h"

#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"

namespace sliced::watchers {
namespace {

Result<NodeFacts> decode_node(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object);
  if (!json.ok()) return std::move(json.error());
  Result<kube::ObjectMeta> meta = kube::decode_object_meta(*json);
  if (!meta.ok()) return std::move(meta.error());
  return NodeFacts{std::move(meta->name), std::move(meta->uid), std::move(meta->labels)};
}

}  // namespace

std::unique_ptr<NodeWatcher> make_node_watcher(kube::ClusterPorts ports, std::string_view node_name,
                                               NodeWatcher::OnEvent on_event,
                                               NodeWatcher::OnSyncState on_sync_state) {
  kube::Scope scope{kube::kNodes, "", "metadata.name=" + std::string(node_name), true};
  return std::make_unique<NodeWatcher>(std::move(ports), std::move(scope), decode_node, std::move(on_event),
                                       std::move(on_sync_state));
}

}  // namespace sliced::watchers
