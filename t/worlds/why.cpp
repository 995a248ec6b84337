// `why` over a world that another program makes up: one JSON object a line on standard input, {"objects": [...], "pod":
// {...}}, one answer a line on standard output, as `kubectl sliced why -o json` has it.
#include "kubectl/why/why.h"

#include <iostream>
#include <string>

#include "kubectl/why/why_page.h"

namespace sliced::worlds {
namespace {

using kube::Json;

constexpr kube::JsonLimits kLimits{.size_max = 64u << 20, .depth_max = 64, .nodes_max = 8'000'000};

Json failed(const std::string& what) { return Json::Object{{"error", what}}; }

Json answer(const std::string& line) {
  const auto world = kube::decode_json(line, kLimits);
  if (!world) return failed(world.error().what);
  why::Cluster cluster;
  const Json* objects = world->find("objects");
  const Json* pod = world->find("pod");
  if (objects == nullptr || objects->array() == nullptr || pod == nullptr)
    return failed("no objects or no pod");
  for (const Json& object : *objects->array()) why::add_object(object, "default", cluster);
  if (!cluster.unread.empty()) return failed(cluster.unread.front());
  const auto decoded = why::decode_pod(*pod);
  if (!decoded) return failed(decoded.error().what);
  if (const std::string version(world->text("version")); !version.empty()) {
    const auto features = why::features_of(version);
    if (!features) return failed("no version: " + version);
    cluster.features = *features;
  }
  return kubectl::json_of(why::why_pod(cluster, *decoded), "pod " + decoded->id());
}

}  // namespace
}  // namespace sliced::worlds

int main() {
  std::string line;
  while (std::getline(std::cin, line))
    std::cout << sliced::kube::encode_json(sliced::worlds::answer(line)) << "\n" << std::flush;
}
