#include "cli/slice_sources.h"

#include <map>
#include <optional>

#include "cli/read_file.h"
#include "kube/directory/manifest.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"
#include "watchers/slice_watcher.h"

namespace sliced::cli {
namespace {

using Item = watchers::SliceWatcher::Item;
using State = watchers::SyncState::State;

constexpr Millis kListMax{30'000};
// Limits for kubectl's output of a whole cluster.
constexpr kube::JsonLimits kFileLimits{.size_max = 64u << 20, .depth_max = 64, .nodes_max = 8'000'000};

// driver: "" for all.
Result<std::vector<Item>> list_slices(const kube::ClusterPorts& ports, const Wait& wait,
                                      const std::string& driver, const std::string& node) {
  std::optional<std::vector<Item>> listed;
  const auto watcher = watchers::make_slice_watcher(ports, driver, node, [&](const SourceEvent<Item>& event) {
    if (const auto* list = std::get_if<Relisted<Item>>(&event)) listed = list->all;
  });
  watcher->start();
  const auto is_refused = [&] {
    const watchers::SyncState& sync = watcher->sync_state();
    return sync.state == State::kDenied || sync.is_unserved;
  };
  wait([&] { return listed.has_value() || is_refused(); }, kListMax);
  const watchers::SyncState& sync = watcher->sync_state();
  if (is_refused()) return Error{sync.state == State::kDenied ? Errc::kDenied : Errc::kNotFound, sync.why};
  if (!listed)
    return Error{Errc::kTimeout,
                 "no list of slices after " + std::to_string(kListMax.count() / 1000) + " s: " + sync.why};
  return std::move(*listed);
}

void add_line(FoundSlices& out, std::string line) {
  out.lines.push_back(std::move(line));
  out.is_whole = false;
}

void take(std::vector<Item> items, FoundSlices& out) {
  for (Item& item : items) {
    if (item.value)
      out.slices.push_back(std::move(*item.value));
    else
      add_line(out, "slice " + escaped(item.id.name) + ": " + item.value.error().what);
  }
}

}  // namespace

Result<FoundSlices> slices_of_cluster(const kube::ClusterPorts& ports, const Wait& wait,
                                      const std::string& node, const std::vector<std::string>& own_drivers) {
  FoundSlices out;
  auto all = list_slices(ports, wait, "", node);
  if (all) {
    take(std::move(*all), out);
    return out;
  }
  if (all.error().code != Errc::kDenied) return std::move(all.error());
  std::vector<std::string> allowed;
  for (const std::string& driver : own_drivers) {
    auto some = list_slices(ports, wait, driver, node);
    if (!some) continue;
    allowed.push_back(driver);
    take(std::move(*some), out);
  }
  if (allowed.empty()) return std::move(all.error());
  add_line(out, "only the slices of " + join(allowed, " and ") +
                    " are read, others may not be listed: " + all.error().what);
  return out;
}

void add_slices_of_text(const std::string& path, std::string_view text, FoundSlices& out) {
  kube::Manifest manifest = kube::decode_manifest(text, "", kFileLimits);
  const auto wrong = [&](int line, const std::string& what) {
    add_line(out, escaped(path) + ":" + std::to_string(line) + ": " + what);
  };
  for (const auto& problem : manifest.problems) wrong(problem.line, problem.what);
  for (const auto& remark : manifest.remarks) wrong(remark.line, remark.what);
  if (const size_t more = manifest.problems.more(); more > 0) wrong(0, and_more(more));
  if (const size_t more = manifest.remarks.more(); more > 0) wrong(0, and_more(more, "object") + " left out");
  bool has_any = false;
  for (const auto& [key, object] : manifest.objects) {
    if (key.kind != kube::kResourceSlices.kind) continue;
    has_any = true;
    if (key.api_version != kube::api_version(kube::kResourceSlices))
      wrong(object.line(), describe(key) + ": its apiVersion must be " +
                               kube::api_version(kube::kResourceSlices) +
                               "; kubectl get resourceslices.v1.resource.k8s.io asks for that one");
    else if (auto slice = kube::decode_resource_slice(object))
      out.slices.push_back(std::move(*slice));
    else
      wrong(object.line(), describe(key) + ": " + slice.error().what);
  }
  if (!has_any && manifest.problems.empty() && manifest.remarks.empty()) wrong(1, "holds no ResourceSlice");
}

FoundSlices slices_of_files(const std::vector<std::string>& paths) {
  FoundSlices out;
  for (const std::string& path : paths) {
    const auto text = read_whole(path, kFileLimits.size_max);
    if (text)
      add_slices_of_text(path, *text, out);
    else
      add_line(out, escaped(path) + ": " + text.error().what);
  }
  return out;
}

void keep_newest(FoundSlices& found) {
  struct Newest {
    int64_t generation = 0, wanted = 0, here = 0;
  };
  std::map<std::pair<std::string, std::string>, Newest> pools;  // by driver and name
  for (const kube::ResourceSlice& slice : found.slices) {
    Newest& newest = pools[{slice.driver, slice.pool.name}];
    if (newest.here == 0 || slice.pool.generation > newest.generation)
      newest = {slice.pool.generation, slice.pool.slice_count, 0};
    newest.here += slice.pool.generation == newest.generation;
  }
  std::erase_if(found.slices, [&](const kube::ResourceSlice& slice) {
    return slice.pool.generation < pools.at({slice.driver, slice.pool.name}).generation;
  });
  for (const auto& [key, newest] : pools)
    if (newest.here < newest.wanted)
      found.lines.push_back("pool " + escaped(key.second) + " of " + escaped(key.first) + ": only " +
                            std::to_string(newest.here) + " of its " + std::to_string(newest.wanted) +
                            " slices exist; devices of an incomplete pool are not allocated");
}

}  // namespace sliced::cli
