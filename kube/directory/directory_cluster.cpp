#include "kube/directory/directory_cluster.h"

#include <utility>

#include "kube/objects/yaml.h"
#include "reactor/base/text.h"
#include "reactor/loop.h"

namespace sliced::kube {

DirectoryCluster::DirectoryCluster(reactor::Loop& loop, Log& log, std::string directory,
                                   std::string default_namespace, DirectoryLimits limits)
    : StoreCluster(loop.scheduler(), default_namespace),
      directory_(std::move(directory)),
      tree_(
          loop, log, directory_, std::move(default_namespace), store_,
          [this](DirectoryTree::Event event) { on_tree_event(event); }, limits) {}

std::optional<Failure> DirectoryCluster::trouble(std::string_view action) const {
  if (!tree_.trouble()) return std::nullopt;
  return Failure{Errc::kIo, 0, "", std::string(action) + ": " + tree_.trouble()->what, std::nullopt};
}

void DirectoryCluster::on_tree_event(DirectoryTree::Event event) {
  switch (event) {
    case DirectoryTree::Event::kChanged:
      return wake_watches();
    case DirectoryTree::Event::kLost:
      return end_watches(*trouble("watch"));
    case DirectoryTree::Event::kRelisted:
      store_.forget_history();
      return end_watches(expired_failure("watch: file events were lost"));
  }
}

std::string DirectoryCluster::place_of(const ObjectKey& key) const { return in_quotes(tree_.file_of(key)); }

std::string DirectoryCluster::why_not_writable(const WriteRequest& request, const ObjectKey& key) const {
  const std::string file = tree_.file_of(key), ours = request.resource.plural + "/" + request.name + ".yaml";
  if (file == ours && tree_.objects_in(file) <= 1) return "";
  return "it is in " + in_quotes(file) +
         (file == ours ? " beside other objects" : ", not in " + in_quotes(ours)) +
         "; change it there or remove it";
}

Result<Unit> DirectoryCluster::store(const WriteRequest& request, const ObjectKey&, const Json& content) {
  return tree_.write(request.resource.plural + "/" + request.name + ".yaml", encode_yaml(content));
}

Result<Unit> DirectoryCluster::forget(const ObjectKey& key) { return tree_.erase(tree_.file_of(key)); }

}  // namespace sliced::kube
