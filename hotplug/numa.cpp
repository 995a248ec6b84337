#include "hotplug/numa.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr const char* kNodesDir = "sys/devices/system/node";
constexpr const char* kProcessorsDir = "sys/devices/system/cpu";

// "node3" with the prefix "node" is 3.
std::optional<int> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_int(name.substr(prefix.size()));
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<int>(*number);
}

std::vector<int> online_nodes(const HostView& host) {
  std::vector<int> out;
  for (const std::string& name : host.list(kNodesDir).value_or(std::vector<std::string>{}))
    if (const auto node = number_after("node", name)) out.push_back(*node);
  std::sort(out.begin(), out.end());
  return out;
}

// A processor that is offline has no topology.
std::optional<int64_t> package_of(const HostView& host, const std::string& node_dir) {
  for (const std::string& name : host.list(node_dir).value_or(std::vector<std::string>{})) {
    const auto processor = number_after("cpu", name);
    if (!processor) continue;
    const auto package =
        host.read(std::string(kProcessorsDir) + "/" + name + "/topology/physical_package_id");
    if (!package) continue;
    return parse_int(*package);
  }
  return std::nullopt;
}

std::vector<int64_t> distances_of(const HostView& host, const std::string& node_dir) {
  std::vector<int64_t> out;
  const auto text = host.read(node_dir + "/distance");
  if (!text) return out;
  for (const std::string_view word : split(*text, ' '))
    if (const auto distance = parse_int(word)) out.push_back(*distance);
  return out;
}

}  // namespace

std::map<int, std::vector<int>> read_numa_neighbors(const HostView& host) {
  const std::vector<int> nodes = online_nodes(host);
  std::map<int, std::vector<int>> out;
  if (nodes.size() < 2) return out;
  std::vector<std::optional<int64_t>> packages;
  const auto dir_of = [](int node) { return std::string(kNodesDir) + "/node" + std::to_string(node); };
  for (const int node : nodes) packages.push_back(package_of(host, dir_of(node)));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int64_t> distances = distances_of(host, dir_of(nodes[i]));
    if (!packages[i] || distances.size() != nodes.size()) continue;
    std::optional<int64_t> least;
    std::vector<int> nearest;
    for (size_t other = 0; other < nodes.size(); ++other) {
      if (other == i || packages[other] != packages[i]) continue;
      if (!least || distances[other] < *least) {
        least = distances[other];
        nearest.clear();
      }
      if (distances[other] == *least) nearest.push_back(nodes[other]);
    }
    if (!nearest.empty()) out.emplace(nodes[i], std::move(nearest));
  }
  return out;
}

}  // namespace sliced::hotplug
