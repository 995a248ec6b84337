#include "cli/with_snapshot.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "cli/process.h"
#include "cli/snapshot_host.h"
#include "kube/json.h"
#include "kube/names.h"

namespace sliced::cli {
namespace {

// Of a file, before another is begun: with the object after it a file is smaller than a manifest may be.
constexpr size_t kFileBytes = 256u << 10;
constexpr std::string_view kListBegins = R"({"apiVersion":"v1","kind":"List","items":[)";

// A directory of our own that goes with this.
class ObjectFolder {
 public:
  ~ObjectFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  // Files are named by number: what the snapshot calls its objects names none. Each has several objects, since a directory
  // has room for fewer files than a snapshot for objects. They are a List, which is JSON: YAML has no room for all that
  // stands in one (characters, long keys), and one object that it refuses would take the others with it.
  Result<std::string> fill(const std::vector<kube::Json>& objects) {
    std::error_code failed;
    std::string path = (std::filesystem::temp_directory_path(failed) / "sliced-snapshot-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr)
      return Error{Errc::kIo, "no directory can be made for its objects in $TMPDIR"};
    path_ = path;
    std::string text;
    size_t files = 0;
    for (size_t i = 0; i < objects.size(); ++i) {
      text += (text.empty() ? "" : ",\n") + kube::encode_json(objects[i]);
      if (text.size() < kFileBytes && i + 1 < objects.size()) continue;
      std::ofstream file(path_ + "/" + std::to_string(files++) + ".json");
      file << kListBegins << std::exchange(text, {}) << "]}";
      if (!file.flush()) return Error{Errc::kIo, "its objects cannot be written to " + path_};
    }
    return path_;
  }

 private:
  std::string path_;
};

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
  if (!read) return complain("--host " + options.host_root + ": " + read.error().what), kExitError;
  ObjectFolder folder;
  auto path = folder.fill(read->objects);
  if (!path) return complain("--host " + options.host_root + ": " + path.error().what), kExitError;
  config::Options its = options;
  its.cluster = config::ClusterDirectory{*path};
  its.node_name = read->node;
  if (its.node_labels.empty()) its.node_labels = labels_of_node(*read);
  if (its.scheduler_version.empty() && kube::decode_git_version(read->server))
    its.scheduler_version = read->server;
  return work(its);
}

}  // namespace sliced::cli
