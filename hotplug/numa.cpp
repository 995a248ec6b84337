#include "hotplug/numa.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "hotplug/read_value.h"
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

// Returns the value, or an empty one. An error other than an absent file makes the reading incomplete.
template <class T>
T value_of(Result<T> answer, bool& is_complete) {
  if (!answer && !is_absence(answer.error())) is_complete = false;
  return std::move(answer).value_or(T{});
}

std::vector<int> online_nodes(const HostView& host, bool& is_complete) {
  std::vector<int> out;
  for (const std::string& name : value_of(host.list(kNodesDir), is_complete))
    if (const auto node = number_after("node", name)) out.push_back(*node);
  std::sort(out.begin(), out.end());
  return out;
}

// A processor that is offline has no topology; it may be switched on later.
std::optional<int64_t> package_of(const HostView& host, const std::string& node_dir, bool& is_complete) {
  bool is_any_offline = false;
  for (const std::string& name : value_of(host.list(node_dir), is_complete)) {
    if (!number_after("cpu", name)) continue;
    const std::string package = value_of(
        host.read(std::string(kProcessorsDir) + "/" + name + "/topology/physical_package_id"), is_complete);
    if (!package.empty()) return parse_int(package);
    is_any_offline = true;
  }
  if (is_any_offline) is_complete = false;
  return std::nullopt;
}

std::vector<int64_t> distances_of(const HostView& host, const std::string& node_dir, bool& is_complete) {
  std::vector<int64_t> out;
  const std::string text = value_of(host.read(node_dir + "/distance"), is_complete);
  for (const std::string_view token : split(text, ' '))
    if (const auto distance = parse_int(token)) out.push_back(*distance);
  return out;
}

}  // namespace

std::map<int, std::vector<int>> read_numa_neighbors(const HostView& host, bool& is_complete) {
  is_complete = true;
  const std::vector<int> nodes = online_nodes(host, is_complete);
  std::map<int, std::vector<int>> out;
  if (nodes.size() < 2) return out;
  std::vector<std::optional<int64_t>> packages;
  const auto dir_of = [](int node) { return std::string(kNodesDir) + "/node" + std::to_string(node); };
  for (const int node : nodes) packages.push_back(package_of(host, dir_of(node), is_complete));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int64_t> distances = distances_of(host, dir_of(nodes[i]), is_complete);
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
