#include "watchers/slice_watcher.h"

#include <string>
#include <utility>

#include "kube/kinds.h"

namespace sliced::watchers {
namespace {

Result<kube::ResourceSlice> decode_slice(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object);
  if (!json.ok()) return std::move(json.error());
  return kube::decode_resource_slice(*json);
}

Result<kube::ResourceSlice> salvage_slice(std::string_view object) {
  auto slice = decode_slice(object);
  if (slice.ok()) return slice;
  const auto json = kube::decode_json(object);
  if (!json.ok()) return slice;
  auto part = kube::salvage_resource_slice(*json);
  return part.ok() && !part->driver.empty() && !part->node_name.empty() ? part : slice;
}

}  // namespace

std::unique_ptr<SliceWatcher> make_slice_watcher(Ports ports, std::string_view driver,
                                                 std::string_view node_name, SliceWatcher::OnEvent on_event,
                                                 SliceWatcher::OnStanding on_standing, bool salvages) {
  const std::string of_driver = driver.empty() ? "" : "spec.driver=" + std::string(driver) + ",";
  kube::Scope scope{kube::kResourceSlices, "", of_driver + "spec.nodeName=" + std::string(node_name), false};
  return std::make_unique<SliceWatcher>(std::move(ports), std::move(scope),
                                        salvages ? salvage_slice : decode_slice, std::move(on_event),
                                        std::move(on_standing));
}

}  // namespace sliced::watchers
