#include "cli/with_snapshot.h"

#include "cli/snapshot_host.h"
#include "daemon/process.h"
#include "kube/objects/names.h"
#include "kube/objects/selector.h"

namespace sliced::cli {
namespace {

kube::Labels labels_of_node(const snapshot::Snapshot& from) {
  kube::Labels out;
  for (const kube::Json& object : from.objects) {
    const kube::Json* labels = object.text("kind") == "Node" ? object.find({"metadata", "labels"}) : nullptr;
    if (labels == nullptr || labels->object() == nullptr) continue;
    for (const auto& [key, value] : *labels->object())
      if (value.string() != nullptr) out[key] = *value.string();
  }
  return out;
}

}  // namespace

int with_snapshot(const config::Options& options, int (*work)(const config::Options&)) {
  if (!is_snapshot(options.host_root) || !std::holds_alternative<config::InCluster>(options.cluster))
    return work(options);
  auto read = read_snapshot(options.host_root);
  if (!read) {
    daemon::print_error("--host " + options.host_root + ": " + read.error().what);
    return daemon::kExitError;
  }
  config::Options its = options;
  its.cluster = config::ClusterSnapshot{};
  its.node_name = read->node;
  if (its.node_labels.empty()) its.node_labels = labels_of_node(*read);
  if (its.scheduler_version.empty() && kube::decode_git_version(read->server))
    its.scheduler_version = read->server;
  return work(its);
}

}  // namespace sliced::cli
